#include "precond/direct/device/device_copy.hpp"

#include <cmath>
#include <limits>
#include <numeric>

#include "base/check_time.hpp"
#include "base/for_each.hpp"
#include "base/scratch/scratch.hpp"
#include "base/zeros.hpp"
#include "tessera/solution_errors.hpp"
#include "tessera/vector_ops.hpp"

namespace tessera::direct {

namespace {

template <class T>
double norm(const Context& context, std::span<const T> v) {
    return std::sqrt(double(dot_to_host<const T>(context, v, v)));
}

/// Whether two arrays on `context` are equal.
template <class Number>
bool are_equal(const Context& context, Offset count, const Number* one, const Number* other) {
    Buffer<int> differ = zeros<int>(context, 1);
    for_each_index(context, count, CompareElements<Number>{one, other, differ.data()});
    return copy_to_host(context, differ)[0] == 0;
}

}  // namespace

/// Fills arranged_, but for its values, and what these are made from.
template <class T>
void DeviceCopy<T>::arrange(const Context& context, const CsrView<T>& a,
                            const Arrangement& arrangement) {
    const auto rows = std::size_t(a.rows);
    std::vector<Index> row_of = arrangement.row_of_column;
    std::vector<T> row_scaling(rows, T(1)), column_scaling(rows, T(1));
    const bool is_general = kind_ == MatrixKind::general;
    if (is_general) {
        row_scaling.assign(arrangement.row_scaling.begin(), arrangement.row_scaling.end());
        column_scaling.assign(arrangement.column_scaling.begin(), arrangement.column_scaling.end());
    } else {
        std::iota(row_of.begin(), row_of.end(), 0);
    }
    std::vector<Offset> offsets{0}, source;
    std::vector<Index> columns;
    std::vector<T> factor;
    for (Index j = 0; j < a.rows; ++j) {
        if (j % 4096 == 0) check_time();
        const Index i = row_of[std::size_t(j)];
        for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
            const Index column = a.column_indices[k];
            if (!is_general && column > j) continue;
            columns.push_back(column);
            source.push_back(k);
            const double scale = is_general ? arrangement.row_scaling[std::size_t(i)] *
                                                  arrangement.column_scaling[std::size_t(column)]
                                            : 1;
            factor.push_back(T(scale));
        }
        offsets.push_back(Offset(columns.size()));
    }
    arranged_ = CsrMatrix<T>(context, a.rows, a.columns, Offset(columns.size()));
    copy_from_host<Offset>(context, offsets, arranged_.row_offsets().view());
    copy_from_host<Index>(context, columns, arranged_.column_indices().view());
    source_ = copy_to_buffer(context, source);
    factor_ = copy_to_buffer(context, factor);
    row_of_ = copy_to_buffer(context, row_of);
    row_scaling_ = copy_to_buffer(context, row_scaling);
    column_scaling_ = copy_to_buffer(context, column_scaling);
}

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
    auto made = std::make_unique<DeviceCopy>();
    made->matrix_ = copy_to(context, matrix);
    made->plan_ = plan_spmv(context, made->matrix_.view());
    made->kind_ = kind;
    made->arrange(context, on_host, arrangement);
    made->factors_ = make_factors(context, made->arranged_.view(), kind);
    return made->factors_ == nullptr ? nullptr : std::move(made);
}

template <class T>
bool DeviceCopy<T>::has_pattern_of(const Context& context, const CsrView<T>& matrix) const {
    const CsrView<T> own = matrix_.view();
    if (matrix.rows != own.rows || matrix.columns != own.columns || matrix.nonzeros != own.nonzeros)
        return false;
    return are_equal(context, own.rows + 1, own.row_offsets, matrix.row_offsets) &&
           are_equal(context, own.nonzeros, own.column_indices, matrix.column_indices);
}

template <class T>
bool DeviceCopy<T>::factor(const Context& context, const CsrView<T>& matrix) {
    copy<T>(context, std::span<const T>(matrix.values, std::size_t(matrix.nonzeros)),
            matrix_.values().view());
    corrections_ = -1;
    for_each_index(context, source_.size(),
                   ArrangeEntry<T>{source_.data(), factor_.data(), matrix_.values().data(),
                                   arranged_.values().data()});
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
    if (!solve_once(context, b, x)) return false;
    if (corrections_ < 0) return judged_solve(context, b, x);
    for (int k = 0; k < corrections_; ++k) {
        if (!correct(context, b, x)) return false;
    }
    return true;
}

/// Corrects x as often as its first vector needs whose b is not 0, and keeps that number if x is
/// then a solution. Without such a vector nothing is known.
template <class T>
bool DeviceCopy<T>::judged_solve(const Context& context, Vectors<const T> b, Vectors<T> x) {
    constexpr double epsilon = double(std::numeric_limits<T>::epsilon());
    constexpr double max_error = sizeof(T) == 8 ? 1e-9 : 1e-4;
    constexpr int max_corrections = 5;
    int j = 0;
    for (; j < b.count; ++j) {
        const double size = norm(context, b[j]);
        if (size > 0 && std::isfinite(size)) break;
    }
    if (j == b.count) return true;
    double before = std::numeric_limits<double>::infinity();
    for (int k = 0;; ++k) {
        const SolutionErrors errors =
            solution_errors<T>(context, matrix_.view(), b[j], std::span<const T>(x[j]));
        const double error = errors.backward_error;
        if (!std::isfinite(errors.residual)) return false;
        // A correction that would not help much is not made.
        const bool is_last = error <= 500 * epsilon || error > 0.1 * before || k == max_corrections;
        if (is_last) {
            if (!(error <= max_error) || has_grown(context, b[j], x[j])) return false;
            corrections_ = k;
            return true;
        }
        before = error;
        if (!correct(context, b, x)) return false;
    }
}

/// Whether x is as large as that of a singular matrix.
template <class T>
bool DeviceCopy<T>::has_grown(const Context& context, std::span<const T> b,
                              std::span<const T> x) const {
    constexpr double max_growth = 1e-3 / (double(std::numeric_limits<T>::epsilon()) / 2);
    const double size = norm(context, std::span<const T>(matrix_.values().view()));
    const bool is_small = size * norm(context, x) <= max_growth * norm(context, b);
    if (is_small && factors_->replaced_pivots() == 0) return false;
    return !(equilibrated_errors<T>(context, matrix_.view(), b, x).growth <= max_growth);
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
