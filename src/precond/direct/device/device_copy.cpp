#include "precond/direct/device/device_copy.hpp"

#include <cmath>
#include <limits>
#include <numeric>

#include "base/for_each.hpp"
#include "base/scratch/scratch.hpp"
#include "base/zeros.hpp"
#include "tessera/solution_errors.hpp"
#include "tessera/vector_ops.hpp"

namespace tessera::direct {

namespace {

/// The pattern of the arranged matrix, or of its lower triangle, in the memory of `context`.
template <class T>
CsrMatrix<T> arranged_pattern(const Context& context, const CsrView<T>& a,
                              const std::vector<Index>& row_of, bool is_lower) {
    std::vector<Offset> offsets{0};
    std::vector<Index> columns;
    columns.reserve(std::size_t(a.nonzeros));
    for (Index j = 0; j < a.rows; ++j) {
        const Index i = row_of[std::size_t(j)];
        for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
            if (!is_lower || a.column_indices[k] <= j) columns.push_back(a.column_indices[k]);
        }
        offsets.push_back(Offset(columns.size()));
    }
    CsrMatrix<T> pattern(context, a.rows, a.columns, Offset(columns.size()));
    copy_from_host<Offset>(context, offsets, pattern.row_offsets().view());
    copy_from_host<Index>(context, columns, pattern.column_indices().view());
    return pattern;
}

template <class T>
Buffer<T> scaling_in(const Context& context, const std::vector<double>& scaling, bool is_used,
                     Index rows) {
    if (!is_used) return copy_to_buffer(context, std::vector<T>(std::size_t(rows), T(1)));
    return copy_to_buffer(context, std::vector<T>(scaling.begin(), scaling.end()));
}

}  // namespace

template <class T>
std::unique_ptr<DeviceCopy<T>> DeviceCopy<T>::make(const Context& context, const CsrView<T>& matrix,
                                                   const CsrView<T>& on_host, MatrixKind kind,
                                                   const Arrangement& arrangement) {
    using Make = std::unique_ptr<DeviceFactors<T>>(const Context&, const CsrView<T>&, MatrixKind);
    Make* const make_factors = TESSERA_IF_CUDA(cuda::make_device_factors<T>);
    bool (*const has_library)() = TESSERA_IF_CUDA(cuda::has_device_library);
    if (make_factors == nullptr || !context.on_gpu() || matrix.rows == 0 || !has_library()) {
        return nullptr;
    }
    const bool is_general = kind == MatrixKind::general;
    std::vector<Index> row_of = arrangement.row_of_column;
    if (!is_general) std::iota(row_of.begin(), row_of.end(), 0);
    auto made = std::make_unique<DeviceCopy>();
    made->matrix_ = copy_to(context, matrix);
    made->plan_ = plan_spmv(context, made->matrix_.view());
    made->kind_ = kind;
    made->row_of_ = copy_to_buffer(context, row_of);
    made->row_scaling_ = scaling_in<T>(context, arrangement.row_scaling, is_general, matrix.rows);
    made->column_scaling_ =
        scaling_in<T>(context, arrangement.column_scaling, is_general, matrix.rows);
    made->arranged_ = arranged_pattern<T>(context, on_host, row_of, !is_general);
    made->factors_ = make_factors(context, made->arranged_.view(), kind);
    return made->factors_ == nullptr ? nullptr : std::move(made);
}

template <class T>
bool DeviceCopy<T>::has_pattern_of(const Context& context, const CsrView<T>& matrix) const {
    const CsrView<T> own = matrix_.view();
    if (matrix.rows != own.rows || matrix.columns != own.columns || matrix.nonzeros != own.nonzeros)
        return false;
    Buffer<int> differ = zeros<int>(context, 1);
    for_each_index(context, own.rows,
                   CompareRows{own.row_offsets, matrix.row_offsets, own.column_indices,
                               matrix.column_indices, differ.data()});
    return copy_to_host(context, differ)[0] == 0;
}

template <class T>
bool DeviceCopy<T>::factor(const Context& context, const CsrView<T>& matrix) {
    copy<T>(context, std::span<const T>(matrix.values, std::size_t(matrix.nonzeros)),
            matrix_.values().view());
    corrections_ = -1;
    for_each_index(context, matrix_.rows(),
                   ArrangeRow<T>{matrix_.view(), row_of_.data(), row_scaling_.data(),
                                 column_scaling_.data(), kind_ != MatrixKind::general,
                                 arranged_.row_offsets().data(), arranged_.values().data()});
    return factors_->factor(context, arranged_.values().view());
}

template <class T>
bool DeviceCopy<T>::solve_once(const Context& context, Vectors<const T> b, Vectors<T> x) {
    if (kind_ != MatrixKind::general) return factors_->solve(context, b, x);
    const Scratch<T> memory(context, b.size * b.count);
    const Vectors<T> right(memory.data(), b.size, b.count, b.size);
    for (int j = 0; j < b.count; ++j) {
        for_each_index(
            context, b.size,
            ArrangeElement<T>{row_of_.data(), row_scaling_.data(), b[j].data(), right[j].data()});
    }
    if (!factors_->solve(context, right, x)) return false;
    for (int j = 0; j < x.count; ++j) {
        multiply_elementwise<T>(context, column_scaling_.view(), std::span<const T>(x[j]), x[j]);
    }
    return true;
}

template <class T>
bool DeviceCopy<T>::solve(const Context& context, Vectors<const T> b, Vectors<T> x) {
    constexpr double epsilon = double(std::numeric_limits<T>::epsilon());
    constexpr double max_error = sizeof(T) == 8 ? 1e-9 : 1e-4, max_growth = 2e-3 / epsilon;
    constexpr int max_corrections = 5;
    if (!solve_once(context, b, x)) return false;
    if (corrections_ >= 0) {
        for (int k = 0; k < corrections_; ++k) {
            if (!correct(context, b, x)) return false;
        }
        return true;
    }
    double before = std::numeric_limits<double>::infinity();
    for (int k = 0;; ++k) {
        const SolutionErrors errors = solution_errors<T>(context, matrix_.view(), b[0], x[0]);
        if (errors.right_hand_side == 0) return true;
        const double error = errors.backward_error;
        if (!std::isfinite(errors.residual)) return false;
        // A correction that would not help much is not made.
        const bool is_last = error <= 500 * epsilon || error > 0.1 * before || k == max_corrections;
        if (is_last && !(error <= max_error)) return false;
        if (is_last) {
            corrections_ = k;
            return equilibrated_errors<T>(context, matrix_.view(), b[0], x[0]).growth <= max_growth;
        }
        before = error;
        if (!correct(context, b, x)) return false;
    }
}

template <class T>
bool DeviceCopy<T>::correct(const Context& context, Vectors<const T> b, Vectors<T> x) {
    const Scratch<T> rest(context, x.size * x.count), change(context, x.size * x.count);
    const Vectors<T> residual(rest.data(), x.size, x.count, x.size);
    const Vectors<T> step(change.data(), x.size, x.count, x.size);
    const CsrView<T> a = matrix_.view();
    for (int j = 0; j < x.count; ++j) {
        copy<T>(context, b[j], residual[j]);
        multiply<T>(context, a, plan_, T(-1), std::span<const T>(x[j]), T(1), residual[j]);
    }
    if (!solve_once(context, residual, step)) return false;
    for (int j = 0; j < x.count; ++j) {
        axpby<T>(context, T(1), std::span<const T>(step[j]), T(1), x[j]);
    }
    return true;
}

template class DeviceCopy<float>;
template class DeviceCopy<double>;

}  // namespace tessera::direct
