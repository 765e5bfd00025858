#include "precond/multigrid/symmetric_part/symmetric_part.hpp"

#include <algorithm>

#include "support/messages.hpp"
#include "tessera/krylov.hpp"
#include "tessera/precond.hpp"
#include "tessera/problems.hpp"

namespace tessera::test {

namespace {

/// Keeps a copy of the matrix that it is set up with.
class Recorder final : public Preconditioner<double> {
  public:
    Recorder(const Context& context, const CsrView<double>& matrix)
        : matrix_(copy_to_host(context, matrix)) {}
    Index rows() const override { return matrix_.rows(); }
    Index columns() const override { return matrix_.rows(); }
    void apply(const Context&, std::span<const double>, std::span<double>) const override {}
    void update(const Context& context, const CsrView<double>& matrix) override {
        matrix_ = copy_to_host(context, matrix);
    }
    std::string describe() const override { return "recorder"; }
    const CsrMatrix<double>& matrix() const { return matrix_; }

  private:
    CsrMatrix<double> matrix_;
};

std::vector<std::vector<double>> dense(const CsrView<double>& a) {
    std::vector<std::vector<double>> rows(std::size_t(a.rows),
                                          std::vector<double>(std::size_t(a.rows), 0));
    for (Index i = 0; i < a.rows; ++i) {
        for (Offset e = a.row_offsets[i]; e < a.row_offsets[i + 1]; ++e) {
            rows[std::size_t(i)][std::size_t(a.column_indices[e])] = a.values[e];
        }
    }
    return rows;
}

/// About four entries per row, of which the transpose has few.
CsrMatrix<double> random_matrix(std::mt19937_64& random, Index rows) {
    std::vector<std::vector<Index>> columns(static_cast<std::size_t>(rows));
    std::vector<std::vector<double>> values(columns.size());
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (auto& list : columns) {
        for (int e = 0; e < 4; ++e) list.push_back(Index(random() % std::uint64_t(rows)));
        std::ranges::sort(list);
        list.erase(std::unique(list.begin(), list.end()), list.end());
    }
    for (std::size_t i = 0; i < columns.size(); ++i) {
        for (std::size_t e = 0; e < columns[i].size(); ++e) values[i].push_back(uniform(random));
    }
    return make_csr(rows, rows, columns, values);
}

Index iterations_of(const Context& device, const CsrMatrix<double>& matrix, const char* text) {
    const auto m = make_preconditioner<double>(device, text, matrix.view());
    const auto b = copy_to_buffer(device, std::vector<double>(std::size_t(matrix.rows()), 1.0));
    Buffer<double> x(device, b.size());
    fill(device, 0.0, x.view());
    SolveOptions options;
    options.rtol = 1e-8;
    const auto report =
        solve<double>(device, "gmres:50", CsrOperator<double>(device, matrix.view()), m.get(),
                      b.view(), x.view(), options);
    EXPECT_EQ(report.status, Status::converged) << text;
    return Index(report.iterations);
}

}  // namespace

TEST(symmetric_part, is_the_mean_with_the_transpose) {
    auto random = generator();
    const Context device = context();
    auto given = random_matrix(random, 150);
    const auto matrix = copy_to(device, given.view());
    const Recorder* recorder = nullptr;
    OfSymmetricPart<double> m(device, matrix.view(), [&](const CsrView<double>& part) {
        auto made = std::make_unique<Recorder>(device, part);
        recorder = made.get();
        return made;
    });
    const auto check = [&] {
        const auto a = dense(given.view()), s = dense(recorder->matrix().view());
        for (std::size_t i = 0; i < a.size(); ++i) {
            for (std::size_t j = 0; j < a.size(); ++j) {
                EXPECT_EQ(s[i][j], 0.5 * a[i][j] + 0.5 * a[j][i]) << i << ' ' << j;
            }
        }
    };
    check();
    for (double& value : given.values().view()) value = 1 - 3 * value;
    m.update(device, copy_to(device, given.view()).view());
    check();
    const auto other = random_matrix(random, 150);
    expect_contains(message_of([&] { m.update(device, copy_to(device, other.view()).view()); }),
                    "pattern");
    check();
    EXPECT_EQ(m.describe(), "recorder,symmetric_part=on");
}

TEST(symmetric_part, multigrid_for_mild_convection) {
    const Context device = context();
    Index before = 0;
    for (const char* text : {"recirculation:40,peclet=10", "recirculation:80,peclet=10"}) {
        const auto matrix =
            copy_to(device, problems::generate<double>(host(), Spec(text)).matrix.view());
        const Index iterations = iterations_of(device, matrix, "amg,symmetric_part=on,coarse=100");
        EXPECT_LT(2 * iterations, iterations_of(device, matrix, "jacobi")) << text;
        // They hardly grow with the size.
        if (before > 0) {
            EXPECT_LE(iterations, before + before / 4 + 1);
        }
        before = iterations;
    }
}

TEST(symmetric_part, of_a_symmetric_matrix_changes_nothing) {
    const Context device = context();
    const auto matrix =
        copy_to(device, problems::generate<double>(host(), Spec("poisson2d:30")).matrix.view());
    const auto plain = make_preconditioner<double>(device, "amg", matrix.view());
    const auto part = make_preconditioner<double>(device, "amg,symmetric_part=on", matrix.view());
    EXPECT_EQ(part->describe(), plain->describe() + ",symmetric_part=on");
    auto random = generator();
    const auto r = copy_to_buffer(device, random_vector<double>(random, 900));
    Buffer<double> y(device, 900), z(device, 900);
    plain->apply(device, r.view(), y.view());
    part->apply(device, r.view(), z.view());
    EXPECT_EQ(copy_to_host(device, y), copy_to_host(device, z));
}

}  // namespace tessera::test
