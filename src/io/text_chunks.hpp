#pragma once

#include <algorithm>
#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include "io/tasks.hpp"
#include "tessera/error.hpp"

namespace tessera::io {

/// A text cut at line ends into pieces of at least `chunk_bytes`, each of which ends in '\n', so
/// that loops over digits and blanks need no other end. A last line without an end is copied.
class TextChunks {
  public:
    TextChunks(std::string_view text, std::size_t chunk_bytes) {
        const std::size_t last_end = text.rfind('\n');
        const std::size_t whole = last_end == std::string_view::npos ? 0 : last_end + 1;
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

/// Parses all chunks in parallel: parse(k, limit) returns a ChunkOutcome and gives an error at
/// entry limit + 1. Throws the first error of the file, with its line in the file, whatever the
/// number of threads; `first_line` is the line in front of the chunks. `promised` entries must
/// come.
template <class Parse>
void parse_chunks(int threads, const TextChunks& chunks, Offset promised, const std::string& name,
                  Offset first_line, Parse&& parse) {
    const Offset count = chunks.count();
    std::vector<ChunkOutcome> outcomes(static_cast<std::size_t>(count));
    std::atomic<Offset> first_bad{count};
    parallel_tasks(threads, count, [&](Offset k) {
        if (k > first_bad.load(std::memory_order_relaxed)) return;
        ChunkOutcome& outcome = outcomes[std::size_t(k)];
        outcome = parse(k, promised);
        if (outcome.error_line == 0) return;
        Offset known = first_bad.load();
        while (k < known && !first_bad.compare_exchange_weak(known, k)) {
        }
    });
    Offset lines = first_line;
    Offset entries = 0;
    for (Offset k = 0; k < count; ++k) {
        ChunkOutcome& outcome = outcomes[std::size_t(k)];
        if (entries + outcome.entries > promised) outcome = parse(k, promised - entries);
        if (outcome.error_line > 0) {
            throw ParseError(name, lines + outcome.error_line, outcome.error);
        }
        lines += outcome.lines;
        entries += outcome.entries;
    }
    if (entries < promised) {
        throw ParseError(name, lines,
                         "expected " + std::to_string(promised) +
                             " entries, but the file ends after " + std::to_string(entries));
    }
}

}  // namespace tessera::io
