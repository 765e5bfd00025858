#include <string>

#include "base/dispatch.hpp"
#include "base/phases.hpp"
#include "sparse/scaling/kernels.hpp"
#include "tessera/csr.hpp"
#include "tessera/vector_ops.hpp"

namespace tessera {

template <class T>
struct SymmetricScaling<T>::State {
    State(const Context& where, const CsrView<T>& matrix, bool keeps_matrix)
        : context(where), rows(matrix.rows), nonzeros(matrix.nonzeros), faults(where, matrix.rows) {
        require(matrix.rows == matrix.columns, "SymmetricScaling: the matrix must be square");
        if (!keeps_matrix) return;
        scaled = CsrMatrix<T>(where, matrix.rows, matrix.columns, matrix.nonzeros);
        copy(where, matrix.row_offsets_span(), scaled.row_offsets().view());
        copy(where, matrix.column_indices_span(), scaled.column_indices().view());
    }

    /// The patterns of S and its transpose from where the blocks start.
    void make_factors(const BlockPartition& blocks) {
        starts = Buffer<Index>(context, Offset(blocks.count) + 1);
        copy(context, blocks.block_offsets.view(), starts.view());
        largest = blocks.largest;
        Buffer<Offset> entries(context, Offset(blocks.count) + 1);
        const Offset total =
            select(context, &cpu::factor_entries, TESSERA_IF_CUDA(cuda::factor_entries))(
                context, starts.data(), blocks.count, entries.data());
        factor = CsrMatrix<T>(context, rows, rows, total);
        transposed = CsrMatrix<T>(context, rows, rows, total);
        select(context, &cpu::fill_patterns, TESSERA_IF_CUDA(cuda::fill_patterns))(
            context, starts.data(), blocks.count, entries.data(),
            {factor.row_offsets().data(), transposed.row_offsets().data(),
             factor.column_indices().data(), transposed.column_indices().data()});
        factor_plan = plan_spmv(context, factor.view());
        transposed_plan = plan_spmv(context, transposed.view());
    }

    ScalingFactors<T> factors() {
        return {rows, factor.row_offsets().data(), transposed.row_offsets().data(),
                factor.values().data(), transposed.values().data()};
    }

    void scale(const Context& where, const CsrView<T>& matrix) {
        const Phase phase(where, "setup",
                          double(matrix.nonzeros) * (2 * sizeof(T) + sizeof(Index)) +
                              double(matrix.rows) * (sizeof(Offset) + sizeof(T)));
        T* const values = scaled.values().data();
        if (largest == 0) {
            select(where, &cpu::invert_root_diagonal<T>,
                   TESSERA_IF_CUDA(cuda::invert_root_diagonal<T>))(where, matrix, diagonal.data(),
                                                                   faults.data());
            if (scaled.rows() == rows)
                select(where, &cpu::scale_points<T>, TESSERA_IF_CUDA(cuda::scale_points<T>))(
                    where, matrix, diagonal.data(), values);
        } else {
            select(where, &cpu::factor_blocks<T>, TESSERA_IF_CUDA(cuda::factor_blocks<T>))(
                where, matrix, starts.data(), Index(starts.size()) - 1, largest, factors(),
                faults.data());
        }
        summary = select(where, &cpu::summarise, TESSERA_IF_CUDA(cuda::summarise))(
            where, faults.data(), rows);
        if (summary.first_not_full >= 0) {
            throw InvalidArgument("SymmetricScaling: row " +
                                  std::to_string(summary.first_not_full) +
                                  " does not have the columns of its block's first row, or not "
                                  "all columns of a block; take natural blocks, or point scaling");
        }
        if (largest == 0) return;
        select(where, &cpu::scale_blocks<T>, TESSERA_IF_CUDA(cuda::scale_blocks<T>))(
            where, matrix, factors(), values);
    }

    Context context;
    Index rows;
    Offset nonzeros;
    CsrMatrix<T> scaled;  ///< No rows: not kept.
    Buffer<T> diagonal;   ///< Of point scaling.
    Index largest = 0;    ///< Rows of the largest block; 0: point scaling.
    Buffer<Index> starts;
    CsrMatrix<T> factor, transposed;
    SpmvPlan factor_plan, transposed_plan;
    Buffer<ScalingFault> faults;
    FaultSummary summary;
};

template <class T>
SymmetricScaling<T>::SymmetricScaling(const Context& context, const CsrView<T>& matrix,
                                      bool keeps_matrix)
    : state_(std::make_unique<State>(context, matrix, keeps_matrix)) {
    state_->diagonal = Buffer<T>(context, matrix.rows);
    state_->scale(context, matrix);
}

template <class T>
SymmetricScaling<T>::SymmetricScaling(const Context& context, const CsrView<T>& matrix,
                                      const BlockPartition& blocks)
    : state_(std::make_unique<State>(context, matrix, true)) {
    require(blocks.rows == matrix.rows, "SymmetricScaling: the blocks are of another matrix");
    if (matrix.rows == 0) return;
    state_->make_factors(blocks);
    state_->scale(context, matrix);
}

template <class T>
SymmetricScaling<T>::~SymmetricScaling() = default;
template <class T>
SymmetricScaling<T>::SymmetricScaling(SymmetricScaling&&) noexcept = default;
template <class T>
SymmetricScaling<T>& SymmetricScaling<T>::operator=(SymmetricScaling&&) noexcept = default;

template <class T>
CsrView<T> SymmetricScaling<T>::matrix() const {
    return state_->scaled.view();
}

template <class T>
void SymmetricScaling<T>::update(const Context& context, const CsrView<T>& matrix) {
    require(matrix.rows == state_->rows && matrix.nonzeros == state_->nonzeros,
            "SymmetricScaling: update needs a matrix of the pattern that it was set up with");
    state_->scale(context, matrix);
}

template <class T>
void SymmetricScaling<T>::apply(const Context& context, std::span<const T> x,
                                std::span<T> y) const {
    if (state_->largest == 0) return multiply_elementwise(context, diagonal(), x, y);
    multiply(context, state_->factor.view(), state_->factor_plan, T(1), x, T(0), y);
}

template <class T>
void SymmetricScaling<T>::apply_transposed(const Context& context, std::span<const T> x,
                                           std::span<T> y) const {
    if (state_->largest == 0) return multiply_elementwise(context, diagonal(), x, y);
    multiply(context, state_->transposed.view(), state_->transposed_plan, T(1), x, T(0), y);
}

template <class T>
std::span<const T> SymmetricScaling<T>::diagonal() const {
    return std::as_const(state_->diagonal).view();
}

template <class T>
Index SymmetricScaling<T>::not_positive() const {
    return state_->summary.not_positive;
}

template <class T>
Index SymmetricScaling<T>::first_not_positive() const {
    return state_->summary.first_not_positive;
}

template class SymmetricScaling<float>;
template class SymmetricScaling<double>;

}  // namespace tessera
