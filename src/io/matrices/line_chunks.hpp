#pragma once

#include "base/parallel.hpp"
#include "io/formats.hpp"
#include "io/text.hpp"

/// Lines of a text parsed by all threads.
namespace tessera::io {

/// The result of parsing a chunk; lines are counted from 1 within the chunk.
struct ChunkOutcome {
    Offset lines = 0;
    Offset entries = 0;
    Offset error_line = 0;  ///< 0: no error.
    std::string error;
};

/// Parses the lines of a chunk but for empty ones and comments (%): fast(p, end, item) returns the
/// position after the line, or nullptr for an unusual form; then fallback(line, add) calls
/// add(item) for each item of it, or rejects it. visit(item) receives the items. Entry limit + 1 is
/// an error.
template <class Item, class Fast, class Fallback, class Visit>
ChunkOutcome parse_lines(std::string_view chunk, Offset limit, Offset expected_entries, Fast&& fast,
                         Fallback&& fallback, Visit&& visit) {
    ChunkOutcome outcome;
    const char* p = chunk.data();
    const char* const end = p + chunk.size();
    Item item{};
    const auto add = [&](const Item& added) {
        expect(outcome.entries < limit, "expected the end of the file after ", expected_entries,
               " entries, found another");
        ++outcome.entries;
        visit(added);
    };
    try {
        while (p != end) {
            ++outcome.lines;
            if (*p == '\n') {
                ++p;
                continue;
            }
            const char* next = fast(p, end, item);
            const bool is_usual = next != nullptr;
            if (!is_usual) {
                next = static_cast<const char*>(std::memchr(p, '\n', std::size_t(end - p))) + 1;
            }
            const std::string_view line(p, std::size_t(next - p) - 1);
            expect(line.size() <= max_line_bytes, long_line_message);
            p = next;
            if (is_usual) {
                add(item);
                continue;
            }
            const std::string_view text = trimmed(line);
            if (!text.empty() && text[0] != '%') fallback(text, add);
        }
    } catch (const InputError& error) {
        outcome.error_line = outcome.lines;
        outcome.error = error.message;
    }
    return outcome;
}

/// Cuts a text of whole lines into pieces of about `chunk_bytes`, each of which ends in '\n'.
inline std::vector<std::string_view> split_at_line_ends(std::string_view text,
                                                        std::size_t chunk_bytes) {
    std::vector<std::string_view> pieces;
    while (!text.empty()) {
        const std::size_t from = std::min(std::max<std::size_t>(chunk_bytes, 1), text.size()) - 1;
        pieces.push_back(text.substr(0, text.find('\n', from) + 1));
        text.remove_prefix(pieces.back().size());
    }
    return pieces;
}

/// The rest of a text, a block of lines for each of two buffers in turns, so that one is read while
/// the other is parsed. An error of reading is thrown when the block is wanted.
class LineBlocks {
  public:
    explicit LineBlocks(InputStream& stream) : stream_(stream) {}

    void read(std::size_t bytes) noexcept {
        try {
            next_ = stream_.read_lines(bytes, memory_[filled_]);
        } catch (...) {
            error_ = std::current_exception();
        }
    }
    /// The text that was read; empty at the end. Valid until `read` was called twice.
    std::string_view take() {
        if (error_) std::rethrow_exception(error_);
        filled_ = 1 - filled_;
        return next_;
    }

  private:
    InputStream& stream_;
    std::vector<char> memory_[2];
    int filled_ = 0;  ///< Number of the buffer to fill.
    std::string_view next_;
    std::exception_ptr error_;
};

/// The chunks of the rest of a text, parsed in parallel: parse(text, limit, chunk) returns the
/// ChunkOutcome of parse_lines. Throws the first error of the file, with its line in the file,
/// whatever the number of threads; `line` is the line before the text. The header declares
/// `expected_entries`. Chunks without entries are left out.
template <class Chunk, class Parse>
std::vector<Chunk> parse_chunks(InputFile& file, std::size_t chunk_bytes, Offset expected_entries,
                                Offset line, Parse&& parse) {
    constexpr int chunks_per_thread = 16;
    const std::size_t largest = std::max(chunk_bytes, std::size_t(1) << 22);
    const int threads = file.cpu.threads();
    Offset entries = 0;
    std::vector<Chunk> all;
    LineBlocks blocks(file.stream);
    const auto read_next = [&] {
        // Tables of chunks stay small.
        chunk_bytes = std::clamp(std::size_t(file.stream.position() >> 12), chunk_bytes, largest);
        blocks.read(chunk_bytes * std::size_t(chunks_per_thread * threads));
    };
    read_next();
    for (std::string_view text; !(text = blocks.take()).empty();) {
        const auto texts = split_at_line_ends(text, chunk_bytes);
        std::vector<Chunk> chunks(texts.size());
        std::vector<ChunkOutcome> outcomes(texts.size());
        parallel_tasks(threads, Offset(texts.size()) + 1, [&](Offset k) {
            if (k == 0) return read_next();
            const auto c = std::size_t(k - 1);
            outcomes[c] = parse(texts[c], expected_entries, chunks[c]);
        });
        for (std::size_t k = 0; k < texts.size(); ++k) {
            ChunkOutcome& outcome = outcomes[k];
            if (entries + outcome.entries > expected_entries) {
                outcome = parse(texts[k], expected_entries - entries, chunks[k]);
            }
            if (outcome.error_line > 0) {
                throw ParseError(file.name, line + outcome.error_line, outcome.error);
            }
            line += outcome.lines;
            entries += outcome.entries;
            if (outcome.entries > 0) all.push_back(std::move(chunks[k]));
        }
    }
    if (entries == expected_entries) return all;
    throw ParseError(
        file.name, line,
        concat("expected ", expected_entries, " entries, but the file ends after ", entries));
}

}  // namespace tessera::io
