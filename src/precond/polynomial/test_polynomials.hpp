#pragma once

#include "precond/polynomial/polynomial.hpp"
#include "support/blocks.hpp"

/// Systems and polynomials for tests.
namespace tessera::test {

struct Case {
    CsrMatrix<double> matrix;
    std::vector<double> load;
};

inline Case problem(const Context& device, const std::string& text) {
    auto made = problems::generate<double>(host(), Spec(text));
    return {copy_to(device, made.matrix.view()), std::move(made.load)};
}

template <class T>
PolynomialPreconditioner<T> make(const Context& device, const CsrView<T>& matrix,
                                 const std::string& text) {
    return {device, matrix, parse_polynomial(Spec(text))};
}

inline SolveReport solve(const Context& device, const Case& system,
                         const std::string& preconditioner, double rtol = 1e-8,
                         const char* solver = "cg") {
    const CsrOperator<double> a(device, system.matrix.view());
    const auto m = make_preconditioner<double>(device, Spec(preconditioner), system.matrix.view());
    const Buffer<double> b = copy_to_buffer(device, system.load);
    Buffer<double> x(device, system.matrix.rows());
    fill(device, 0.0, x.view());
    SolveOptions options;
    options.rtol = rtol;
    return tessera::solve<double>(device, Spec(solver), a, m.get(), b.view(), x.view(), options);
}

inline const std::vector<std::string> variants = {"neumann:4",
                                                  "neumann:3,lower=ratio:10",
                                                  "least_squares:6",
                                                  "least_squares:5,alpha=1,beta=0",
                                                  "chebyshev:6",
                                                  "chebyshev:4,lower=ritz",
                                                  "chebyshev4:6",
                                                  "chebyshev4_optimal:6",
                                                  "least_squares:6,scaling=none",
                                                  "least_squares:6,bound=gershgorin",
                                                  "least_squares:6,precision=f32",
                                                  "chebyshev:6,precision=f32,scaling=none",
                                                  "least_squares:6,format=sbell",
                                                  "least_squares:6,format=sell:32,precision=f32",
                                                  "least_squares:6,format=sbell:2,values=f32",
                                                  "chebyshev:6,values=bf16",
                                                  "chebyshev:6,precision=f32,values=f16"};

}  // namespace tessera::test
