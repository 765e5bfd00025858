#pragma once

#include <cmath>
#include <memory>

#include "tessera/tessera.hpp"

namespace tessera::bench::paper {

/// Iterative refinement (Cao, Zhang et al., sbell-polynomial-pcg-elasticity, Algorithm 5):
///   r = b - A x,  L c = r / ||r|| to a relative residual of 1e-3 by cg in single precision,
///   x += ||r|| c,
/// L the matrix A rounded to float; residuals and x are in double.
class Refinement {
  public:
    Refinement(const Context& context, const CsrView<double>& a, const Operator<double>& product,
               const PreconditionerConfig& preconditioner, const FormatOptions& format)
        : context_(context),
          product_(product),
          low_(rounded_to_float(context, a)),
          preconditioner_(preconditioner.make(context, low_.view(), {.format = format})),
          low_product_(make_operator(context, low_.view(), format)),
          solver_(parse_solver("cg")->make(context, *low_product_, preconditioner_.get())),
          square_(context, 1),
          r_(context, a.rows),
          low_r_(context, a.rows),
          low_c_(context, a.rows) {}

    /// Ends as stagnated where a correction reduces the residual by less than 10 %.
    SolveReport solve(std::span<const double> b, std::span<double> x, const SolveOptions& options) {
        SolveReport report;
        const double norm_b = norm(b);
        double length = residual_norm(b, x);
        while (length > options.rtol.value_or(default_rtol<double>) * norm_b &&
               report.status == Status::converged) {
            const SolveReport inner =
                correct(x, length, options.max_iterations - report.iterations);
            report.iterations += inner.iterations;
            report.operator_applications += inner.operator_applications + 1;
            report.seconds += inner.seconds;
            const double before = std::exchange(length, residual_norm(b, x));
            if (!(length < 0.9 * before)) report.status = Status::stagnated;
            if (report.iterations >= options.max_iterations) report.status = Status::max_iterations;
        }
        report.true_relative_residual = length / norm_b;
        return report;
    }

  private:
    double norm(std::span<const double> v) {
        double square = 0;
        dot<double>(context_, v, v, square_.data());
        copy_to_host(context_, std::as_const(square_).view(), std::span<double>(&square, 1));
        return std::sqrt(square);
    }
    double residual_norm(std::span<const double> b, std::span<const double> x) {
        product_.apply(context_, x, r_.view());
        axpby<double>(context_, 1.0, b, -1.0, r_.view());
        return norm(r_.view());
    }
    SolveReport correct(std::span<double> x, double length, Offset max_iterations) {
        SolveOptions options;
        options.rtol = 1e-3;
        options.max_iterations = max_iterations;
        axpby<double>(context_, 1 / length, r_.view(), 0.0, r_.view());
        convert<double, float>(context_, r_.view(), low_r_.view());
        fill(context_, 0.0F, low_c_.view());
        SolveReport report = solver_->solve(low_r_.view(), low_c_.view(), options);
        convert<float, double>(context_, low_c_.view(), r_.view());
        axpby<double>(context_, length, r_.view(), 1.0, x);
        return report;
    }

    const Context& context_;
    const Operator<double>& product_;
    CsrMatrix<float> low_;
    std::unique_ptr<Preconditioner<float>> preconditioner_;
    std::unique_ptr<Operator<float>> low_product_;
    std::unique_ptr<IterativeSolver<float>> solver_;
    Buffer<double> square_, r_;
    Buffer<float> low_r_, low_c_;
};

}  // namespace tessera::bench::paper
