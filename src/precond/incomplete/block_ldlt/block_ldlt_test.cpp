#include <numeric>

#include "precond/incomplete/test_symmetric.hpp"
#include "support/messages.hpp"

namespace tessera::test {

namespace {

/// An interior-point system [-H J^T; J 0] near the end of the iteration: H diagonal over 8 decades,
/// rows of J with three entries +-1, and one per column.
CsrMatrix<double> optimisation_system(std::mt19937_64& random, Index variables, Index constraints) {
    std::uniform_real_distribution<double> exponent(-4, 4);
    SymmetricEntries entries;
    for (Index j = 0; j < variables; ++j) entries[{j, j}] = -std::pow(10.0, exponent(random));
    for (Index i = 0; i < constraints; ++i) {
        for (int e = 0; e < 3; ++e) {
            const Index j = Index(random() % std::uint64_t(variables));
            entries[{variables + i, j}] = random() % 2 == 0 ? 1 : -1;
        }
    }
    for (Index j = 0; j < variables; ++j) {
        entries[{variables + Index(random() % std::uint64_t(constraints)), j}] = 1;
    }
    return symmetric_csr<double>(variables + constraints, entries);
}

/// The five-point Laplacian of an n x n grid minus `shift`.
CsrMatrix<double> shifted_laplacian(Index n, double shift) {
    SymmetricEntries entries;
    for (Index x = 0; x < n; ++x) {
        for (Index y = 0; y < n; ++y) {
            entries[{x * n + y, x * n + y}] = 4 - shift;
            if (y > 0) entries[{x * n + y, x * n + y - 1}] = -1;
            if (x > 0) entries[{x * n + y, x * n + y - n}] = -1;
        }
    }
    return symmetric_csr<double>(n * n, entries);
}

/// A x for a random x; both in the memory of the Context.
template <class T>
Buffer<T> right_hand_side(const Context& context, const CsrMatrix<T>& matrix,
                          std::mt19937_64& random) {
    const auto x = copy_to_buffer(context, random_vector<T>(random, std::size_t(matrix.rows())));
    Buffer<T> b(context, x.size());
    CsrOperator<T>(context, matrix.view()).apply(context, x.view(), b.view());
    return b;
}

SolveReport solve_with(const Context& context, const CsrMatrix<double>& matrix,
                       const Operator<double>* preconditioner, const Buffer<double>& b,
                       double rtol = 1e-10) {
    Buffer<double> x(context, b.size());
    fill(context, 0.0, x.view());
    SolveOptions options;
    options.rtol = rtol;
    options.max_iterations = 100;
    return solve<double>(context, "gmres:25", CsrOperator<double>(context, matrix.view()),
                         preconditioner, b.view(), x.view(), options);
}

/// z = M^-1 r.
std::vector<double> apply(const Context& context, const Operator<double>& ldlt,
                          const std::vector<double>& r) {
    const auto device = copy_to_buffer(context, r);
    Buffer<double> z(context, device.size());
    ldlt.apply(context, device.view(), z.view());
    return copy_to_host(context, z);
}

BlockLdltOptions options_of(const std::string& text) {
    return parse_block_ldlt(Spec("block_ldlt" + text));
}

}  // namespace

TEST(block_ldlt, solves_an_optimisation_system) {
    auto random = generator();
    const Context device = context();
    const auto matrix = copy_to(device, optimisation_system(random, 600, 300).view());
    const auto b = right_hand_side(device, matrix, random);
    for (const char* text :
         {":8,method=level", ":8", ":16", ":4,fill=1", ":4,fill=2,ordering=rcm",
          ":32,ordering=natural", ":8,pivoting=rook", ":8,fill=1,solve_sweeps=200"}) {
        const BlockLdlt<double> ldlt(device, matrix.view(), options_of(text));
        const auto report = solve_with(device, matrix, &ldlt, b);
        EXPECT_EQ(report.status, Status::converged)
            << text << ": " << report.true_relative_residual << "; " << ldlt.report().outcome;
    }
}

TEST(block_ldlt, matching_gains_three_digits) {
    auto random = generator();
    const Context device = context();
    const auto matrix = copy_to(device, optimisation_system(random, 600, 300).view());
    const auto b = right_hand_side(device, matrix, random);
    const auto residual = [&](const std::string& text) {
        const BlockLdlt<double> ldlt(device, matrix.view(), options_of(text + ",safeguard=off"));
        return solve_with(device, matrix, &ldlt, b, 1e-14).true_relative_residual;
    };
    for (const std::string method : {",method=level,epsilon=1e-8", ",method=jacobi"}) {
        EXPECT_LT(1000 * residual(":8" + method), residual(":8,matching=off" + method)) << method;
    }
}

TEST(block_ldlt, sweeps_come_close_to_the_level_factor) {
    auto random = generator();
    const Context device = context();
    const auto matrix = copy_to(device, optimisation_system(random, 1000, 500).view());
    const auto b = right_hand_side(device, matrix, random);
    const BlockLdlt<double> jacobi(device, matrix.view(), options_of(":8"));
    const BlockLdlt<double> level(device, matrix.view(), options_of(":8,method=level"));
    EXPECT_EQ(jacobi.report().stage, BlockLdltStage::jacobi) << jacobi.report().outcome;
    EXPECT_GT(level.report().levels, jacobi.report().sweeps);
    const double by_sweeps = solve_with(device, matrix, &jacobi, b).true_relative_residual;
    const double by_levels = solve_with(device, matrix, &level, b).true_relative_residual;
    EXPECT_LT(std::max(by_sweeps, 1e-8), 10 * std::max(by_levels, 1e-8));
}

TEST(block_ldlt, is_never_worse_than_none) {
    auto random = generator();
    const Context device = context();
    // Indefinite and wave-like: sweeps diverge, and without fill no factor is useful.
    int left_out = 0;
    for (const double shift : {0.36, 0.8, 3.9}) {
        const auto matrix = copy_to(device, shifted_laplacian(36, shift).view());
        const auto b = right_hand_side(device, matrix, random);
        const double none = solve_with(device, matrix, nullptr, b).true_relative_residual;
        for (const char* text : {":8", ":8,method=level", ":32,fill=1"}) {
            const BlockLdlt<double> ldlt(device, matrix.view(), options_of(text));
            const double with = solve_with(device, matrix, &ldlt, b).true_relative_residual;
            // Within a third of a digit: a probe runs a quarter of the steps.
            EXPECT_LE(with, 2 * none) << text << ": " << ldlt.report().outcome;
        }
        for (const char* text : {":8", ":8,ordering=amd"}) {
            const BlockLdlt<double> ldlt(device, matrix.view(), options_of(text));
            // A stage left out without a probe is one after the last restart.
            left_out += ldlt.report().probe[0] < 0;
            EXPECT_TRUE(ldlt.report().probe[0] >= 0 || ldlt.report().restarts == 2) << text;
            EXPECT_GT(ldlt.report().probe_products, 0) << text;
        }
    }
    EXPECT_GT(left_out, 0);
}

TEST(block_ldlt, complete_fill_is_a_direct_solver) {
    auto random = generator();
    const Context device = context();
    for (const char* text : {":4", ":8,pivoting=bunch_kaufman", ":16,pivoting=rook", ":1"}) {
        const auto matrix = copy_to(device, shifted_laplacian(20, 0.5).view());
        const auto b = right_hand_side(device, matrix, random);
        const BlockLdlt<double> ldlt(device, matrix.view(),
                                     options_of(text + std::string(",fill=1000,method=level")));
        const auto report = solve_with(device, matrix, &ldlt, b);
        EXPECT_EQ(report.status, Status::converged) << text;
        EXPECT_LE(report.iterations, 3) << text << ": " << ldlt.report().outcome;
    }
}

TEST(block_ldlt, large_factors_are_refused) {
    const auto matrix = copy_to(context(), shifted_laplacian(40, 0.5).view());
    BlockLdltOptions options = options_of(":4,fill=3,method=level");
    const BlockLdlt<double> made(context(), matrix.view(), options);
    const double growth = double(made.report().stored_blocks) * 16 / double(matrix.nonzeros());
    options.max_growth = growth;
    EXPECT_NO_THROW(BlockLdlt<double>(context(), matrix.view(), options));
    options.max_growth = 0.5 * growth;
    EXPECT_THROW(BlockLdlt<double>(context(), matrix.view(), options), OutOfMemory);
}

// Negligible entries in one triangle only, on both sides of the diagonal.
TEST(block_ldlt, entries_without_a_mirror_image_do_no_harm) {
    auto random = generator();
    const Context device = context();
    const Index n = 60;
    std::vector<std::vector<Index>> pattern(static_cast<std::size_t>(n));
    std::vector<std::vector<double>> values(pattern.size());
    for (Index i = 0; i < n; ++i) {
        for (Index j = 0; j < n; ++j) {
            const bool unpaired = (j == i + 7 && i % 2 == 0) || (i == j + 11 && i % 3 == 0);
            if (std::abs(i - j) > 1 && !unpaired) continue;
            pattern[std::size_t(i)].push_back(j);
            values[std::size_t(i)].push_back(unpaired ? 1e-16 : i == j ? i % 4 - 1.5 : 1);
        }
    }
    const auto matrix = copy_to(device, make_csr(n, n, pattern, values).view());
    const auto b = right_hand_side(device, matrix, random);
    for (const char* text : {":4,method=level,fill=1000", ":8", ":1,method=level,ordering=amd",
                             ":8,ordering=rcm,outer=on"}) {
        BlockLdlt<double> ldlt(device, matrix.view(), options_of(text));
        ldlt.update(device, matrix.view());
        const auto report = solve_with(device, matrix, &ldlt, b);
        EXPECT_EQ(report.status, Status::converged) << text << ": " << ldlt.report().outcome;
    }
}

TEST(block_ldlt, matrices_of_all_kinds) {
    auto random = generator();
    const Context device = context();
    const auto random_matrix = [&](Index rows) { return random_indefinite(random, rows, 2); };
    SymmetricEntries diagonal, dense_row, tiny = random_matrix(30), huge = random_matrix(30);
    for (Index i = 0; i < 30; ++i) {
        diagonal[{i, i}] = i % 2 == 0 ? 3.0 : -0.25;
        dense_row[{29, i}] = 1;
        dense_row[{i, i}] = i % 3 == 0 ? 0 : 2;
        tiny[{i, i}] += 0.5;
        huge[{i, i}] += 0.5;
    }
    for (auto& [place, value] : tiny) value *= 1e-200;
    for (auto& [place, value] : huge) value *= 1e200;
    SymmetricEntries singular{{{0, 0}, 1.0}, {{1, 0}, 1.0}, {{1, 1}, 1.0}, {{2, 2}, 1.0}};
    SymmetricEntries structurally{{{3, 0}, 1.0}, {{3, 1}, 1.0}, {{3, 2}, 1.0}};
    const std::vector<std::pair<Index, SymmetricEntries>> cases{
        {0, {}},           {1, {{{0, 0}, -2.0}}},
        {1, {}},           {30, diagonal},
        {30, dense_row},   {30, tiny},
        {30, huge},        {3, singular},
        {4, structurally}, {100, random_matrix(40)}};
    for (std::size_t c = 0; c < cases.size(); ++c) {
        for (const char* text : {":4", ":1,method=level", ":32,fill=1", ":8,matching=off"}) {
            SCOPED_TRACE("case " + std::to_string(c) + ' ' + text);
            const auto matrix =
                copy_to(device, symmetric_csr<double>(cases[c].first, cases[c].second).view());
            const BlockLdlt<double> ldlt(device, matrix.view(), options_of(text));
            EXPECT_EQ(ldlt.rows(), cases[c].first);
            const std::vector<double> r(std::size_t(ldlt.rows()), 1);
            for (const double number : apply(device, ldlt, r)) {
                EXPECT_TRUE(std::isfinite(number));
            }
        }
    }
    const auto matrix = copy_to(device, symmetric_csr<double>(30, diagonal).view());
    const BlockLdlt<double> exact(device, matrix.view(), options_of(":4"));
    const auto z = apply(device, exact, std::vector<double>(30, 1));
    for (std::size_t i = 0; i < 30; ++i) {
        const double expected = i % 2 == 0 ? 1.0 / 3 : -4;
        EXPECT_LE(std::abs(z[i] - expected), gamma<double>(20) * std::abs(expected));
    }
}

TEST(block_ldlt, serves_minres_and_sqmr) {
    auto random = generator();
    const Context device = context();
    const auto matrix = copy_to(device, optimisation_system(random, 600, 300).view());
    const auto b = right_hand_side(device, matrix, random);
    SolveOptions options;
    options.max_iterations = 400;
    for (const auto& [solver, text] :
         {std::pair("sqmr", ":8"),
          std::pair("minres", ":8,fill=1,method=level,positive_definite")}) {
        const BlockLdlt<double> ldlt(device, matrix.view(), options_of(text));
        Buffer<double> x(device, b.size());
        fill(device, 0.0, x.view());
        const auto report =
            solve<double>(device, Spec(solver), CsrOperator<double>(device, matrix.view()), &ldlt,
                          b.view(), x.view(), options);
        EXPECT_EQ(report.status, Status::converged)
            << solver << ' ' << text << ": " << report.true_relative_residual << "; "
            << report.message << ldlt.report().outcome;
    }
}

TEST(block_ldlt, probes_see_signed_pivots) {
    auto random = generator();
    const Context device = context();
    const auto matrix = copy_to(device, optimisation_system(random, 600, 300).view());
    const BlockLdlt<double> plain(device, matrix.view(), options_of(":8"));
    const BlockLdlt<double> absolute(device, matrix.view(), options_of(":8,positive_definite"));
    EXPECT_EQ(plain.report().outcome, absolute.report().outcome);
    EXPECT_NE(absolute.report().stage, BlockLdltStage::none) << absolute.report().outcome;
    // The applied operator is still positive definite, also after an update.
    BlockLdlt<double> updated(device, matrix.view(), options_of(":8,positive_definite"));
    updated.update(device, matrix.view());
    bool negative = false;
    for (int vector = 0; vector < 50; ++vector) {
        const auto r = random_vector<double>(random, 900);
        const auto form = [&](const BlockLdlt<double>& ldlt) {
            const auto z = apply(device, ldlt, r);
            return std::inner_product(r.begin(), r.end(), z.begin(), 0.0);
        };
        EXPECT_GT(form(absolute), 0);
        EXPECT_GT(form(updated), 0);
        negative = negative || form(plain) < 0;
    }
    EXPECT_TRUE(negative);
}

TEST(block_ldlt, single_precision) {
    auto random = generator();
    const Context device = context();
    const auto matrix =
        copy_to(device, symmetric_csr<float>(300, random_indefinite(random, 300, 1, 0)).view());
    const auto b = right_hand_side(device, matrix, random);
    Buffer<float> x(device, b.size());
    fill(device, 0.0f, x.view());
    const BlockLdlt<float> ldlt(device, matrix.view(), options_of(":8,fill=1000,method=level"));
    SolveOptions options;
    options.rtol = 1e-4;
    options.max_iterations = 25;
    const auto report = solve<float>(device, "gmres:25", CsrOperator<float>(device, matrix.view()),
                                     &ldlt, b.view(), x.view(), options);
    EXPECT_EQ(report.status, Status::converged) << ldlt.report().outcome;
}

TEST(block_ldlt, update_takes_new_values) {
    auto random = generator();
    const Context device = context();
    auto matrix = optimisation_system(random, 120, 60);
    const auto r = random_vector<double>(random, 180);
    BlockLdlt<double> ldlt(device, copy_to(device, matrix.view()).view(), options_of(":8"));
    const auto before = apply(device, ldlt, r);
    for (double& value : matrix.values().view()) value *= 2;
    ldlt.update(device, copy_to(device, matrix.view()).view());
    const auto after = apply(device, ldlt, r);
    // A power of two scales every sum exactly, but the threshold's unit scales as well.
    for (std::size_t i = 0; i < r.size(); ++i) EXPECT_EQ(after[i], before[i] / 2);
    for (double& value : matrix.values().view()) value /= 2;
    ldlt.update(device, copy_to(device, matrix.view()).view());
    EXPECT_EQ(apply(device, ldlt, r), before);
}

TEST(block_ldlt, update_with_values_in_other_units_is_a_setup) {
    auto random = generator();
    const Context device = context();
    const auto matrix = optimisation_system(random, 120, 60);
    const auto r = random_vector<double>(random, 180);
    auto scaled = copy_to(host(), matrix.view());
    const auto a = scaled.view();
    const auto unit = [](Index i) { return std::ldexp(1.0, 6 * (i % 7) - 18); };
    for (Index i = 0; i < a.rows; ++i) {
        for (Offset e = a.row_offsets[i]; e < a.row_offsets[i + 1]; ++e) {
            scaled.values().data()[e] *= unit(i) * unit(a.column_indices[e]);
        }
    }
    const auto first = copy_to(device, matrix.view()), other = copy_to(device, scaled.view());
    BlockLdlt<double> ldlt(device, first.view(), options_of(":8"));
    const auto before = apply(device, ldlt, r);
    ldlt.update(device, other.view());
    const BlockLdlt<double> anew(device, other.view(), options_of(":8"));
    EXPECT_EQ(apply(device, ldlt, r), apply(device, anew, r));
    std::ranges::fill(scaled.values().view(), 0.0);
    ldlt.update(device, copy_to(device, scaled.view()).view());
    ldlt.update(device, first.view());
    EXPECT_EQ(apply(device, ldlt, r), before);
}

TEST(block_ldlt, update_rejects_other_patterns_and_unsymmetric_values) {
    auto random = generator();
    const Context device = context();
    const auto matrix = symmetric_csr<double>(
        40, {{{0, 0}, 1.0}, {{1, 1}, 2.0}, {{3, 1}, 1.0}, {{39, 20}, -1.0}, {{30, 20}, 2.0}});
    const auto r = random_vector<double>(random, 40);
    BlockLdlt<double> ldlt(device, copy_to(device, matrix.view()).view(), options_of(":4"));
    const auto before = apply(device, ldlt, r);
    const auto error_message = [&](const CsrMatrix<double>& other) {
        return message_of([&] { ldlt.update(device, copy_to(device, other.view()).view()); });
    };
    // Equal numbers of entries in other positions: in another row, in another column, as many in
    // each row.
    for (const SymmetricEntries& other : std::vector<SymmetricEntries>{
             {{{0, 0}, 1.0}, {{2, 2}, 2.0}, {{3, 1}, 1.0}, {{39, 20}, -1.0}, {{30, 20}, 2.0}},
             {{{0, 0}, 1.0}, {{1, 1}, 2.0}, {{3, 1}, 1.0}, {{39, 20}, -1.0}, {{31, 20}, 2.0}},
             {{{1, 0}, 1.0}, {{1, 1}, 2.0}, {{3, 3}, 1.0}, {{39, 20}, -1.0}, {{30, 20}, 2.0}},
             {{{0, 0}, 1.0}, {{1, 1}, 2.0}}}) {
        EXPECT_NE(error_message(symmetric_csr<double>(40, other)).find("pattern"),
                  std::string::npos);
    }
    auto unsymmetric = copy_to(host(), matrix.view());
    unsymmetric.values().data()[unsymmetric.nonzeros() - 1] += 1e-6;
    EXPECT_NE(error_message(unsymmetric).find("not symmetric"), std::string::npos);
    EXPECT_EQ(apply(device, ldlt, r), before);
    EXPECT_EQ(error_message(matrix), "accepted");
}

TEST(block_ldlt, applies_inside_a_graph) {
    auto random = generator();
    const Context device = context();
    const auto matrix = copy_to(device, optimisation_system(random, 600, 300).view());
    for (const char* text : {":8", ":8,solve_sweeps=3"}) {
        const BlockLdlt<double> ldlt(device, matrix.view(), options_of(text));
        const auto r = right_hand_side(device, matrix, random);
        Buffer<double> z(device, r.size());
        const auto expected = apply(device, ldlt, copy_to_host(device, r));
        const auto graph = device.capture([&] { ldlt.apply(device, r.view(), z.view()); });
        for (int run = 0; run < 2; ++run) {
            graph();
            EXPECT_EQ(copy_to_host(device, z), expected) << text;
        }
    }
}

TEST(block_ldlt, rejects_with_a_reason) {
    const Context device = context();
    const auto says = [&](const CsrMatrix<double>& matrix, const char* text, const char* what) {
        const std::string found = message_of([&] {
            BlockLdlt<double>(device, copy_to(device, matrix.view()).view(), options_of(text));
        });
        EXPECT_NE(found.find(what), std::string::npos) << found;
    };
    const auto values = make_csr<double>(2, 2, {{0, 1}, {0, 1}}, {{1, 2}, {3, 1}});
    const auto pattern = make_csr<double>(2, 2, {{0, 1}, {1}}, {{1, 2}, {1}});
    for (const char* text : {":8", ":8,matching=off"}) {
        says(values, text, "not symmetric");
        says(pattern, text, "not symmetric");
        says(make_csr<double>(1, 2, {{0}}, {{1}}), text, "square");
    }
    SymmetricEntries entries;
    for (Index i = 0; i < 96; ++i) {
        for (Index j = 0; j <= i; ++j) entries[{i, j}] = 1.0 / (1 + i + j);
    }
    const auto dense = copy_to(device, symmetric_csr<double>(96, entries).view());
    // 96 rows cannot exhaust memory; the report shows that the bytes are counted.
    const BlockLdlt<double> ldlt(device, dense.view(), options_of(":8,fill=1000"));
    EXPECT_EQ(ldlt.report().stored_blocks, 12 * 13 / 2);
    EXPECT_EQ(ldlt.report().updates, 12 * 11 * 10 / 6);
    EXPECT_GT(ldlt.report().bytes, ldlt.report().stored_blocks * 64 * 5 * 8);
}

}  // namespace tessera::test
