#pragma once

#include "krylov/test_systems.hpp"
#include "support/messages.hpp"
#include "tessera/amg.hpp"

namespace tessera::test {

/// A generated problem with the coordinates of its nodes: `along` cells on the first axis, `size`
/// on the others, each with the edges `stretch`. Without `dimensions` they are not given.
struct Body {
    std::string text;
    int block = 1, dimensions = 0;
    Index along = 0, size = 0;
    std::array<double, 3> stretch{1, 1, 1};
    bool clamped = true;

    NodeCoordinates points() const {
        std::vector<double> x;
        if (dimensions == 0) return {};
        for (Index i = clamped ? 1 : 0; i <= along; ++i) {
            for (Index j = 0; j <= size; ++j) {
                for (Index k = 0; k <= (dimensions == 3 ? size : 0); ++k) {
                    x.push_back(stretch[0] * i);
                    x.push_back(stretch[1] * j);
                    if (dimensions == 3) x.push_back(stretch[2] * k);
                }
            }
        }
        return {dimensions, std::move(x)};
    }
    CsrMatrix<double> matrix(const std::string& option = "") const {
        return problems::generate<double>(host(), Spec(text + option)).matrix;
    }
    AmgOptions options(bool single = true) const {
        AmgOptions made;
        made.block = block;
        made.coordinates = points();
        made.single_precision = single;
        return made;
    }
};

inline Body cube(Index size, const std::string& option = "") {
    return {"elasticity3d:" + std::to_string(size) + option, 3, 3, size, size};
}

/// Iterations of flexible CG to a true relative residual of 1e-8; -1: it does not converge.
inline Offset iterations(const CsrMatrix<double>& matrix, const Operator<double>& m) {
    const CsrOperator<double> a(context(), matrix.view());
    auto random = generator();
    const auto given = random_vector<double>(random, std::size_t(matrix.rows()));
    const Buffer<double> b = copy_to_buffer(context(), given);
    Buffer<double> x = copy_to_buffer(context(), std::vector<double>(given.size(), 0.0));
    const SolveReport report = solve<double>(context(), "fcg", a, &m, b.view(), x.view());
    EXPECT_LE(report.true_relative_residual, 1.001e-8);
    return report.status == Status::converged ? report.iterations : -1;
}

inline std::vector<double> applied(const Operator<double>& m, const std::vector<double>& r) {
    const Buffer<double> from = copy_to_buffer(context(), r);
    Buffer<double> to(context(), Offset(r.size()));
    m.apply(context(), from.view(), to.view());
    return copy_to_host(context(), to);
}

inline double product(const std::vector<double>& u, const std::vector<double>& v) {
    double sum = 0;
    for (std::size_t i = 0; i < u.size(); ++i) sum += u[i] * v[i];
    return sum;
}

}  // namespace tessera::test
