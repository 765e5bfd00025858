#pragma once

#include "base/parallel.hpp"
#include "io/text.hpp"

/// Lines of a text parsed by all threads.
namespace tessera::io {

/// A text cut at line ends into pieces of at least `chunk_bytes`, each of which ends in '\n', so
/// that loops over digits and blanks need no other end. A last line without an end is copied.
class TextChunks {
  public:
    TextChunks(std::string_view text, std::size_t chunk_bytes) {
        const std::size_t whole = text.rfind('\n') + 1;  // 0 without any
        std::size_t begin = 0;
        while (begin < whole) {
            const std::size_t from = begin + std::max<std::size_t>(chunk_bytes, 1) - 1;
            const std::size_t end = from >= whole ? whole : text.find('\n', from) + 1;
            chunks_.push_back(text.substr(begin, end - begin));
            begin = end;
        }
        if (whole < text.size()) {
            last_line_ = std::string(text.substr(whole)) + '\n';
            chunks_.push_back(last_line_);
        }
    }
    TextChunks(const TextChunks&) = delete;
    TextChunks& operator=(const TextChunks&) = delete;

    Offset count() const { return Offset(chunks_.size()); }
    std::string_view operator[](Offset k) const { return chunks_[std::size_t(k)]; }

  private:
    std::vector<std::string_view> chunks_;
    std::string last_line_;
};

/// What parsing one chunk gave; lines counted from 1 within the chunk.
struct ChunkOutcome {
    Offset lines = 0;
    Offset entries = 0;
    Offset error_line = 0;  ///< 0: no error.
    std::string error;
};

/// Parses the lines of a chunk but for empty ones and comments (%): fast(p, end, item) returns
/// the position after the line, or nullptr for a form that it does not know; then fallback(line,
/// item) reads it or rejects it. take(item) receives what they read. Entry limit + 1 is an error.
template <class Item, class Fast, class Fallback, class Take>
ChunkOutcome parse_lines(std::string_view chunk, Offset limit, Offset promised, Fast&& fast,
                         Fallback&& fallback, Take&& take) {
    ChunkOutcome outcome;
    const char* p = chunk.data();
    const char* const end = p + chunk.size();
    Item item{};
    try {
        while (p != end) {
            ++outcome.lines;
            const char* next = fast(p, end, item);
            if (next == nullptr) {
                next = static_cast<const char*>(std::memchr(p, '\n', std::size_t(end - p))) + 1;
                const std::string_view line = trimmed({p, std::size_t(next - p) - 1});
                p = next;
                if (line.empty() || line[0] == '%') continue;
                fallback(line, item);
            }
            p = next;
            if (outcome.entries == limit) {
                reject("expected the end of the file after " + std::to_string(promised) +
                       " entries, found another");
            }
            ++outcome.entries;
            take(item);
        }
    } catch (const InputError& error) {
        outcome.error_line = outcome.lines;
        outcome.error = error.message;
    }
    return outcome;
}

/// Parses all chunks in parallel: parse(k, limit) returns the ChunkOutcome of parse_lines. Throws
/// the first error of the file, with its line in the file, whatever the number of threads;
/// `first_line` is the line before the chunks. `promised` entries must come.
template <class Parse>
void parse_chunks(int threads, const TextChunks& chunks, Offset promised, const std::string& name,
                  Offset first_line, Parse&& parse) {
    std::vector<ChunkOutcome> outcomes(std::size_t(chunks.count()));
    parallel_tasks(threads, chunks.count(),
                   [&](Offset k) { outcomes[std::size_t(k)] = parse(k, promised); });
    Offset line = first_line;
    Offset entries = 0;
    for (Offset k = 0; k < chunks.count(); ++k) {
        ChunkOutcome& outcome = outcomes[std::size_t(k)];
        if (entries + outcome.entries > promised) outcome = parse(k, promised - entries);
        if (outcome.error_line > 0) {
            throw ParseError(name, line + outcome.error_line, outcome.error);
        }
        line += outcome.lines;
        entries += outcome.entries;
    }
    if (entries == promised) return;
    throw ParseError(name, line,
                     "expected " + std::to_string(promised) + " entries, but the file ends after " +
                         std::to_string(entries));
}

}  // namespace tessera::io
