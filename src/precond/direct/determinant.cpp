#include <cmath>
#include <limits>
#include <numeric>

#include "base/checks.hpp"
#include "precond/direct/direct_state.hpp"

namespace tessera {

namespace {

/// 1 for an even permutation, else -1.
int parity(std::vector<Index> image) {
    int sign = 1;
    for (std::size_t i = 0; i < image.size(); ++i) {
        while (image[i] != Index(i)) {
            std::swap(image[i], image[std::size_t(image[i])]);
            sign = -sign;
        }
    }
    return sign;
}

double norm1(const std::vector<double>& x) {
    return std::transform_reduce(x.begin(), x.end(), 0.0, std::plus<>(),
                                 [](double value) { return std::abs(value); });
}

}  // namespace

template <class T>
typename Direct<T>::LogDeterminant Direct<T>::log_determinant() const {
    const State& state = *state_;
    {
        const std::lock_guard lock(state_->device_mutex);
        state.require_factors();
        state_->bring_to_host(state.context);
    }
    const double none = -std::numeric_limits<double>::infinity();
    if (state.report.null_pivots > 0) return {0, none};
    LogDeterminant result{1, 0};
    const auto multiply = [&](double value) {
        if (value < 0) result.sign = -result.sign;
        result.logarithm += std::log(std::abs(value));
    };
    // The pivot of row k alone, or of rows k and k + 1, and how many these are.
    const auto multiply_pivot = [&](double one, double beside, auto&& next) {
        if (beside == 0) {
            multiply(one);
            return 1;
        }
        multiply(beside);
        multiply(one / beside * next() - beside);
        return 2;
    };
    std::vector<Index> column_of_row(static_cast<std::size_t>(rows()));
    if (state.row_plan) {
        const auto& factor = state.simplicial;
        const auto pivot = [&](Index k) { return double(factor.diagonal()[std::size_t(k)]); };
        for (std::size_t k = 0; k < column_of_row.size(); ++k) {
            column_of_row[factor.row()[k]] = factor.column()[k];
        }
        for (Index k = 0; k < rows();) {
            k += multiply_pivot(pivot(k), double(factor.beside(k)), [&] { return pivot(k + 1); });
        }
    } else {
        for (const auto& front : state.factor.fronts()) {
            const auto pivot = [&](Index k) {
                return double(
                    (front.upper ? front.upper : front.lower)[Offset(k) * front.rows + k]);
            };
            for (Index k = 0; k < front.pivots; ++k) {
                column_of_row[state.fronts.row[front.row_ids[k]]] =
                    state.fronts.column[front.column_ids[k]];
            }
            for (Index k = 0; k < front.pivots;) {
                const double beside = front.off_diagonal ? double(front.off_diagonal[k]) : 0;
                k += multiply_pivot(pivot(k), beside, [&] { return pivot(k + 1); });
            }
        }
    }
    result.sign *= parity(std::move(column_of_row));
    for (Index i = 0; i < rows(); ++i) {
        result.logarithm -= std::log(state.arrangement.row_scaling[i]) +
                            std::log(state.arrangement.column_scaling[i]);
    }
    return result;
}

template <class T>
double Direct<T>::reciprocal_condition() const {
    const State& state = *state_;
    {
        const std::lock_guard lock(state_->device_mutex);
        state.require_factors();
        state_->bring_to_host(state.context);
    }
    if (rows() == 0) return 1;
    if (state.report.null_pivots > 0) return 0;
    const auto size = std::size_t(rows());
    const Context cpu = Context::cpu(1);
    std::vector<T> x(size), y(size);
    const auto solved = [&](bool transposed) {
        state.solve(cpu, transposed, one_vector(std::span<const T>(x)),
                    one_vector(std::span<T>(y)));
        return std::vector<double>(y.begin(), y.end());
    };
    std::fill(x.begin(), x.end(), T(1) / T(rows()));
    double estimate = 0;
    for (int step = 0; step < 5; ++step) {
        const std::vector<double> forward = solved(false);
        const double now = norm1(forward);
        if (step > 0 && now <= estimate) break;
        estimate = now;
        for (std::size_t i = 0; i < size; ++i) x[i] = forward[i] < 0 ? T(-1) : T(1);
        const std::vector<double> back = solved(true);
        std::size_t largest = 0;
        for (std::size_t i = 0; i < size; ++i) {
            if (std::abs(back[i]) > std::abs(back[largest])) largest = i;
        }
        std::fill(x.begin(), x.end(), T(0));
        x[largest] = T(1);
    }
    // A vector that finds what the steps miss.
    for (std::size_t i = 0; i < size; ++i) {
        const double value = 1 + double(i) / std::max(1.0, double(size) - 1);
        x[i] = T(i % 2 == 0 ? value : -value);
    }
    estimate = std::max(estimate, 2 * norm1(solved(false)) / (3 * double(size)));
    const double condition = estimate * state.norm;
    return condition > 0 && std::isfinite(condition) ? std::min(1.0, 1 / condition) : 0;
}

template typename Direct<float>::LogDeterminant Direct<float>::log_determinant() const;
template typename Direct<double>::LogDeterminant Direct<double>::log_determinant() const;
template double Direct<float>::reciprocal_condition() const;
template double Direct<double>::reciprocal_condition() const;

}  // namespace tessera
