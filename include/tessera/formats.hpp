#pragma once

#include <memory>
#include <string>

#include "tessera/detail/sliced.hpp"
#include "tessera/operator.hpp"
#include "tessera/spec.hpp"

namespace tessera {

template <class T>
struct BsrView;

/// How a sparse matrix is stored. All but csr are one family: B x B dense blocks, slices of H
/// consecutive block rows padded to the longest of each slice, block rows sorted by length.
enum class MatrixFormat : std::uint8_t {
    csr,
    ell,    ///< ELLPACK with row lengths (ELLPACK-R): 1x1, one slice.
    sell,   ///< Sliced ELLPACK: 1x1.
    bell,   ///< Blocked ELLPACK: one slice.
    bcsr,   ///< Blocked CSR: slices of one block row, so no padding.
    sbell,  ///< Sliced blocked ELLPACK.
};
TESSERA_API const char* to_string(MatrixFormat format);

/// The type that values are stored in, each rounded to nearest from the values given.
enum class ValueFormat : std::uint8_t {
    working,  ///< The type of the vectors.
    f32,
    f16,
    bf16,
};
TESSERA_API const char* to_string(ValueFormat format);

struct FormatOptions {
    MatrixFormat format = MatrixFormat::sbell;
    /// Rows and columns of a block: 1, 2, 3, 4 or 6. 0: the one of these whose product reads the
    /// fewest bytes.
    Index block = 0;
    /// Block rows per slice. 0: 32 on a GPU (64 for 16-bit values), where products are fastest; on
    /// the CPU as many as fill a cache line.
    Index slice_height = 0;
    /// Block rows are sorted by descending length within windows of this many; 1: not sorted, 0:
    /// all together, -1: 1024 if padding would otherwise exceed 10 % (sell, sbell).
    Index sort_window = -1;
    ValueFormat values = ValueFormat::working;
    /// Bits of a column index: 32, or 16 for its distance from the first block column of the slice
    /// (sell, sbell; slices must span less than 65536 block columns). 0: 16 where possible and
    /// smaller.
    int index_bits = 0;
};

/// csr, ell, sell[:HEIGHT], bell[:BLOCK], bcsr[:BLOCK], sbell[:BLOCK], with [,slice=HEIGHT] (sbell)
/// [,sort_window=N|all] [,index=auto|16|32] (sell, sbell) [,values=working|f32|f16|bf16]. Throws
/// InvalidArgument for another name or option.
TESSERA_API FormatOptions parse_format(Spec format);

/// The normalised text, which parse_format accepts.
TESSERA_API std::string to_string(const FormatOptions& options);

/// The names that parse_format knows.
TESSERA_API std::vector<std::string> format_names();

/// Sizes of a matrix in a format.
struct FormatStatistics {
    Index block = 1;
    Index slice_height = 0;               ///< 0 for csr.
    int index_bits = 32;                  ///< Bits of the column index of a block.
    Offset nonzeros = 0;                  ///< Entries of the matrix.
    Offset blocks = 0;                    ///< Blocks that hold an entry.
    Offset stored_blocks = 0;             ///< Blocks with an entry, and padding.
    Offset bytes = 0;                     ///< Bytes of all arrays.
    Offset matrix_bytes_per_product = 0;  ///< Bytes of them that a product reads: no padding.
    /// Stored values (with zeros of blocks and padding) over entries of the matrix.
    double padding() const {
        return nonzeros > 0 ? double(stored_blocks) * block * block / double(nonzeros) : 1;
    }
};

/// The statistics of a matrix in the format of `options` for vectors of type T, without the
/// conversion; block, slice height and index bits are chosen where they are 0. Blocks until the
/// work is complete. Throws InvalidArgument on impossible options.
template <class T>
TESSERA_API FormatStatistics format_statistics(const Context& context, const CsrView<T>& matrix,
                                               const FormatOptions& options);
TESSERA_ACCEPT_OWNERS(format_statistics)

/// A sparse matrix in one of the sliced formats, in the memory of a Context. apply_step is one pass
/// over A; on a GPU so is apply_dot.
template <class T>
class TESSERA_API SlicedMatrix final : public Operator<T> {
  public:
    /// Converts. `matrix` has sorted, unique columns; S is float or double, options.format any but
    /// csr. With `scaling`, rows() = columns() numbers s, the matrix has the values a_ij (s_i s_j).
    /// Blocks until the work is complete. Throws InvalidArgument on impossible options.
    template <class S>
    static SlicedMatrix from_csr(const Context& context, const CsrView<S>& matrix,
                                 const FormatOptions& options,
                                 std::span<const std::type_identity_t<S>> scaling = {});
    /// Converts a matrix of dense blocks (tessera/detail/bsr.hpp) whose height and width
    /// options.block divides; otherwise like from_csr. Without values (null) only its pattern.
    static SlicedMatrix from_bsr(const Context& context, const BsrView<double>& matrix,
                                 const FormatOptions& options);
    ~SlicedMatrix() override;
    SlicedMatrix(SlicedMatrix&&) noexcept;
    SlicedMatrix& operator=(SlicedMatrix&&) noexcept;

    /// New values of the matrix of dense blocks that it was converted from; does not allocate, does
    /// not block. Its rows may have further blocks, which matrix.blocks does not count and which are
    /// not read.
    void update(const Context& context, const BsrView<double>& matrix);
    /// New values on the same pattern; does not allocate, does not block.
    template <class S>
    void update(const Context& context, const CsrView<S>& matrix,
                std::span<const std::type_identity_t<S>> scaling = {});

    SlicedView<T> view() const;
    const FormatOptions& options() const;  ///< With the defaults resolved.
    const FormatStatistics& statistics() const;
    Index rows() const override { return view().pattern.rows; }
    Index columns() const override { return view().pattern.columns; }
    void apply(const Context& context, std::span<const T> x, std::span<T> y) const override;
    void apply_dot(const Context& context, std::span<const T> x, std::span<T> y,
                   T* xy) const override;
    void apply_vectors(const Context& context, Vectors<const T> x, Vectors<T> y) const override;
    void apply_step_vectors(const Context& context, const RecurrenceStep<T>& step,
                            Vectors<const T> x, Vectors<const T> y, Vectors<const T> r,
                            Vectors<T> next, Vectors<T> work) const override;
    void apply_step(const Context& context, const RecurrenceStep<T>& step, std::span<const T> x,
                    std::span<const T> y, std::span<const T> r, std::span<T> next,
                    std::span<T> work) const override;

  private:
    struct State;
    explicit SlicedMatrix(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

/// y = alpha A x + beta y. `x` has A.columns entries, `y` A.rows, no overlap; with beta = 0, y is
/// not read. Componentwise |error| <= gamma_(k+2) (|alpha| |A| |x| + |beta| |y|), k the entries of
/// the row, A the stored values, gamma of T: 16-bit values are widened exactly. Bitwise repeatable,
/// independent of threads, stream and the other rows. A NaN in x affects only the rows with a block
/// in its block column.
template <class T>
TESSERA_API void multiply(const Context& context, const SlicedMatrix<T>& matrix,
                          std::type_identity_t<T> alpha, Input<T> x, std::type_identity_t<T> beta,
                          std::span<std::type_identity_t<T>> y);

/// The matrix in the format of `options` as an Operator. With csr the view's arrays must outlive
/// it. Blocks until the work is complete.
template <class T>
TESSERA_API std::unique_ptr<Operator<T>> make_operator(const Context& context,
                                                       const CsrView<T>& matrix,
                                                       const FormatOptions& options);
/// The format by its text, "sbell:3".
template <class T>
std::unique_ptr<Operator<T>> make_operator(const Context& context, const CsrView<T>& matrix,
                                           const std::string& format) {
    return make_operator(context, matrix, parse_format(format));
}
/// A temporary matrix would not outlive it.
template <class T, class Format>
std::unique_ptr<Operator<T>> make_operator(const Context&, CsrMatrix<T>&&, const Format&) = delete;
TESSERA_ACCEPT_OWNERS(make_operator)

}  // namespace tessera
