#include <algorithm>

#include "base/dispatch.hpp"
#include "krylov/driver.hpp"
#include "krylov/idr_steps.hpp"
#include "krylov/run_step.hpp"

namespace tessera {

namespace {

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
/// triangular M(0:k, 0:k) a = h. Residual smoothing (Zhou and Walker 1994) keeps a second pair
/// x_s, r_s on the line through the old pair and (x, r), at the smallest ||r_s||.
template <class T>
class Idr final : public Method<T> {
  public:
    Idr(const System<T>& system, const IdrOptions& options)
        : system_(system),
          options_(options),
          s_(int(std::min<Offset>(options.s, system.size()))),
          p_(system.context, system.size(), s_),
          g_(system.context, system.size(), s_ + 2),
          u_(system.context, system.size(), s_ + 1),
          v_(system.context, system.preconditioner == nullptr ? 0 : system.size(), 1),
          smoothed_(system.context, options.smoothing ? system.size() : 0, 3),
          state_(system.context, 1) {}

    std::span<T> residual() override { return g_[s_]; }
    Recurrence<T>* recurrence() override { return &state_.data()->recurrence; }
    Offset products(Offset iterations) const override { return (s_ + 1) * iterations; }

    void start(int attempt) override {
        make_shadow_space(options_.seed + std::uint64_t(attempt));
        const Context& context = system_.context;
        fill(context, T(0), g_.vectors(0, s_));
        fill(context, T(0), u_.vectors(0, s_));
        run_step(context, IdrStart<T>{state_.data(), s_});
        if (!options_.smoothing) return;
        copy(context, std::span<const T>(system_.x), smoothed_x());
        copy(context, std::span<const T>(residual()), smoothed_r());
    }

    /// How often the residual may be replaced. Spikes last for longer.
    int period() const override { return 16; }
    bool replaces() const override { return true; }

    Offset replace_residual() override {
        true_residual(system_.x, residual());
        if (options_.smoothing) true_residual(smoothed_x(), smoothed_r());
        run_step(system_.context, IdrReplaced<T>{state_.data()});
        return options_.smoothing ? 2 : 1;
    }

    void iterate(int) override {
        const Context& context = system_.context;
        IdrState<T>* state = state_.data();
        const std::span<T> r = residual();
        dots<T>(context, s_, p_.vectors(0, s_), r, state->f);
        for (int k = 0; k < s_; ++k) direction(k);

        const std::span<T> z = u_[s_];
        const std::span<T> t = g_[s_ + 1];
        if (system_.preconditioner == nullptr) {
            copy(context, std::span<const T>(r), z);
        } else {
            system_.preconditioner->apply(context, r, z);
        }
        system_.matrix.apply(context, z, t);
        dots<T>(context, 2, g_.vectors(s_, 2), t, state->r_t);
        run_step(context, IdrOmega<T>{state, norm_square(), s_, T(options_.angle)});
        axpy_pair_dot<T>(context, &state->length, z, t, system_.x, r, &state->rr);
        smooth();
        run_step(context, IdrEnd<T>{state, norm_square()});
    }

    void finish() override {
        if (options_.smoothing) {
            copy(system_.context, std::span<const T>(smoothed_x()), system_.x);
        }
    }

  private:
    void true_residual(std::span<const T> x, std::span<T> r) {
        const std::span<T> product = g_[s_ + 1];
        system_.matrix.apply(system_.context, x, product);
        axpbypcz<T>(system_.context, T(1), system_.right_hand_side, T(-1), product, T(0), r);
    }

    /// Orthonormal columns from random normals: classical Gram-Schmidt, twice.
    void make_shadow_space(std::uint64_t seed) {
        const Context& context = system_.context;
        IdrState<T>* state = state_.data();
        fill_normal(context, seed, p_.vectors(0, s_));
        for (int k = 0; k < s_; ++k) {
            for (int pass = 0; pass < 2 && k > 0; ++pass) {
                dots<T>(context, k, p_.vectors(0, k), p_[k], state->h);
                run_step(context, IdrNegate<T>{state, k});
                combine<T>(context, k, p_.vectors(0, k), state->h, T(1), p_[k]);
            }
            dot<T>(context, p_[k], p_[k], state->h);
            run_step(context, IdrNormalise<T>{state});
            axpby<T>(context, T(0), p_[k], &state->scale, p_[k]);
        }
    }

    /// One more pair u_k, g_k = A u_k, and the step along it.
    void direction(int k) {
        const Context& context = system_.context;
        IdrState<T>* state = state_.data();
        const std::span<T> z = u_[s_];
        run_step(context, IdrProject<T>{state, norm_square(), s_, k});
        // r stands behind the columns of G and M^-1 v behind those of U, with coefficients 1 and
        // omega behind c, so that each combination is one pass.
        const std::span<T> v = system_.preconditioner == nullptr ? z : v_[0];
        combine<T>(context, s_ - k + 1, g_.vectors(k, s_ - k + 1), state->minus_c + k, T(0), v);
        if (system_.preconditioner != nullptr) system_.preconditioner->apply(context, v, z);
        combine<T>(context, s_ - k, u_.vectors(k + 1, s_ - k), state->c + k + 1, &state->c[k],
                   u_[k]);
        system_.matrix.apply(context, u_[k], g_[k]);
        if (k > 0) {
            dots<T>(context, k, p_.vectors(0, k), g_[k], state->h);
            run_step(context, IdrBiorthogonalise<T>{state, k});
            combine<T>(context, k, g_.vectors(0, k), state->h, T(1), g_[k]);
            combine<T>(context, k, u_.vectors(0, k), state->h, T(1), u_[k]);
        }
        dots<T>(context, s_ - k, p_.vectors(k, s_ - k), g_[k],
                state->m + k * IdrState<T>::most + k);
        dot<T>(context, g_[k], g_[k], &state->gg);
        run_step(context, IdrUpdate<T>{state, s_, k});
        axpy_pair_dot<T>(context, &state->length, u_[k], g_[k], system_.x, residual(), &state->rr);
        smooth();
    }

    void smooth() {
        if (!options_.smoothing) return;
        const Context& context = system_.context;
        IdrState<T>* state = state_.data();
        const std::span<T> difference = smoothed_[0];
        axpbypcz<T>(context, T(1), smoothed_r(), T(-1), residual(), T(0), difference);
        dots<T>(context, 2, smoothed_.vectors(0, 2), difference, state->d_s);
        run_step(context, IdrSmooth<T>{state});
        axpby<T>(context, &state->gamma, residual(), &state->one_minus_gamma, smoothed_r());
        axpby<T>(context, &state->gamma, system_.x, &state->one_minus_gamma, smoothed_x());
        dot<T>(context, smoothed_r(), smoothed_r(), &state->smoothed_rr);
    }

    /// What the stop test looks at.
    const T* norm_square() {
        return options_.smoothing ? &state_.data()->smoothed_rr : &state_.data()->rr;
    }
    std::span<T> smoothed_r() { return smoothed_[1]; }
    std::span<T> smoothed_x() { return smoothed_[2]; }

    System<T> system_;
    IdrOptions options_;
    int s_;
    VectorSet<T> p_;
    VectorSet<T> g_;         ///< g_0 .. g_(s-1), r, t.
    VectorSet<T> u_;         ///< u_0 .. u_(s-1), M^-1 v or M^-1 r.
    VectorSet<T> v_;         ///< v, with a preconditioner.
    VectorSet<T> smoothed_;  ///< r_s - r, r_s, x_s, with smoothing.
    Buffer<IdrState<T>> state_;
};

}  // namespace

template <class T>
SolveReport idr(const Context& context, const Operator<T>& matrix,
                const Operator<T>* preconditioner, std::span<const T> b, std::span<T> x,
                const IdrOptions& idr_options, const SolveOptions& options) {
    require(idr_options.s >= 1 && idr_options.s <= IdrState<T>::most,
            "idr: s, the dimension of the shadow space, must be within 1..16");
    require(idr_options.angle >= 0 && idr_options.angle < 1, "idr: angle must be within 0..1");
    return drive<T>(context, matrix, preconditioner, b, x, options,
                    [&idr_options](const System<T>& system) {
                        return std::make_unique<Idr<T>>(system, idr_options);
                    });
}

#define TESSERA_INSTANTIATE(T)                                                          \
    template SolveReport idr<T>(const Context&, const Operator<T>&, const Operator<T>*, \
                                std::span<const T>, std::span<T>, const IdrOptions&,    \
                                const SolveOptions&);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera
