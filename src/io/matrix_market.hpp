#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "io/assemble.hpp"
#include "tessera/io.hpp"

namespace tessera::io {

enum class Field : std::uint8_t { real, integer, pattern };

const char* to_string(Field field);

/// What stands in front of the entries of a Matrix Market file.
struct MatrixMarketHeader {
    bool array = false;
    Field field = Field::real;
    Symmetry symmetry = Symmetry::general;
    Index rows = 0;
    Index columns = 0;
    Offset entries = 0;    ///< Lines of entries that must follow.
    Offset line = 0;       ///< Of the sizes.
    std::size_t body = 0;  ///< Where the text behind that line starts.
};

bool is_matrix_market(std::string_view text);

/// Throws ParseError; the sizes are checked against the length of the text.
MatrixMarketHeader parse_matrix_market_header(std::string_view text, const std::string& name,
                                              const ReadOptions& options);

/// Bytes of text that are parsed as one task, at the least.
inline constexpr std::size_t default_chunk_bytes = std::size_t(1) << 18;

/// The entries behind the header of a coordinate file, images of symmetric ones included, in chunks
/// of about `chunk_bytes` of text.
template <class T>
std::vector<EntryChunk<T>> parse_coordinates(int threads, std::string_view text,
                                             const std::string& name,
                                             const MatrixMarketHeader& header, RowBuckets buckets,
                                             std::size_t chunk_bytes);

/// The numbers behind the header of an array file, in file order.
template <class T>
std::vector<T> parse_array(int threads, std::string_view text, const std::string& name,
                           const MatrixMarketHeader& header, std::size_t chunk_bytes);

/// parse_matrix_market of tessera/io.hpp with a choice of the chunks, on which nothing depends.
template <class T>
CsrMatrix<T> parse_matrix_market(const Context& cpu, std::string_view text, const std::string& name,
                                 const ReadOptions& options, FileFacts* facts,
                                 std::size_t chunk_bytes);

/// A vector from a Matrix Market file with one row or one column.
template <class T>
std::vector<T> parse_matrix_market_vector(const Context& cpu, std::string_view text,
                                          const std::string& name);

/// A text in pieces that can be made in any order.
struct TextPieces {
    Offset count = 0;
    std::function<std::string(Offset piece)> make;
};

/// Matrix Market text of a matrix (its lower triangle where `symmetry` is not general) or of a
/// vector, numbers (finite ones) in the shortest form that reads back bitwise.
template <class T>
TextPieces format_matrix_market(const Context& cpu, const CsrView<T>& matrix, Symmetry symmetry);
template <class T>
TextPieces format_matrix_market(const Context& cpu, std::span<const T> vector);

}  // namespace tessera::io
