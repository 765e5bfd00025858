#include "io/file_sections.hpp"

#include <zlib.h>

#include <algorithm>

#include "base/parallel.hpp"
#include "io/output_file.hpp"

namespace tessera::io {

namespace {

/// Memory allocated by deflateInit2.
struct Deflation {
    z_stream stream{};
    ~Deflation() { deflateEnd(&stream); }
};

std::string gzip_member(const std::string& text) {
    Deflation deflation;
    z_stream& stream = deflation.stream;
    constexpr int gzip_window = 15 + 16;
    constexpr int default_memory = 8;
    if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, gzip_window, default_memory,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
        throw OutOfMemory("out of memory for gzip");
    }
    std::string zipped(deflateBound(&stream, uLong(text.size())), '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream.avail_in = uInt(text.size());
    stream.next_out = reinterpret_cast<Bytef*>(zipped.data());
    stream.avail_out = uInt(zipped.size());
    const int status = deflate(&stream, Z_FINISH);
    zipped.resize(stream.total_out);
    if (status != Z_STREAM_END) throw Error("gzip failed");
    return zipped;
}

/// One range of a section.
struct Piece {
    const FileSection* section;
    Offset first, last;
};

}  // namespace

FileSection text_section(std::string text) {
    return item_section(1, [text](Offset, std::string& bytes) { bytes += text; });
}

void write_sections(const Context& cpu, const std::string& path, bool zip,
                    const std::vector<FileSection>& sections) {
    constexpr Offset items_per_piece = 1 << 16;
    std::vector<Piece> pieces;
    for (const FileSection& section : sections) {
        for (Offset first = 0; first < section.count; first += items_per_piece) {
            pieces.push_back({&section, first, std::min(section.count, first + items_per_piece)});
        }
    }
    OutputFile file(path);
    const Offset at_once = 4 * Offset(cpu.threads());
    for (Offset first = 0; first < Offset(pieces.size()); first += at_once) {
        const Offset count = std::min(at_once, Offset(pieces.size()) - first);
        std::vector<std::string> made(static_cast<std::size_t>(count));
        parallel_tasks(cpu.threads(), count, [&](Offset k) {
            const Piece& piece = pieces[std::size_t(first + k)];
            std::string& bytes = made[std::size_t(k)];
            piece.section->append(piece.first, piece.last, bytes);
            if (zip) bytes = gzip_member(bytes);
        });
        for (const std::string& bytes : made) file.write(bytes);
    }
    file.close();
}

}  // namespace tessera::io
