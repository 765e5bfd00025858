#include "io/matrix_market.hpp"

#include "io/text.hpp"

namespace tessera::io {

namespace {

/// All elements, column by column, of a symmetric array file, which holds the lower triangle only.
template <class T>
std::vector<T> expand_triangle(const MatrixMarketHeader& header, const std::vector<T>& triangle) {
    const std::size_t n = std::size_t(header.rows);
    const bool skew = header.symmetry == Symmetry::skew_symmetric;
    std::vector<T> full(n * n);
    std::size_t at = 0;
    for (std::size_t j = 0; j < n; ++j) {
        for (std::size_t i = skew ? j + 1 : j; i < n; ++i) {
            full[i + j * n] = triangle[at++];
            if (i != j) full[j + i * n] = skew ? -full[i + j * n] : full[i + j * n];
        }
    }
    return full;
}

}  // namespace

template <class T>
CsrMatrix<T> parse_matrix_market(const Context& cpu, std::string_view text, const std::string& name,
                                 const ReadOptions& options, FileFacts* facts,
                                 std::size_t chunk_bytes) {
    require_cpu(cpu, "parse_matrix_market");
    const MatrixMarketHeader header = parse_matrix_market_header(text, name, options);
    FileFacts found{"Matrix Market", to_string(header.field), header.symmetry, header.entries, 0};
    CsrMatrix<T> matrix;
    if (header.array) {
        std::vector<T> values = parse_array<T>(cpu.threads(), text, name, header, chunk_bytes);
        if (header.symmetry != Symmetry::general) values = expand_triangle(header, values);
        matrix = from_dense(cpu, header.rows, header.columns, values.data(), 1, header.rows);
    } else {
        const bool mirrored = header.symmetry != Symmetry::general;
        const RowBuckets buckets = row_buckets(header.rows, header.entries * (mirrored ? 2 : 1));
        const auto chunks =
            parse_coordinates<T>(cpu.threads(), text, name, header, buckets, chunk_bytes);
        matrix = assemble<T>(cpu, header.rows, header.columns, buckets, chunks, mirrored, name,
                             found.duplicates);
    }
    if (facts != nullptr) *facts = found;
    return matrix;
}

template <class T>
CsrMatrix<T> parse_matrix_market(const Context& cpu, std::string_view text, const std::string& name,
                                 const ReadOptions& options, FileFacts* facts) {
    return parse_matrix_market<T>(cpu, text, name, options, facts, default_chunk_bytes);
}

template <class T>
std::vector<T> parse_matrix_market_vector(const Context& cpu, std::string_view text,
                                          const std::string& name) {
    const MatrixMarketHeader header = parse_matrix_market_header(text, name, {});
    if (header.rows != 1 && header.columns != 1) {
        throw ParseError(name, header.line,
                         "expected a vector (one row or one column), found a matrix of " +
                             std::to_string(header.rows) + " x " + std::to_string(header.columns));
    }
    if (header.array && header.symmetry == Symmetry::general) {
        return parse_array<T>(cpu.threads(), text, name, header, default_chunk_bytes);
    }
    const CsrMatrix<T> matrix = parse_matrix_market<T>(cpu, text, name, {}, nullptr);
    const CsrView<T> view = matrix.view();
    std::vector<T> vector(std::size_t(header.rows) * std::size_t(header.columns));
    for (Index i = 0; i < view.rows; ++i) {
        for (Offset k = view.row_offsets[i]; k < view.row_offsets[i + 1]; ++k) {
            vector[std::size_t(i + view.column_indices[k])] = view.values[k];
        }
    }
    return vector;
}

#define TESSERA_INSTANTIATE(T)                                                                 \
    template CsrMatrix<T> parse_matrix_market<T>(const Context&, std::string_view,             \
                                                 const std::string&, const ReadOptions&,       \
                                                 FileFacts*, std::size_t);                     \
    template CsrMatrix<T> parse_matrix_market<T>(                                              \
        const Context&, std::string_view, const std::string&, const ReadOptions&, FileFacts*); \
    template std::vector<T> parse_matrix_market_vector<T>(const Context&, std::string_view,    \
                                                          const std::string&);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera::io
