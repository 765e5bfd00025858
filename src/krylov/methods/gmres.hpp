#pragma once

#include <algorithm>

#include "krylov/driver.hpp"
#include "krylov/run_step.hpp"

namespace tessera {

/// Scalars of GMRES for a restart length m; the state and its arrays are in the memory of a
/// Context.
template <class T>
struct GmresState {
    Recurrence<T> recurrence;
    T rr;         ///< r^T r
    T ww;         ///< w^T w of the new basis vector before it is normalised.
    T scale;      ///< Normalises the newest basis vector.
    T length;     ///< 1 when a correction was formed, else 0.
    int columns;  ///< Columns of the least-squares problem.
    int restart;
    T* triangle;  ///< m x m, column-major: R of the QR factorisation of the Hessenberg matrix.
    T* cosines;   ///< m Givens rotations.
    T* sines;
    T* right;         ///< m + 1: the rotated right-hand side.
    T* sums;          ///< m: results of `dots`.
    T* column;        ///< m: the new column of the Hessenberg matrix.
    T* coefficients;  ///< m

    /// Begins a cycle with the residual whose squared norm is rr.
    TESSERA_HOST_DEVICE void begin_cycle() {
        const T norm = std::sqrt(rr);
        recurrence.observe(norm);
        columns = 0;
        scale = norm > 0 ? T(1) / norm : T(0);
        right[0] = norm;
    }

    /// After one pass of classical Gram-Schmidt over count vectors: adds the inner products to the
    /// column (the first pass sets it), and sets the coefficients that subtract the projection from
    /// w.
    TESSERA_HOST_DEVICE void project(int count, bool first) {
        if (first) recurrence.begin();
        for (int i = 0; i < count; ++i) {
            column[i] = first ? sums[i] : column[i] + sums[i];
            coefficients[i] = -sums[i];
        }
    }

    /// Rotates column j into the triangle; the residual norm is the last entry of the rotated
    /// right-hand side. The rest of w after two passes is rounding when it is below
    /// (j + 1) eps ||A z||: then the Krylov space is invariant and the solution lies in it, unless
    /// the projected matrix is singular.
    TESSERA_HOST_DEVICE void rotate(int j) {
        T square = ww;
        for (int i = 0; i <= j; ++i) square += column[i] * column[i];
        const T rounding = T(j + 1) * std::numeric_limits<T>::epsilon() * std::sqrt(square);
        const T norm = std::sqrt(ww);
        const T below = norm <= rounding ? T(0) : norm;
        scale = below > 0 ? T(1) / below : T(0);
        if (recurrence.running()) rotate_column(j, square, below, rounding);
        recurrence.count();
    }

    TESSERA_HOST_DEVICE void rotate_column(int j, T square, T below, T rounding) {
        if (!std::isfinite(square)) return recurrence.stop(Outcome::non_finite);
        for (int i = 0; i < j; ++i) {
            const T upper = column[i];
            column[i] = cosines[i] * upper + sines[i] * column[i + 1];
            column[i + 1] = cosines[i] * column[i + 1] - sines[i] * upper;
        }
        const T diagonal = std::hypot(column[j], below);
        if (diagonal <= rounding) {
            return recurrence.stop(Outcome::breakdown, BreakdownCause::singular_projection);
        }
        cosines[j] = column[j] / diagonal;
        sines[j] = below / diagonal;
        column[j] = diagonal;
        for (int i = 0; i <= j; ++i) triangle[j * restart + i] = column[i];
        right[j + 1] = -sines[j] * right[j];
        right[j] *= cosines[j];
        columns = j + 1;
        recurrence.observe(std::abs(right[j + 1]));
    }

    /// Back substitution; coefficients of missing basis vectors are 0. Resets `columns`, so
    /// that forming x twice adds nothing.
    TESSERA_HOST_DEVICE void solve_triangle() {
        for (int i = restart - 1; i >= 0; --i) {
            T sum = 0;
            if (i < columns) {
                sum = right[i];
                for (int k = i + 1; k < columns; ++k) {
                    sum -= triangle[k * restart + i] * coefficients[k];
                }
                sum /= triangle[i * restart + i];
            }
            coefficients[i] = sum;
        }
        length = columns > 0 ? T(1) : T(0);
        columns = 0;
    }
};

/// Restarted GMRES (Saad and Schultz 1986), preconditioned from the right: with v_0 = r / ||r||,
///   w = A M^-1 v_j,  w -= V (V^T w) twice,  h = V^T w,  v_(j+1) = w / ||w||,
/// Givens rotations reduce the Hessenberg matrix to triangular form and give ||r|| without r. After
/// m inner steps, or at the end, x += M^-1 V y with R y = g, and r = b - A x.
template <class T>
class Gmres final : public Method<T> {
    using State = GmresState<T>;

  public:
    Gmres(const System<T>& system, int restart)
        : system_(system),
          restart_(int(std::min<Offset>(restart, system.size()))),
          basis_(system.context, system.size(), restart_ + 1),
          z_(system.context, system.preconditioner == nullptr ? 0 : system.size(), 1),
          state_(system.context, 1),
          scalars_(system.context, Offset(restart_) * (restart_ + 6) + 1) {
        T* next = scalars_.data();
        const auto take = [&next](Offset count) { return (next += count) - count; };
        const Offset m = restart_;
        host_.restart = restart_;
        host_.triangle = take(m * m);
        host_.right = take(m + 1);
        for (T** array :
             {&host_.cosines, &host_.sines, &host_.sums, &host_.column, &host_.coefficients}) {
            *array = take(m);
        }
        copy_from_host(system.context, std::span<const State>(&host_, 1), state_.view());
    }

    std::span<T> residual(int) override { return basis_(0, 0); }
    Recurrence<T>* recurrence(int) override { return &state_.data()->recurrence; }
    int period() const override { return restart_; }
    Offset products(Offset iterations) const override { return iterations + iterations / restart_; }

    void start(int, int) override { begin_cycle(); }

    void iterate(int j) override {
        const Context& context = system_.context;
        State* state = state_.data();
        const std::span<T> w = basis_(0, j + 1);
        const std::span<T> basis = basis_.vectors(0, 0, j + 1);
        system_.matrix.apply(context, system_.preconditioned(basis_(0, j), z_(0, 0)), w);
        for (const bool first : {true, false}) {
            dots<T>(context, j + 1, basis, w, host_.sums);
            run_step<&State::project>(context, state, j + 1, first);
            combine<T>(context, j + 1, basis, host_.coefficients, T(1), w);
        }
        dot<T>(context, w, w, &state->ww);
        run_step<&State::rotate>(context, state, j);
        axpby<T>(context, T(0), w, &state->scale, w);
        if (j + 1 < restart_) return;
        finish(0);
        system_.true_residual(0, system_.x[0], basis_(0, restart_), residual(0));
        begin_cycle();
    }

    bool keeps_x() const override { return false; }

    void finish(int) override {
        const Context& context = system_.context;
        const std::span<T> correction = basis_(0, restart_);
        run_step<&State::solve_triangle>(context, state_.data());
        combine<T>(context, restart_, basis_.vectors(0, 0, restart_), host_.coefficients, T(0),
                   correction);
        axpby<T>(context, &state_.data()->length, system_.preconditioned(correction, z_(0, 0)),
                 T(1), system_.x[0]);
    }

  private:
    void begin_cycle() {
        const Context& context = system_.context;
        dot<T>(context, residual(0), residual(0), &state_.data()->rr);
        run_step<&State::begin_cycle>(context, state_.data());
        axpby<T>(context, T(0), residual(0), &state_.data()->scale, residual(0));
    }

    System<T> system_;
    int restart_;
    VectorSet<T> basis_;  ///< v_0 .. v_m; the last one also holds V y and A x.
    VectorSet<T> z_;
    State host_{};  ///< Host copy of the state, for its pointers.
    Buffer<State> state_;
    Buffer<T> scalars_;
};

/// gmres as registered.
struct GmresConfig {
    static constexpr MethodTraits traits{.allows_left = true, .depends_on_size = true};
    int restart;

    explicit GmresConfig(Spec spec) : restart(int(spec.integer(0, 30, 1, 10000))) { spec.finish(); }
    template <class T>
    auto method(const System<T>& system) const {
        return std::make_unique<Gmres<T>>(system, restart);
    }
    /// A restart length above the number of rows is reduced; the triangle is stored in full.
    Offset numbers(Offset rows) const {
        const Offset m = std::min<Offset>(restart, rows);
        return rows * (2 + m) + m * m;
    }
};

}  // namespace tessera
