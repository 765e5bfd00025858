#pragma once

#include <algorithm>

#include "krylov/driver.hpp"
#include "krylov/run_step.hpp"

namespace tessera {

template <class T>
class Idr;

/// idr as registered.
struct IdrConfig {
    static constexpr MethodTraits traits{
        .allows_left = true, .columns = columns_together, .depends_on_size = true};
    int s;               ///< Dimension of the shadow space.
    std::uint64_t seed;  ///< Seed of the random shadow space.
    double angle;        ///< Limit on |rho| of "maintaining the convergence"; 0: off.
    bool smoothing;

    explicit IdrConfig(Spec spec)
        : s(int(spec.integer(0, 4, 1, 16))),
          seed(std::uint64_t(spec.integer("seed", 1, 0, std::numeric_limits<Offset>::max()))),
          angle(spec.real("angle", 0.7, 0, 0.999)),
          smoothing(spec.flag("smoothing")) {
        spec.finish();
    }
    template <class T>
    auto method(const System<T>& system) const {
        return std::make_unique<Idr<T>>(system, *this);
    }
    /// P, G and U of s vectors each, r, t, v, M^-1 v and with smoothing three more.
    Offset numbers(Offset rows) const { return rows * (4 + 3 * s + (smoothing ? 3 : 0)); }
};

template <class T>
struct IdrState {
    static constexpr int max_s = 16;  ///< Largest dimension of the shadow space.

    Recurrence<T> recurrence;
    T f[max_s];            ///< P^T r
    T m[max_s * max_s];    ///< M = P^T G, lower triangular, column-major.
    T c[max_s + 1];        ///< Solution of M c = f, then omega.
    T minus_c[max_s + 1];  ///< -c, then 1.
    T h[max_s];            ///< P^T g before g is made biorthogonal; coefficients while P is made.
    T gg;                  ///< g^T g
    T rr;                  ///< r^T r
    T smoothed_rr;         ///< Squared norm of the smoothed residual.
    T r_t[2];              ///< (r^T t, t^T t)
    T d_s[2];              ///< (d^T d, d^T r_s), d = r_s - r
    T length;              ///< Length of the next step in x and r; 0 when not running.
    T gamma, one_minus_gamma;
    T scale;

    /// During construction of the shadow space: h = -h, the coefficients that subtract a
    /// projection.
    TESSERA_HOST_DEVICE void negate(int count) {
        for (int i = 0; i < count; ++i) h[i] = -h[i];
    }

    /// scale = 1 / sqrt(h_0), h_0 the squared norm of a shadow vector.
    TESSERA_HOST_DEVICE void normalise() { scale = T(1) / std::sqrt(h[0]); }

    /// M = I, omega = 1; U and G are zero.
    TESSERA_HOST_DEVICE void begin(int s) {
        for (int i = 0; i < s * max_s; ++i) m[i] = 0;
        for (int i = 0; i < s; ++i) m[i * max_s + i] = 1;
        c[s] = 1;
        minus_c[s] = 1;
    }

    /// Solves M(k:s, k:s) c = f(k:s). Also observes the residual norm after the last update
    /// (`norm_square`), and begins the iteration when k = 0.
    TESSERA_HOST_DEVICE void project(const T* norm_square, int s, int k) {
        if (k == 0) {
            recurrence.begin();
        } else {
            recurrence.track_spike(std::sqrt(rr));
            recurrence.observe(std::sqrt(*norm_square));
        }
        for (int i = k; i < s; ++i) {
            T sum = f[i];
            for (int j = k; j < i; ++j) sum -= m[j * max_s + i] * c[j];
            c[i] = sum / m[i * max_s + i];
            minus_c[i] = -c[i];
        }
    }

    /// h = -M(0:k, 0:k)^-1 h: the combination of g_0 .. g_(k-1) that makes g_k orthogonal to
    /// p_0 .. p_(k-1).
    TESSERA_HOST_DEVICE void biorthogonalise(int k) {
        for (int i = 0; i < k; ++i) {
            T sum = h[i];
            for (int j = 0; j < i; ++j) sum += m[j * max_s + i] * h[j];
            h[i] = -sum / m[i * max_s + i];
        }
    }

    /// length = beta = f_k / M_kk,  f(k+1:s) -= beta M(k+1:s, k). The columns of P have norm 1.
    TESSERA_HOST_DEVICE void next_length(int s, int k) {
        const T* column = m + k * max_s;
        length = 0;
        if (!recurrence.running()) return;
        if (!std::isfinite(column[k]) || !std::isfinite(gg) || !std::isfinite(f[k])) {
            recurrence.stop(Outcome::non_finite);
        } else if (is_negligible(column[k], T(1), std::sqrt(gg))) {
            recurrence.stop(Outcome::breakdown, BreakdownCause::shadow_orthogonal);
        } else {
            length = f[k] / column[k];
            for (int i = k + 1; i < s; ++i) f[i] -= length * column[i];
        }
    }

    /// length = omega = t^T r / t^T t, made longer where t and r are far from parallel: with
    /// rho = t^T r / (||t|| ||r||), |rho| < angle, omega is multiplied by angle / |rho|
    /// (Sleijpen and van der Vorst 1995). That is angle ||r|| / ||t|| with the sign of rho. With
    /// smoothing ||r|| is here the norm of the smoothed residual, as in MAGMA's program: during a
    /// residual spike, where ||r|| is far above it, the step that minimises r stays as it is.
    TESSERA_HOST_DEVICE void next_omega(const T* norm_square, int s, T angle) {
        recurrence.track_spike(std::sqrt(rr));
        recurrence.observe(std::sqrt(*norm_square));
        length = 0;
        if (!recurrence.running()) return;
        const T rt = r_t[0];
        const T norm_t = std::sqrt(r_t[1]);
        const T norm_r = std::sqrt(*norm_square);
        if (!std::isfinite(rt) || !std::isfinite(norm_t)) {
            recurrence.stop(Outcome::non_finite);
        } else if (!(norm_t > 0) || (angle == 0 && is_negligible(rt, norm_t, std::sqrt(rr)))) {
            recurrence.stop(Outcome::breakdown, BreakdownCause::no_descent);
        } else if (std::abs(rt) < angle * norm_t * norm_r) {
            length = (rt < 0 ? -angle : angle) * (norm_r / norm_t);
        } else {
            length = rt / r_t[1];
        }
        c[s] = length;
    }

    TESSERA_HOST_DEVICE void end(const T* norm_square) {
        recurrence.track_spike(std::sqrt(rr));
        recurrence.observe(std::sqrt(*norm_square));
        recurrence.count();
    }

    /// Called after the residual was computed from x.
    TESSERA_HOST_DEVICE void replaced() { recurrence.had_spike = recurrence.spike_over = 0; }

    /// gamma = d^T r_s / d^T d, d = r_s - r: minimises ||r_s - gamma d||.
    TESSERA_HOST_DEVICE void smooth() {
        gamma = recurrence.running() && d_s[0] > 0 ? d_s[1] / d_s[0] : T(0);
        one_minus_gamma = T(1) - gamma;
    }
};

/// IDR(s), biorthogonal variant (van Gijzen and Sonneveld, ACM TOMS 38, 2011, Algorithm 913),
/// preconditioned from the right. P holds s orthonormal shadow vectors. A cycle is one iteration:
///   f = P^T r
///   for k = 0 .. s-1:
///     solve M(k:s, k:s) c = f(k:s),  v = r - G(:, k:s) c
///     u_k = U(:, k:s) c + omega M^-1 v,  g_k = A u_k
///     make g_k orthogonal to p_0 .. p_(k-1) with the same combination for u_k
///     M(k:s, k) = P(:, k:s)^T g_k,  beta = f_k / M_kk
///     r -= beta g_k,  x += beta u_k,  f(k+1:s) -= beta M(k+1:s, k)
///   t = A M^-1 r,  omega from t^T r,  x += omega M^-1 r,  r -= omega t.
/// g_k is made orthogonal in one block: with h = P(:, 0:k)^T g_k the coefficients solve the lower
/// triangular M(0:k, 0:k) a = h. Residual smoothing (Zhou and Walker 1994) updates a second pair
/// x_s, r_s on the line through the old pair and (x, r), at the smallest ||r_s||.
template <class T>
class Idr final : public Method<T> {
    using State = IdrState<T>;

  public:
    Idr(const System<T>& system, const IdrConfig& options)
        : system_(system),
          options_(options),
          s_(int(std::min<Offset>(options.s, system.size()))),
          p_(system.context, system.size(), s_, system.x.count),
          g_(system.context, system.size(), s_ + 2, system.x.count),
          u_(system.context, system.size(), s_ + 1, system.x.count),
          v_(system.context, system.preconditioner == nullptr ? 0 : system.size(), 1,
             system.x.count),
          smoothed_(system.context, options.smoothing ? system.size() : 0, 3, system.x.count),
          state_(system.context, system.x.count) {}

    std::span<T> residual(int c) override { return g_(c, s_); }
    Recurrence<T>* recurrence(int c) override { return &state(c)->recurrence; }
    Offset products(Offset iterations) const override { return (s_ + 1) * iterations; }

    void start(int c, int attempt) override {
        make_shadow_space(c, options_.seed + std::uint64_t(attempt));
        const Context& context = system_.context;
        fill(context, T(0), g_.vectors(c, 0, s_));
        fill(context, T(0), u_.vectors(c, 0, s_));
        run_step<&State::begin>(context, state(c), s_);
        if (!options_.smoothing) return;
        copy(context, std::span<const T>(system_.x[c]), smoothed_x(c));
        copy(context, std::span<const T>(residual(c)), smoothed_r(c));
    }

    /// Iterations between possible replacements of the residual; spikes last longer.
    int period() const override { return 16; }
    bool replaces() const override { return true; }

    Offset replace_residual(int c) override {
        system_.true_residual(c, system_.x[c], g_(c, s_ + 1), residual(c));
        if (options_.smoothing) {
            system_.true_residual(c, smoothed_x(c), g_(c, s_ + 1), smoothed_r(c));
        }
        run_step<&State::replaced>(system_.context, state(c));
        return options_.smoothing ? 2 : 1;
    }

    void iterate(int) override {
        const Context& context = system_.context;
        const int columns = this->columns();
        for (int c = 0; c < columns; ++c) {
            dots<T>(context, s_, p_.vectors(c, 0, s_), residual(c), state(c)->f);
        }
        for (int k = 0; k < s_; ++k) direction(k);

        const Vectors<T> r = g_.first(columns, s_), t = g_.first(columns, s_ + 1),
                         z = u_.first(columns, s_);
        if (system_.preconditioner == nullptr) {
            for (int c = 0; c < columns; ++c) copy(context, std::span<const T>(r[c]), z[c]);
        } else {
            system_.preconditioner->apply_vectors(context, r, z);
        }
        system_.matrix.apply_vectors(context, z, t);
        for (int c = 0; c < columns; ++c) {
            State* const state = this->state(c);
            dots<T>(context, 2, g_.vectors(c, s_, 2), t[c], state->r_t);
            run_step<&State::next_omega>(context, state, norm_square(c), s_, T(options_.angle));
            axpy_pair_dot<T>(context, &state->length, z[c], t[c], system_.x[c], r[c], &state->rr);
            smooth(c);
            run_step<&State::end>(context, state, norm_square(c));
        }
    }

    bool keeps_x() const override { return !options_.smoothing; }

    void finish(int c) override {
        if (options_.smoothing) {
            copy(system_.context, std::span<const T>(smoothed_x(c)), system_.x[c]);
        }
    }

    void copy_column(int from, int to) override {
        for (VectorSet<T>* vectors : {&p_, &g_, &u_, &v_, &smoothed_}) {
            vectors->copy_column(system_.context, from, to);
        }
        copy(system_.context, std::span<const State>(state(from), 1),
             std::span<State>(state(to), 1));
    }

  private:
    State* state(int c) { return state_.data() + c; }

    /// Orthonormal columns from random normals: classical Gram-Schmidt, twice.
    void make_shadow_space(int c, std::uint64_t seed) {
        const Context& context = system_.context;
        State* const state = this->state(c);
        fill_normal(context, seed, p_.vectors(c, 0, s_));
        for (int k = 0; k < s_; ++k) {
            for (int pass = 0; pass < 2 && k > 0; ++pass) {
                dots<T>(context, k, p_.vectors(c, 0, k), p_(c, k), state->h);
                run_step<&State::negate>(context, state, k);
                combine<T>(context, k, p_.vectors(c, 0, k), state->h, T(1), p_(c, k));
            }
            dot<T>(context, p_(c, k), p_(c, k), state->h);
            run_step<&State::normalise>(context, state);
            axpby<T>(context, T(0), p_(c, k), &state->scale, p_(c, k));
        }
    }

    /// The next pair u_k, g_k = A u_k, and the step along it.
    void direction(int k) {
        const Context& context = system_.context;
        const int columns = this->columns();
        const Vectors<T> z = u_.first(columns, s_);
        // r is stored after the columns of G and M^-1 v after those of U, with coefficients 1 and
        // omega after c, so that each combination is one pass.
        const Vectors<T> v = system_.preconditioner == nullptr ? z : v_.first(columns, 0);
        for (int c = 0; c < columns; ++c) {
            State* const state = this->state(c);
            run_step<&State::project>(context, state, norm_square(c), s_, k);
            combine<T>(context, s_ - k + 1, g_.vectors(c, k, s_ - k + 1), state->minus_c + k, T(0),
                       v[c]);
        }
        if (system_.preconditioner != nullptr) system_.preconditioner->apply_vectors(context, v, z);
        for (int c = 0; c < columns; ++c) {
            State* const state = this->state(c);
            combine<T>(context, s_ - k, u_.vectors(c, k + 1, s_ - k), state->c + k + 1,
                       &state->c[k], u_(c, k));
        }
        system_.matrix.apply_vectors(context, u_.first(columns, k), g_.first(columns, k));
        for (int c = 0; c < columns; ++c) step_along(c, k);
    }

    /// Makes g_k orthogonal to p_0 .. p_(k-1), and updates x and r along u_k and g_k.
    void step_along(int c, int k) {
        const Context& context = system_.context;
        State* const state = this->state(c);
        if (k > 0) {
            dots<T>(context, k, p_.vectors(c, 0, k), g_(c, k), state->h);
            run_step<&State::biorthogonalise>(context, state, k);
            combine<T>(context, k, g_.vectors(c, 0, k), state->h, T(1), g_(c, k));
            combine<T>(context, k, u_.vectors(c, 0, k), state->h, T(1), u_(c, k));
        }
        dots<T>(context, s_ - k, p_.vectors(c, k, s_ - k), g_(c, k),
                state->m + k * State::max_s + k);
        dot<T>(context, g_(c, k), g_(c, k), &state->gg);
        run_step<&State::next_length>(context, state, s_, k);
        axpy_pair_dot<T>(context, &state->length, u_(c, k), g_(c, k), system_.x[c], residual(c),
                         &state->rr);
        smooth(c);
    }

    void smooth(int c) {
        if (!options_.smoothing) return;
        const Context& context = system_.context;
        State* const state = this->state(c);
        const std::span<T> difference = smoothed_(c, 0);
        axpbypcz<T>(context, T(1), smoothed_r(c), T(-1), residual(c), T(0), difference);
        dots<T>(context, 2, smoothed_.vectors(c, 0, 2), difference, state->d_s);
        run_step<&State::smooth>(context, state);
        axpby<T>(context, &state->gamma, residual(c), &state->one_minus_gamma, smoothed_r(c));
        axpby<T>(context, &state->gamma, system_.x[c], &state->one_minus_gamma, smoothed_x(c));
        dot<T>(context, smoothed_r(c), smoothed_r(c), &state->smoothed_rr);
    }

    /// Squared residual norm for the convergence test.
    const T* norm_square(int c) {
        return options_.smoothing ? &state(c)->smoothed_rr : &state(c)->rr;
    }
    std::span<T> smoothed_r(int c) { return smoothed_(c, 1); }
    std::span<T> smoothed_x(int c) { return smoothed_(c, 2); }

    System<T> system_;
    IdrConfig options_;
    int s_;
    VectorSet<T> p_;
    VectorSet<T> g_;         ///< g_0 .. g_(s-1), r, t
    VectorSet<T> u_;         ///< u_0 .. u_(s-1), M^-1 v or M^-1 r.
    VectorSet<T> v_;         ///< v, if there is a preconditioner.
    VectorSet<T> smoothed_;  ///< r_s - r, r_s, x_s, if smoothed.
    Buffer<State> state_;
};

}  // namespace tessera
