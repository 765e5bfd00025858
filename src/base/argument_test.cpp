#include <limits>

#include "support/test.hpp"
#include "tessera/tessera.hpp"

namespace tessera::test {
namespace {

/// InvalidArgument::argument of what f() throws; "accepted" if it throws nothing.
template <class F>
std::string argument_of(F&& f) {
    try {
        f();
    } catch (const InvalidArgument& error) {
        return error.argument();
    }
    return "accepted";
}

/// 2 rows, diagonal `a` and `b`; `columns` may be wrong.
CsrMatrix<double> diagonal(const Context& cpu, double a, double b, Index columns = 2) {
    CsrMatrix<double> matrix(cpu, 2, columns, 2);
    for (Index i = 0; i < 2; ++i) {
        matrix.row_offsets().view()[std::size_t(i)] = i;
        matrix.column_indices().view()[std::size_t(i)] = i;
    }
    matrix.row_offsets().view()[2] = 2;
    matrix.values().view()[0] = a;
    matrix.values().view()[1] = b;
    return matrix;
}

TEST(argument, texts_are_named_with_all_their_options) {
    EXPECT_EQ(argument_of([] { parse_solver("no"); }), "solver");
    EXPECT_EQ(argument_of([] { parse_solver("gmres:0"); }), "solver");
    EXPECT_EQ(argument_of([] { parse_preconditioner("no"); }), "preconditioner");
    EXPECT_EQ(argument_of([] { parse_preconditioner("amg,blocks=3"); }), "preconditioner");
    EXPECT_EQ(argument_of([] { parse_preconditioner("chebyshev,format=no"); }), "format");
    EXPECT_EQ(argument_of([] { parse_format("sell,slice=0"); }), "format");
}

TEST(argument, matrices_and_vectors_are_named) {
    const Context cpu = Context::cpu(1);
    const CsrMatrix<double> square = diagonal(cpu, 1, 2), wide = diagonal(cpu, 1, 2, 3);
    EXPECT_EQ(argument_of([&] { make_preconditioner(cpu, "jacobi", wide); }), "matrix");
    EXPECT_EQ(argument_of([&] { validate(diagonal(cpu, 1, NAN).view()); }), "matrix");
    const CsrOperator<double> a(cpu, square.view());
    const auto config = parse_solver("cg");
    const auto solver = config->make(cpu, a, nullptr);
    std::vector<double> two(2), x(2), three(3);
    const auto solve = [&](std::vector<double>& b, std::vector<double>& to, bool left = false) {
        SolveOptions options;
        options.left_preconditioning = left;
        solver->solve(std::span<const double>(b), std::span<double>(to), options);
    };
    EXPECT_EQ(argument_of([&] { solve(three, two); }), "b");
    EXPECT_EQ(argument_of([&] { solve(two, three); }), "x");
    EXPECT_EQ(argument_of([&] { solve(two, two); }), "x");
    EXPECT_EQ(argument_of([&] { solve(two, x, true); }), "left_preconditioning");
    EXPECT_EQ(argument_of([&] { solve(two, x); }), "accepted");
}

TEST(argument, options_of_multigrid_are_named) {
    const Context cpu = Context::cpu(1);
    const CsrMatrix<double> matrix = diagonal(cpu, 1, 2);
    const auto make = [&](auto&& change) {
        return argument_of([&] {
            AmgOptions options;
            change(options);
            const Amg<double> amg(cpu, matrix.view(), options);
        });
    };
    EXPECT_EQ(make([](AmgOptions& o) { o.block = 9; }), "block");
    EXPECT_EQ(make([](AmgOptions& o) { o.block = 3; }), "block");
    EXPECT_EQ(make([](AmgOptions& o) { o.near_null = NearNullSpace{1, {1}}; }), "near_null");
    EXPECT_EQ(make([](AmgOptions&) {}), "accepted");
}

TEST(argument, a_name_is_added_to_errors_of_derived_classes) {
    const Context cpu = Context::cpu(1);
    const CsrMatrix<double> negative = diagonal(cpu, 1, -2);
    try {
        make_preconditioner(cpu, "amg", negative);
        FAIL();
    } catch (const NotPositiveDefinite& error) {
        EXPECT_STREQ(error.argument(), "preconditioner");
    }
}

}  // namespace
}  // namespace tessera::test
