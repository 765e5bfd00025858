#include <cmath>
#include <limits>

#include "base/dispatch.hpp"
#include "precond/incomplete/probe.hpp"
#include "precond/incomplete/state.hpp"

namespace tessera::incomplete {

namespace {

constexpr double default_epsilon = 0.1;
constexpr double max_error_growth = 2;      ///< Error growth that ends the sweeps.
constexpr double max_error = 0.5;           ///< Reconstruction error that restarts the sweeps.
constexpr double epsilon_growth = 3;        ///< Factor of epsilon at a restart.
constexpr int max_restarts = 2;             ///< Maximum number of restarts.
constexpr double accepted_residual = 1e-3;  ///< Residual at which a stage is accepted.
constexpr double equal_residual = 0.01;     ///< Relative difference of equal stages.
constexpr double required_reduction = 0.9;  ///< Later over earlier residual, at most.
constexpr std::uint64_t finite_seed = 26;   ///< Seed of the vector that must stay finite.

std::string short_number(double number) {
    return number_text(number, std::chars_format::general, 2);
}

/// Default epsilon of the level method.
template <class T>
double level_epsilon() {
    return std::sqrt(double(std::numeric_limits<T>::epsilon()) / 2);
}

}  // namespace

template <class T>
double initial_epsilon(const BlockLdltOptions& options) {
    if (options.epsilon >= 0) return options.epsilon;
    return options.method == BlockLdltStage::level ? level_epsilon<T>() : default_epsilon;
}

template <class T>
bool State<T>::compute_sweeps(const Context& context, const CsrView<T>& matrix) {
    double epsilon = initial_epsilon<T>(options);
    for (report.restarts = 0;; ++report.restarts, epsilon *= epsilon_growth) {
        double best = std::numeric_limits<double>::infinity(), current_epsilon = epsilon;
        report.reconstruction.clear();
        report.best_sweep = 1;
        factor.start_sweeps();
        for (report.sweeps = 1;; ++report.sweeps, current_epsilon *= options.delta) {
            report.epsilon = current_epsilon;
            factor.set_threshold(context, current_epsilon);
            factor.sweep(context);
            const bool last = report.sweeps == options.sweeps;
            if (!options.safeguard && !last) continue;
            const double error = reconstruction_error(context, factor, scaling(), matrix, plan);
            report.reconstruction.push_back(error);
            if (error < best || !options.safeguard) {
                best = error;
                report.best_sweep = report.sweeps;
                factor.mark_best();
            }
            if (last || !(error <= max_error_growth * best)) break;
        }
        factor.restore_best();
        factor.scale_upper(context);
        if (best <= max_error || !options.safeguard) return true;
        if (report.restarts == max_restarts) return false;
    }
}

template <class T>
void State<T>::compute_for_pivots(const Context& context, const CsrView<T>& matrix, int sweeps) {
    const double epsilon = initial_epsilon<T>(options);
    factor.load(context, scaling(), matrix);
    factor.set_threshold(context, epsilon);
    if (options.method == BlockLdltStage::level) {
        factor.factor_by_levels(context);
    } else {
        factor.start_sweeps();
        for (int s = 0; s < sweeps; ++s) factor.sweep(context);
    }
}

template <class T>
bool State<T>::compute_stage(const Context& context, const CsrView<T>& matrix,
                             BlockLdltStage next) {
    stage = report.stage = next;
    report.perturbed = 0;
    bool good = true;
    if (stage != BlockLdltStage::none) factor.load(context, scaling(), matrix);
    if (stage == BlockLdltStage::jacobi) {
        good = compute_sweeps(context, matrix);
    } else if (stage != BlockLdltStage::none) {
        report.epsilon = options.method == BlockLdltStage::level ? initial_epsilon<T>(options)
                                                                 : level_epsilon<T>();
        factor.set_threshold(context, report.epsilon);
        if (stage == BlockLdltStage::level && taken) {
            factor.take_factor(context, taken->l, taken->u_transposed, taken->f, taken->pivots);
        } else if (stage == BlockLdltStage::level) {
            factor.factor_by_levels(context);
        }
        if (stage == BlockLdltStage::block_jacobi) factor.factor_diagonal(context);
        report.reconstruction.clear();
        if (options.safeguard) {
            report.reconstruction.push_back(
                reconstruction_error(context, factor, scaling(), matrix, plan));
        }
    }
    if (stage != BlockLdltStage::none) {
        const auto pivots = factor.pivots(context);
        report.perturbed = Index(pivots.perturbed);
        report.smallest_pivot = pivots.smallest;
    }
    return good;
}

template <class T>
void State<T>::apply_sign_option(const Context& context) {
    if (options.positive_definite && stage != BlockLdltStage::none)
        factor.make_positive_definite(context);
}

template <class T>
bool State<T>::is_finite(const Context& context) const {
    Buffer<T> r(context, row_scale.size()), z(context, r.size()), square(context, 1);
    fill_normal(context, finite_seed, r.view());
    apply(context, r.data(), z.data());
    // Squares of finite elements stay in the range.
    const T small = std::ldexp(T(1), -(std::numeric_limits<T>::max_exponent / 2 + 16));
    axpby<T>(context, small, z.view(), T(0), z.view());
    dot<T>(context, z.view(), z.view(), square.data());
    return std::isfinite(copy_to_host(context, square)[0]);
}

template <class T>
void State<T>::choose_stage(const Context& context, const CsrView<T>& matrix) {
    const bool jacobi = options.method == BlockLdltStage::jacobi;
    const auto first = jacobi ? BlockLdltStage::jacobi : BlockLdltStage::level;
    report.probe_products = 0;
    report.sweeps = report.best_sweep = report.restarts = 0;
    for (double& residual : report.probe) residual = -1;
    if (!options.safeguard) {
        compute_stage(context, matrix, first);
        while (stage != BlockLdltStage::none && !is_finite(context)) {
            compute_stage(context, matrix, BlockLdltStage(int(stage) + 1));
        }
        report.outcome = stage == first ? "no safeguard" : "numbers that are not finite";
        return;
    }
    const auto apply_stage = [&](const T* r, T* z) { apply(context, r, z); };
    BlockLdltStage best = BlockLdltStage::none;
    double smallest = std::numeric_limits<double>::infinity();
    std::vector<double> best_residuals;
    for (int s = int(first); s <= int(BlockLdltStage::none); ++s) {
        const auto next = BlockLdltStage(s);
        if (!compute_stage(context, matrix, next)) {
            report.outcome += std::string(to_string(next)) + " left out (reconstruction error " +
                              short_number(report.reconstruction.back()) + "), ";
            continue;
        }
        const bool last = next == BlockLdltStage::none;
        const std::vector<double> residuals =
            probe<T>(context, matrix, plan, apply_stage, accepted_residual, best_residuals,
                     last ? 0 : equal_residual, report.probe_products);
        const double residual = report.probe[s] = residuals.back();
        report.outcome += std::string(to_string(next)) + " " + short_number(residual) + ", ";
        if (residual < (last ? 1 : required_reduction) * smallest) {
            smallest = residual;
            best_residuals = residuals;
            best = next;
        }
        if (residual <= accepted_residual) break;
    }
    if (stage != best) compute_stage(context, matrix, best);
    report.outcome = "residuals of probes: " + report.outcome + "used: " + to_string(best);
}

#define TESSERA_INSTANTIATE(T)                                                                \
    template decltype(initial_epsilon<T>) initial_epsilon<T>;                                 \
    template bool State<T>::compute_stage(const Context&, const CsrView<T>&, BlockLdltStage); \
    template void State<T>::apply_sign_option(const Context&);                                \
    template void State<T>::compute_for_pivots(const Context&, const CsrView<T>&, int);       \
    template void State<T>::choose_stage(const Context&, const CsrView<T>&);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera::incomplete
