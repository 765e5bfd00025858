#pragma once

#include "precond/incomplete/test_general.hpp"
#include "support/messages.hpp"
#include "tessera/ilu.hpp"
#include "tessera/problems.hpp"

namespace tessera::test {

/// Convection and diffusion; its rows shifted by `shift`, cyclically.
inline CsrMatrix<double> convection(Index n, int strength, Index shift = 0) {
    auto matrix = problems::generate<double>(host(), Spec("convection2d:" + std::to_string(n) +
                                                          ",strength=" + std::to_string(strength)))
                      .matrix;
    if (shift == 0) return matrix;
    const Index rows = matrix.rows();
    const auto view = matrix.view();
    std::vector<std::vector<Index>> columns(static_cast<std::size_t>(rows));
    std::vector<std::vector<double>> values(columns.size());
    for (Index i = 0; i < rows; ++i) {
        const auto to = std::size_t((i + shift) % rows);
        for (Offset e = view.row_offsets[i]; e < view.row_offsets[i + 1]; ++e) {
            columns[to].push_back(view.column_indices[e]);
            values[to].push_back(view.values[e]);
        }
    }
    return make_csr(rows, rows, columns, values);
}

inline std::vector<double> apply(const Context& context, const Ilu<double>& ilu,
                                 const std::vector<double>& r, bool transposed = false) {
    const auto device = copy_to_buffer(context, r);
    Buffer<double> z(context, device.size());
    if (transposed) {
        ilu.apply_transposed(context, device.view(), z.view());
    } else {
        ilu.apply(context, device.view(), z.view());
    }
    return copy_to_host(context, z);
}

inline SolveReport solve_with(const Context& context, const CsrMatrix<double>& matrix,
                              const Operator<double>* preconditioner,
                              const char* solver = "gmres:50") {
    const auto b = copy_to_buffer(context, std::vector<double>(std::size_t(matrix.rows()), 1.0));
    Buffer<double> x(context, b.size());
    fill(context, 0.0, x.view());
    SolveOptions options;
    options.rtol = 1e-8;
    options.max_iterations = 500;
    return solve<double>(context, solver, CsrOperator<double>(context, matrix.view()),
                         preconditioner, b.view(), x.view(), options);
}

inline IluOptions options_of(const std::string& text) { return parse_ilu(Spec("ilu" + text)); }

inline double product_of(const std::vector<double>& x, const std::vector<double>& y) {
    return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
}

}  // namespace tessera::test
