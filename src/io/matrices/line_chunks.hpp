#pragma once

#include "base/parallel.hpp"
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
/// position after the line, or nullptr for an unusual form; then fallback(line, item) reads it or
/// rejects it. take(item) receives the items. Entry limit + 1 is an error.
template <class Item, class Fast, class Fallback, class Visit>
ChunkOutcome parse_lines(std::string_view chunk, Offset limit, Offset expected_entries, Fast&& fast,
                         Fallback&& fallback, Visit&& visit) {
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
            expect(outcome.entries < limit, "expected the end of the file after ", expected_entries,
                   " entries, found another");
            ++outcome.entries;
            visit(item);
        }
    } catch (const InputError& error) {
        outcome.error_line = outcome.lines;
        outcome.error = error.message;
    }
    return outcome;
}

/// Cuts a text at line ends into pieces of at least `chunk_bytes`, each of which ends in '\n', so
/// that loops over digits and blanks need no other end; a last line without an end is copied to
/// `last_line`.
inline std::vector<std::string_view> split_at_line_ends(std::string_view text,
                                                        std::size_t chunk_bytes,
                                                        std::string& last_line) {
    std::vector<std::string_view> pieces;
    const std::size_t whole = text.rfind('\n') + 1;  // 0 without any.
    for (std::size_t begin = 0; begin < whole;) {
        const std::size_t from = begin + std::max<std::size_t>(chunk_bytes, 1) - 1;
        const std::size_t end = from >= whole ? whole : text.find('\n', from) + 1;
        pieces.push_back(text.substr(begin, end - begin));
        begin = end;
    }
    if (whole == text.size()) return pieces;
    last_line = std::string(text.substr(whole)) + '\n';
    pieces.push_back(last_line);
    return pieces;
}

/// The chunks of a text, parsed in parallel: parse(text, limit, chunk) returns the ChunkOutcome of
/// parse_lines. Throws the first error of the file, with its line in the file, whatever the number
/// of threads; `line` is the line before the text. The header declares `expected_entries`.
template <class Chunk, class Parse>
std::vector<Chunk> parse_chunks(int threads, std::string_view text, std::size_t chunk_bytes,
                                Offset expected_entries, const std::string& name, Offset line,
                                Parse&& parse) {
    constexpr std::size_t max_chunks = 1 << 14;  // Tables of chunks stay small.
    std::string last_line;
    const auto texts =
        split_at_line_ends(text, std::max(chunk_bytes, text.size() / max_chunks), last_line);
    std::vector<Chunk> chunks(texts.size());
    std::vector<ChunkOutcome> outcomes(texts.size());
    parallel_tasks(threads, Offset(texts.size()),
                   [&](Offset k) { outcomes[k] = parse(texts[k], expected_entries, chunks[k]); });
    Offset entries = 0;
    for (std::size_t k = 0; k < texts.size(); ++k) {
        ChunkOutcome& outcome = outcomes[k];
        if (entries + outcome.entries > expected_entries) {
            outcome = parse(texts[k], expected_entries - entries, chunks[k]);
        }
        if (outcome.error_line > 0) {
            throw ParseError(name, line + outcome.error_line, outcome.error);
        }
        line += outcome.lines;
        entries += outcome.entries;
    }
    if (entries == expected_entries) return chunks;
    throw ParseError(
        name, line,
        concat("expected ", expected_entries, " entries, but the file ends after ", entries));
}

}  // namespace tessera::io
