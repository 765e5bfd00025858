#include <algorithm>
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
        : context(where),
          rows(matrix.rows),
          nonzeros(matrix.nonzeros),
          faults(where, matrix.rows),
          host_faults(std::size_t(matrix.rows)) {
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
        const std::vector<Index> host = copy_to_host(context, starts);
        std::vector<Offset> lower{0}, upper{0};
        std::vector<Index> lower_columns, upper_columns;
        lower.reserve(std::size_t(rows) + 1);
        upper.reserve(std::size_t(rows) + 1);
        for (std::size_t b = 0; b + 1 < host.size(); ++b) {
            for (Index i = host[b]; i < host[b + 1]; ++i) {
                for (Index j = host[b]; j <= i; ++j) lower_columns.push_back(j);
                for (Index j = i; j < host[b + 1]; ++j) upper_columns.push_back(j);
                lower.push_back(Offset(lower_columns.size()));
                upper.push_back(Offset(upper_columns.size()));
            }
        }
        const auto make = [&](const std::vector<Offset>& offsets,
                              const std::vector<Index>& columns) {
            CsrMatrix<T> matrix(context, rows, rows, Offset(columns.size()));
            copy_from_host(context, std::span<const Offset>(offsets), matrix.row_offsets().view());
            copy_from_host(context, std::span<const Index>(columns),
                           matrix.column_indices().view());
            return matrix;
        };
        factor = make(lower, lower_columns);
        transposed = make(upper, upper_columns);
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
        copy_to_host(where, std::span<const ScalingFault>(faults.view()),
                     std::span<ScalingFault>(host_faults));
        const auto cut = std::ranges::find(host_faults, ScalingFault::not_full);
        if (cut != host_faults.end()) {
            throw InvalidArgument("SymmetricScaling: row " +
                                  std::to_string(cut - host_faults.begin()) +
                                  " does not have the columns of its block's first row, or not "
                                  "all columns of a block; take natural blocks, or point scaling");
        }
        not_positive = Index(std::ranges::count(host_faults, ScalingFault::not_positive));
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
    std::vector<ScalingFault> host_faults;
    Index not_positive = 0;
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
    return state_->not_positive;
}

template <class T>
Index SymmetricScaling<T>::first_not_positive() const {
    const auto found = std::ranges::find(state_->host_faults, ScalingFault::not_positive);
    return found == state_->host_faults.end() ? -1 : Index(found - state_->host_faults.begin());
}

template class SymmetricScaling<float>;
template class SymmetricScaling<double>;

}  // namespace tessera
