#pragma once

#include <memory>
#include <string>

#include "tessera/operator.hpp"
#include "tessera/spec.hpp"

namespace tessera {

/// How a sparse matrix is laid out. All but csr are points of one family: dense blocks, slices of
/// consecutive block rows padded to the longest of each slice, block rows sorted by length.
enum class MatrixFormat : std::uint8_t {
    csr,
    ell,    ///< ELLPACK: 1x1, one slice; its kernel reads the pads.
    ellr,   ///< ELLPACK-R: the same storage; pads are skipped by row length.
    sell,   ///< Sliced ELLPACK: 1x1.
    bell,   ///< Blocked ELLPACK: one slice.
    bcsr,   ///< Blocked CSR: slices of one block row, so no pads.
    sbell,  ///< Sliced blocked ELLPACK.
};
TESSERA_API const char* to_string(MatrixFormat format);

/// What the values of a matrix are kept in, each rounded to nearest from the values given.
enum class ValueFormat : std::uint8_t {
    working,  ///< The type of the vectors.
    f32,
    f16,
    bf16,
};
TESSERA_API const char* to_string(ValueFormat format);

/// A format and the way its product runs.
struct FormatOptions {
    MatrixFormat format = MatrixFormat::sbell;
    /// Rows and columns of a block: 1, 2, 3, 4 or 6. 0: of these the one whose product
    /// reads the fewest bytes.
    Index block = 0;
    /// Block rows of a slice. 0: 32 on a GPU (64 for 16-bit values), as many as fill a cache line
    /// on the CPU.
    Index slice_height = 0;
    /// Block rows are sorted by descending length within windows of so many; 1: not, 0: all, -1:
    /// within 1024 where pads would otherwise be more than a tenth (sell, sbell).
    Index sort_window = -1;
    ValueFormat values = ValueFormat::working;
    /// Bits of the column of a block: 32, or 16 for its distance from the first block column of the
    /// slice, which takes slices (sell, sbell) that span less than 65536 block columns each. 0: 16
    /// where that can be and takes less memory.
    int index_bits = 0;
    /// GPU: threads that share a block row, a power of two: up to 32 (csr, bcsr), up to 4 (others).
    /// 0: chosen from the number and the length of the rows.
    int lanes = 0;
    /// GPU: not 0: so many threads, a multiple of 32, walk each slice and its pads together, as in
    /// the algorithms 3 and 4 of the paper.
    int threads = 0;
};

/// csr[,lanes=N], ell, ellr, sell[:HEIGHT], bell[:BLOCK], bcsr[:BLOCK], sbell[:BLOCK], with
/// [,slice=HEIGHT] (sbell) [,sort_window=N|all] [,index=auto|16|32] (sell, sbell)
/// [,values=working|f32|f16|bf16] [,lanes=N] [,threads=N] (sell, sbell; these threads read columns
/// of 32 bits). Throws InvalidArgument for another name or option.
TESSERA_API FormatOptions parse_format(Spec format);

/// The normalised text: parse_format takes it back.
TESSERA_API std::string to_string(const FormatOptions& options);

/// The names that parse_format knows.
TESSERA_API std::vector<std::string> format_names();

/// What a format makes of a matrix.
struct FormatFacts {
    Index block = 1;
    Index slice_height = 0;    ///< 0 for csr.
    int index_bits = 32;       ///< Of the column of a block.
    Offset nonzeros = 0;       ///< Entries of the matrix.
    Offset blocks = 0;         ///< That hold an entry.
    Offset stored_blocks = 0;  ///< With the pads.
    Offset bytes = 0;          ///< Of all arrays, the bits that tell fill from entries included.
    Offset read_bytes = 0;     ///< That a product must read of them: pads and those bits left out.
    /// Values that are stored over entries of the matrix: fill of blocks and pads.
    double padding() const {
        return nonzeros > 0 ? double(stored_blocks) * block * block / double(nonzeros) : 1;
    }
};

/// The facts of `options` (block, slice height and bits of an index chosen where they are 0), for
/// vectors of type T, without the conversion. Waits. Throws InvalidArgument on options that cannot
/// be.
template <class T>
TESSERA_API FormatFacts format_facts(const Context& context, const CsrView<T>& matrix,
                                     const FormatOptions& options);

/// The pattern of a sliced matrix of B x B blocks, owned by somebody else. Block row i has the rows
/// i B .. i B + B - 1 of the matrix; the last block row and column reach past the matrix where B
/// does not divide its size. Position p holds block row block_row(p) in lane p % H of slice
/// p / H, H = slice_height. Its k-th block, blocks sorted by column, is in slot
/// slice_offsets[p / H] + k H + p % H; slots of k >= row_lengths[p] are pads.
struct SlicedPattern {
    Index rows = 0;
    Index columns = 0;
    Index block = 1;         ///< B.
    Index slice_height = 1;  ///< H.
    Index slices = 0;
    const Offset* slice_offsets = nullptr;  ///< slices + 1 slots.
    const Index* row_lengths = nullptr;     ///< slices * H numbers of blocks.
    const Index* block_columns = nullptr;   ///< A slot each; those of pads are valid columns.
    /// In their place, where not null: the block column of a slot of slice s is first_columns[s] +
    /// column_offsets[slot].
    const std::uint16_t* column_offsets = nullptr;
    const Index* first_columns = nullptr;
    const Index* permutation = nullptr;  ///< block_rows() of them; nullptr: not sorted.
    /// Not sorted: lanes 2 i and 2 i + 1 hold block rows i and i + H / 2 of the slice, H even.
    bool paired = false;
    /// Bit r B + c of a slot: entry (r, c) is of the matrix, not fill. ceil(B B / 8) bytes a slot,
    /// byte j of it at (slice_offsets[s] + k H) bytes + j H + lane. nullptr: there is no fill.
    const std::uint8_t* entry_bits = nullptr;

    constexpr Offset positions() const { return Offset(slices) * slice_height; }
    /// The block row at a position, some number from block_rows() on where there is none.
    constexpr Offset block_row(Offset p) const {
        if (permutation != nullptr) return p < block_rows() ? permutation[p] : p;
        if (!paired) return p;
        const Offset lane = p % slice_height;
        return p - lane + lane / 2 + (lane % 2) * (slice_height / 2);
    }
    constexpr Index block_column(Offset slice, Offset slot) const {
        return column_offsets == nullptr ? block_columns[slot]
                                         : first_columns[slice] + column_offsets[slot];
    }
    constexpr Index block_rows() const { return rows / block + (rows % block != 0); }
    constexpr Index block_column_count() const { return columns / block + (columns % block != 0); }
};

/// A sliced matrix whose products are with vectors of T. Entry (r, c) of the slot (slice s, k,
/// lane) is values[slice_offsets[s] B B + (k B B + r B + c) H + lane]; fill and pads are zero.
template <class T>
struct SlicedView {
    SlicedPattern pattern;
    ValueFormat format = ValueFormat::working;
    const void* values = nullptr;
};

/// What becomes of entries that a block has and the matrix had not.
enum class Fill : std::uint8_t {
    keep,  ///< They come back as explicit zeros.
    drop,  ///< The pattern of the matrix comes back, explicit zeros of its own included.
};

/// A sparse matrix in one of the sliced formats, in the memory of a Context.
template <class T>
class TESSERA_API SlicedMatrix {
  public:
    /// Converts. `matrix` has sorted, unique columns; S is float or double, options.format any but
    /// csr. With `scaling`, rows() = columns() numbers s, the matrix has the values a_ij (s_i s_j).
    /// Waits: sizes go to the host. Throws InvalidArgument on options that cannot be.
    template <class S>
    static SlicedMatrix from_csr(const Context& context, const CsrView<S>& matrix,
                                 const FormatOptions& options,
                                 std::span<const std::type_identity_t<S>> scaling = {});
    ~SlicedMatrix();
    SlicedMatrix(SlicedMatrix&&) noexcept;
    SlicedMatrix& operator=(SlicedMatrix&&) noexcept;

    /// Takes new values on the pattern it was made from; does not allocate, does not wait.
    template <class S>
    void update(const Context& context, const CsrView<S>& matrix,
                std::span<const std::type_identity_t<S>> scaling = {});

    /// The matrix again, values to the last bit (of the format they are kept in). Waits.
    CsrMatrix<T> to_csr(const Context& context, Fill fill = Fill::keep) const;

    SlicedView<T> view() const;
    const FormatOptions& options() const;  ///< With what was chosen.
    const FormatFacts& facts() const;
    Index rows() const;
    Index columns() const;

  private:
    struct State;
    explicit SlicedMatrix(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

/// y = alpha A x + beta y. `x` has A.columns entries, `y` A.rows, no overlap; with beta = 0, y is
/// not read. Componentwise |error| <= gamma_(k+2) (|alpha| |A| |x| + |beta| |y|), k the entries of
/// the row, A the values as they are kept, gamma of T: 16-bit values are widened exactly. Bitwise
/// repeatable, independent of threads, stream and the other rows. A NaN in x reaches the rows with
/// a block in its block column and no others; with `ell` and `threads` also rows through pads.
template <class T>
TESSERA_API void multiply(const Context& context, const SlicedMatrix<T>& matrix,
                          std::type_identity_t<T> alpha, std::span<const std::type_identity_t<T>> x,
                          std::type_identity_t<T> beta, std::span<std::type_identity_t<T>> y);

/// y = A x and *xy = x^T y, A square, in one pass on a GPU where its threads do not read pads and
/// slices have more than one block row. |error| of *xy <= gamma_n |x|^T |y| beside that of y. The
/// sum has a fixed order, that of the block rows as they are kept; otherwise like multiply.
template <class T>
TESSERA_API void multiply_dot(const Context& context, const SlicedMatrix<T>& matrix,
                              std::span<const std::type_identity_t<T>> x,
                              std::span<std::type_identity_t<T>> y, T* xy);

/// recurrence_step with q = A x, A square, in one pass; `next` and `work` as in
/// Operator::apply_step.
template <class T>
TESSERA_API void multiply_step(const Context& context, const SlicedMatrix<T>& matrix,
                               const RecurrenceStep<std::type_identity_t<T>>& step,
                               std::span<const std::type_identity_t<T>> x,
                               std::span<const std::type_identity_t<T>> y,
                               std::span<const std::type_identity_t<T>> r,
                               std::span<std::type_identity_t<T>> next,
                               std::span<std::type_identity_t<T>> work);

/// Operator::apply_last_step, A square, in one pass on a GPU; *rz summed as in multiply_dot.
template <class T>
TESSERA_API void multiply_last_step(const Context& context, const SlicedMatrix<T>& matrix,
                                    const RecurrenceStep<std::type_identity_t<T>>& step,
                                    std::span<const std::type_identity_t<T>> x,
                                    std::span<std::type_identity_t<T>> y,
                                    std::span<const std::type_identity_t<T>> r,
                                    const ScaledResult& result,
                                    std::span<std::type_identity_t<T>> work);

/// A sliced matrix as an Operator; owns it.
template <class T>
class TESSERA_API SlicedOperator final : public Operator<T> {
  public:
    explicit SlicedOperator(SlicedMatrix<T> matrix) : matrix_(std::move(matrix)) {}
    Index rows() const override { return matrix_.rows(); }
    Index columns() const override { return matrix_.columns(); }
    void apply(const Context& context, std::span<const T> x, std::span<T> y) const override {
        multiply(context, matrix_, T(1), x, T(0), y);
    }
    void apply_dot(const Context& context, std::span<const T> x, std::span<T> y,
                   T* xy) const override {
        multiply_dot(context, matrix_, x, y, xy);
    }
    void apply_step(const Context& context, const RecurrenceStep<T>& step, std::span<const T> x,
                    std::span<const T> y, std::span<const T> r, std::span<T> next,
                    std::span<T> work) const override {
        multiply_step(context, matrix_, step, x, y, r, next, work);
    }
    const SlicedMatrix<T>& matrix() const { return matrix_; }
    SlicedMatrix<T>& matrix() { return matrix_; }

  private:
    SlicedMatrix<T> matrix_;
};

/// The matrix in the format of `options` as an Operator. With csr the view's arrays must outlive
/// it. Waits.
template <class T>
TESSERA_API std::unique_ptr<Operator<T>> make_operator(const Context& context,
                                                       const CsrView<T>& matrix,
                                                       const FormatOptions& options);

}  // namespace tessera
