#include <numeric>

#include "base/dispatch.hpp"
#include "precond/incomplete/test_factor.hpp"

// Matrices with dense rows, whose lists are split into pieces on a GPU.

namespace tessera::incomplete {

template <class T, class... Arguments>
void run_triangular_product(const Context& context, const PatternView<T>& a,
                            Arguments... arguments) {
    TESSERA_RUN(triangular_product<T>, context, a, arguments...);
}

template <class T, class... Arguments>
void run_factor_product(const Context& context, const PatternView<T>& a, Arguments... arguments) {
    TESSERA_RUN(factor_product<T>, context, a, arguments...);
}

}  // namespace tessera::incomplete

namespace tessera::test {

namespace {

/// (I + V)^-T X (I + V)^-1 x by substitution, and a bound on the rounding errors of another code.
struct Substitution {
    std::vector<double> x, error;
    std::size_t k, terms;

    /// x_i = x_i - sum of V x_j over ascending (descending) block rows.
    void solve(const incomplete::NumericFactor<double>& factor, const std::vector<double>& v,
               const std::vector<Index>& rows, const std::vector<Index>& columns, bool upper) {
        std::vector<std::vector<std::size_t>> lists(std::size_t(factor.grid().block_rows));
        for (std::size_t b = 0; b < rows.size(); ++b) {
            lists[std::size_t(upper ? columns[b] : rows[b])].push_back(b);
        }
        for (std::size_t place = 0; place < lists.size(); ++place) {
            const std::size_t i = upper ? lists.size() - 1 - place : place;
            for (std::size_t r = 0; r < k; ++r) {
                const std::size_t own = i * k + r;
                double sum = x[own], size = std::abs(x[own]), carried = error[own];
                for (const std::size_t b : lists[i]) {
                    const auto other = std::size_t(upper ? rows[b] : columns[b]) * k;
                    for (std::size_t c = 0; c < k; ++c) {
                        const double value = v[b * k * k + (upper ? c + r * k : r + c * k)];
                        sum -= value * x[other + c];
                        size += std::abs(value * x[other + c]);
                        carried += std::abs(value) * error[other + c];
                    }
                }
                x[own] = sum;
                error[own] = carried + gamma<double>(double(terms)) * (size + carried);
            }
        }
    }
    void multiply(const std::vector<double>& inverses) {
        const auto from = x, before = error;
        for (std::size_t own = 0; own < x.size(); ++own) {
            x[own] = error[own] = 0;
            double size = 0;
            for (std::size_t c = 0; c < k; ++c) {
                const std::size_t other = own / k * k + c;
                const double value = inverses[other * k + own % k];
                x[own] += value * from[other];
                size += std::abs(value) * (std::abs(from[other]) + before[other]);
                error[own] += std::abs(value) * before[other];
            }
            error[own] += gamma<double>(double(terms)) * size;
        }
    }
};

/// Diagonal but for the dense rows d_1 = rows - 1 - k and d_2 = rows - 1, which are in block rows
/// of their own: the Schur complement of the pair is known.
template <class T>
void expect_dense_rows_are_eliminated(Index k) {
    auto random = generator();
    std::uniform_real_distribution<double> uniform(-1, 1);
    const Context device = context();
    const Index rows = 300 * k, first = rows - 1 - k, second = rows - 1;
    SymmetricEntries entries;
    long double schur[3] = {7, 2, 9}, sizes[3] = {7, 2, 9};  // (1, 1), (2, 1), (2, 2).
    for (Index i = 0; i < rows; ++i) {
        const T d = T(i % 2 == 0 ? 1.5 + 0.5 * uniform(random) : -1.5 - 0.5 * uniform(random));
        const T a = T(uniform(random)), b = T(uniform(random));
        entries[{i, i}] = d;
        if (i / k == first / k || i / k == second / k) continue;
        entries[{first, i}] = a;
        entries[{second, i}] = b;
        const long double products[3] = {static_cast<long double>(a) * a,
                                         static_cast<long double>(b) * a,
                                         static_cast<long double>(b) * b};
        for (int e = 0; e < 3; ++e) {
            schur[e] -= products[e] / d;
            sizes[e] += std::abs(products[e] / d);
        }
    }
    entries[{first, first}] = 7;
    entries[{second, first}] = 2;
    entries[{second, second}] = 9;
    const auto matrix = symmetric_csr<T>(rows, entries);
    std::vector<Index> slots(static_cast<std::size_t>(rows));
    std::iota(slots.begin(), slots.end(), 0);
    const auto make = [&](BlockLdltStage method) {
        return make_factor<T>(device, matrix.view(), k, slots, 0, method, 1e-30);
    };
    auto factor = make(BlockLdltStage::level), jacobi = make(BlockLdltStage::jacobi);
    factor.factor_by_levels(device);
    jacobi.start_sweeps();
    for (Index l = 0; l < jacobi.levels(); ++l) jacobi.sweep(device);
    expect_same_bits(device, factor.v(), jacobi.v(), "V");
    expect_same_bits(device, factor.factors(), jacobi.factors(), "F");

    // The columns of F for both rows, and the block of V between them.
    const HostGrid grid(device, factor.grid());
    const Index slot[2] = {grid.slot_of_column[std::size_t(first)],
                           grid.slot_of_column[std::size_t(second)]};
    std::vector<T> unit_vector(std::size_t(rows), T(0));
    unit_vector[std::size_t(slot[0])] = unit_vector[std::size_t(slot[1])] = 1;
    const auto x = copy_to_buffer(device, unit_vector);
    Buffer<T> y(device, rows);
    incomplete::run_factor_product(device, factor.view(), factor.factors().data(),
                                   factor.permutations().data(),
                                   factor.column_permutations().data(), x.data(), y.data());
    const auto f = copy_to_host(device, y);
    const auto v = copy_to_host(device, factor.v());
    // The last block of all is the one to check: only it is in the last nonempty block column.
    const T* const block = v.data() + (v.size() - std::size_t(k) * std::size_t(k));
    long double product = 0, size = 0;
    for (Index c = 0; c < k; ++c) {
        const auto value = static_cast<long double>(block[slot[1] % k + c * k]);
        product += value * f[std::size_t(slot[0] / k * k + c)];
        size += std::abs(value * f[std::size_t(slot[0] / k * k + c)]);
    }
    const long double rounding = gamma<T>(4 * double(rows));
    EXPECT_LE(std::abs(f[std::size_t(slot[0])] - schur[0]), rounding * sizes[0]) << "k = " << k;
    EXPECT_LE(std::abs(product - schur[1]), rounding * (sizes[1] + size)) << "k = " << k;
    const long double corrected = schur[2] - schur[1] * schur[1] / schur[0];
    const long double ratio = std::abs(schur[1] / schur[0]);
    EXPECT_LE(std::abs(f[std::size_t(slot[1])] - corrected),
              rounding * (sizes[2] + 2 * ratio * sizes[1] + ratio * ratio * sizes[0]) * 2)
        << "k = " << k;
}

/// The product added to b, and a bound on the rounding errors of another code.
struct Sums {
    std::vector<long double> sums, sizes;
    std::vector<double> terms;

    explicit Sums(std::size_t rows) : sums(rows, 0), sizes(rows, 0), terms(rows, 2) {}
    void add(std::size_t row, long double term) {
        sums[row] += term;
        sizes[row] += std::abs(term);
        terms[row] += 1;
    }
    template <class T>
    void expect_near(const std::vector<T>& y, const std::string& what) const {
        for (std::size_t s = 0; s < y.size(); ++s) {
            EXPECT_LE(std::abs(y[s] - sums[s]), gamma<T>(terms[s]) * sizes[s]) << what << ", " << s;
        }
    }
};

/// Products with V where the first or last block row is dense.
template <class T>
void expect_dense_rows_are_multiplied(Index k, bool dense_first) {
    auto random = generator();
    std::uniform_real_distribution<double> uniform(-1, 1);
    const Context device = context();
    const Index block_rows = 300, rows = block_rows * k, dense = dense_first ? k - 1 : rows - k;
    SymmetricEntries entries;
    for (Index i = 0; i < rows; ++i) {
        entries[{i, i}] = T(2 + uniform(random));
        if (i > 0) entries[{i, i - 1}] = T(uniform(random));
        if (i % 3 < 2) entries[{std::max(i, dense), std::min(i, dense)}] = T(uniform(random));
    }
    const auto matrix = symmetric_csr<T>(rows, entries);
    std::vector<Index> slots(static_cast<std::size_t>(rows));
    std::iota(slots.begin(), slots.end(), 0);
    auto factor = make_factor<T>(device, matrix.view(), k, slots, 0, BlockLdltStage::level, 1e-30);
    incomplete::PatternView<T> a = factor.view();
    Buffer<T> sums_of_pieces(
        device, Offset(std::max(a.split_rows.piece_count, a.split_columns.piece_count)) * k);
    a.split_rows.partial = a.split_columns.partial = sums_of_pieces.data();
    if (device.on_gpu()) {
        EXPECT_EQ(dense_first ? a.split_columns.count : a.split_rows.count, 1);
    }
    const std::string name = "k = " + std::to_string(k) + (dense_first ? ", first" : ", last");
    const auto x = random_vector<T>(random, std::size_t(rows));
    const auto device_x = copy_to_buffer(device, x);
    const auto blocks = std::size_t(a.blocks), square = std::size_t(k) * std::size_t(k);
    std::vector<Index> block_row(blocks), column(blocks);
    copy_to_host(device, std::span<const Index>(a.rows, blocks), std::span<Index>(block_row));
    copy_to_host(device, std::span<const Index>(a.columns, blocks), std::span<Index>(column));
    const auto v = random_vector<T>(random, blocks * square);
    const auto b = random_vector<T>(random, std::size_t(rows));
    const auto device_v = copy_to_buffer(device, v), device_b = copy_to_buffer(device, b);
    // All block rows, and all but the dense one.
    for (const auto& [first, last] :
         {std::pair(0, block_rows),
          dense_first ? std::pair(1, block_rows) : std::pair(0, block_rows - 1)}) {
        for (const bool upper : {false, true}) {
            Sums sums(x.size());
            for (std::size_t s = 0; s < x.size(); ++s) sums.add(s, b[s]);
            for (std::size_t e = 0; e < blocks * square; ++e) {
                const std::size_t block = e / square;
                const std::size_t i =
                    std::size_t(block_row[block] * k) + e % square % std::size_t(k);
                const std::size_t j = std::size_t(column[block] * k) + e % square / std::size_t(k);
                const std::size_t to = upper ? j : i, from = upper ? i : j;
                const auto item = Index(to) / k;
                if (item < first || item >= last) continue;
                sums.add(to, -2.0L * v[e] * x[from]);
            }
            Buffer<T> out = copy_to_buffer(device, b);
            incomplete::run_triangular_product(device, a, upper, Index(first), Index(last),
                                               device_v.data(), T(-2), device_x.data(),
                                               device_b.data(), out.data());
            sums.expect_near(copy_to_host(device, out), (upper ? "V^T x, " : "V x, ") + name);
        }
    }
}

}  // namespace

TEST(dense_rows, are_multiplied_with) {
    for (const bool dense_first : {false, true}) {
        for (const Index k : {1, 4, 8, 16, 32}) {
            expect_dense_rows_are_multiplied<double>(k, dense_first);
            expect_dense_rows_are_multiplied<float>(k, dense_first);
        }
    }
}

TEST(dense_rows, are_solved_with) {
    auto random = generator();
    const Context device = context();
    for (const Index k : {8, 16}) {
        for (const bool dense_first : {false, true}) {
            const Index rows = 300 * k, dense = dense_first ? 0 : rows - 1;
            SymmetricEntries entries = random_indefinite(random, rows, 0.2, 0);
            // Keeps the bound from growing along the rows.
            for (Index i = 0; i < rows; ++i) entries[{i, i}] *= 16;
            for (Index i = 0; i < rows; i += 2) {
                entries[{std::max(i, dense), std::min(i, dense)}] = i % 3 - 1.1;
            }
            std::vector<Index> slots(static_cast<std::size_t>(rows));
            std::iota(slots.begin(), slots.end(), 0);
            auto factor = make_factor(device, symmetric_csr<double>(rows, entries).view(), k, slots,
                                      0, BlockLdltStage::level, 0.1);
            factor.factor_by_levels(device);
            const auto r = random_vector<double>(random, std::size_t(rows));
            const std::vector<double> ones(r.size(), 1);
            const auto z = solve(device, factor, ones, 0, r);

            const auto blocks = std::size_t(factor.view().blocks);
            std::vector<Index> block_rows(blocks), columns(blocks);
            copy_to_host(device, std::span<const Index>(factor.view().rows, blocks),
                         std::span<Index>(block_rows));
            copy_to_host(device, std::span<const Index>(factor.view().columns, blocks),
                         std::span<Index>(columns));
            Substitution expected{std::vector<double>(r.size()), std::vector<double>(r.size(), 0),
                                  std::size_t(k), std::size_t(2 * rows)};
            const HostGrid grid(device, factor.grid());
            for (std::size_t s = 0; s < r.size(); ++s) {
                expected.x[s] = r[std::size_t(grid.slots[s])];
            }
            const auto v = copy_to_host(device, factor.v());
            expected.solve(factor, v, block_rows, columns, false);
            expected.multiply(copy_to_host(device, factor.inverses()));
            expected.solve(factor, v, block_rows, columns, true);
            double largest_z = 0, max_error = 0;
            for (std::size_t s = 0; s < r.size(); ++s) {
                const double found = z[std::size_t(grid.slots[s])];
                EXPECT_LE(std::abs(found - expected.x[s]), 2 * expected.error[s])
                    << "k = " << k << ", slot " << s;
                largest_z = std::max(largest_z, std::abs(found));
                max_error = std::max(max_error, expected.error[s]);
            }
            EXPECT_LT(max_error, 1e-3 * largest_z);
        }
    }
}

TEST(dense_rows, are_eliminated) {
    for (const Index k : {4, 8, 16}) expect_dense_rows_are_eliminated<double>(k);
    for (const Index k : {1, 8, 32}) expect_dense_rows_are_eliminated<float>(k);
}

}  // namespace tessera::test
