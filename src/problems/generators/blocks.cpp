#include <numeric>

#include "problems/generators/generators.hpp"

namespace tessera::problems {

namespace {

/// The numbers of "LOW-HIGH", or one number for both.
std::pair<Index, Index> size_range(Spec& spec) {
    constexpr Index largest = 4096;
    const std::string text = spec.word("sizes", "1-32");
    const std::size_t dash = text.find('-', 1);
    std::int64_t low = 0;
    std::int64_t high = 0;
    const bool numbers =
        parse_integer(text.substr(0, dash), low).empty() &&
        parse_integer(dash < text.size() ? text.substr(dash + 1) : text, high).empty();
    require(numbers && low >= 1 && high >= low && high <= largest, spec.name(), ": sizes=", text,
            " is not LOW-HIGH with 1 <= LOW <= HIGH <= ", largest, ", for example sizes=1-32");
    return {Index(low), Index(high)};
}

/// block = H block (or block H from the right) with the reflection H = I - 2 v v^T / v^T v of a
/// random v; n x n, row-major. `work` has 2 n numbers.
void reflect(RandomStream& random, Index n, bool from_right, double* block, double* work) {
    double* v = work;
    double* w = work + n;
    double square = 0;
    for (Index i = 0; i < n; ++i) {
        v[i] = random.symmetric();
        square += v[i] * v[i];
    }
    if (square == 0) return;
    const double scale = 2 / square;
    if (from_right) {
        for (Index i = 0; i < n; ++i) {
            double* row = block + Offset(i) * n;
            double sum = 0;
            for (Index j = 0; j < n; ++j) sum += row[j] * v[j];
            for (Index j = 0; j < n; ++j) row[j] -= scale * sum * v[j];
        }
        return;
    }
    std::fill_n(w, n, 0.);
    for (Index i = 0; i < n; ++i) {
        for (Index j = 0; j < n; ++j) w[j] += v[i] * block[Offset(i) * n + j];
    }
    for (Index i = 0; i < n; ++i) {
        for (Index j = 0; j < n; ++j) block[Offset(i) * n + j] -= scale * v[i] * w[j];
    }
}

/// U diag(s) V, U and V products of three reflections each, s_k = condition^(-k / (n - 1)).
void random_block(RandomStream& random, Index n, double condition, std::vector<double>& block,
                  std::vector<double>& work) {
    block.assign(std::size_t(n) * n, 0);
    work.resize(2 * std::size_t(n));
    for (Index k = 0; k < n; ++k) {
        block[std::size_t(k) * n + k] = n == 1 ? 1 : std::pow(condition, -double(k) / (n - 1));
    }
    for (int side = 0; side < 2; ++side) {
        for (int reflection = 0; reflection < 3; ++reflection) {
            reflect(random, n, side == 1, block.data(), work.data());
        }
    }
}

}  // namespace

/// N at the end of the diagonal, 2 elsewhere on it, -1 in the last row and column. Symmetric
/// positive definite.
Problem<double> arrow(const Context& cpu, Spec& spec, Index size) {
    spec.finish();
    checked_unknown_count(spec, size, 3. * size, 2. * size * sizeof(std::pair<Offset, double>));
    const Index end = size - 1;  // The dense row.
    return assemble_rows(cpu, size, [&](Index i, RowEntries& row) {
        if (i < end) {
            row.add(i, 2);
            row.add(end, -1);
        } else {
            for (Index j = 0; j < end; ++j) row.add(j, -1);
            row.add(end, size);
        }
    });
}

/// N rows in dense blocks of K (the last one smaller when K does not divide N), entries uniform in
/// [-1, 1).
Problem<double> block_diagonal(const Context& cpu, Spec& spec, Index size) {
    require(spec.value_count() >= 2,
            "block_diagonal needs a block size, for example block_diagonal:", size, ",8");
    const Offset block = spec.integer(1, 0, 1, std::numeric_limits<Index>::max());
    const std::uint64_t seed = seed_of(spec);
    spec.finish();
    checked_unknown_count(spec, size, double(size) * double(std::min<Offset>(block, size)));
    auto problem = assemble_rows(cpu, size, [&](Index i, RowEntries& row) {
        const Offset start = i / block * block;
        RandomStream random(seed, i);
        for (Offset j = start; j < std::min<Offset>(start + block, size); ++j) {
            row.store(j, random.symmetric());
        }
    });
    problem.natural_block = Index(std::min<Offset>(block, size));
    return problem;
}

/// N diagonal blocks D_b with sizes uniform in LOW..HIGH (at most 4096). D_b = U diag(s) V,
/// s_k = condition^(-k / (n - 1)), U and V three random Householder reflections each: 2-norm 1 and
/// 2-norm condition number `condition` (1 where n = 1). The last row of each block is coupled to
/// the first column of the next by 0.1 / condition, so that A = D (I + E) with ||E||_2 <= 0.1.
Problem<double> random_blocks(const Context& cpu, Spec& spec, Index count) {
    const auto [low, high] = size_range(spec);
    const double condition = spec.real("condition", 10, 1, 1e18);
    const std::uint64_t seed = seed_of(spec);
    spec.finish();

    const double mean_square = (double(low) * low + double(low) * high + double(high) * high) / 3;
    checked_unknown_count(spec, double(count) * low, count * mean_square,
                          2. * count * sizeof(Offset));
    std::vector<Offset> starts(std::size_t(count) + 1);  // First row and first entry of each block.
    std::vector<Offset> entry_starts(starts.size());
    for (Index b = 0; b < count; ++b) {
        const Index n = RandomStream(seed, b).integer(low, high);
        starts[b + 1] = starts[b] + n;
        entry_starts[b + 1] = entry_starts[b] + Offset(n) * n + (b + 1 < count ? 1 : 0);
    }
    const Index size =
        checked_unknown_count(spec, double(starts[count]), double(entry_starts[count]));
    Problem<double> problem;
    problem.natural_block = low == high ? low : 1;
    problem.matrix = CsrMatrix<double>(cpu, size, size, entry_starts[count]);
    Offset* const row_offsets = problem.matrix.row_offsets().data();
    Index* const columns = problem.matrix.column_indices().data();
    double* const values = problem.matrix.values().data();
    row_offsets[size] = problem.matrix.nonzeros();
    const auto fill = [&, lowest = low, highest = high](Offset first, Offset last) {
        std::vector<double> block, work;
        for (Offset b = first; b < last; ++b) {
            const Index n = Index(starts[b + 1] - starts[b]);
            RandomStream random(seed, b);
            random.integer(lowest, highest);  // Draws the size again.
            random_block(random, n, condition, block, work);
            std::ranges::copy(block, values + entry_starts[b]);
            for (Index i = 0; i < n; ++i) {
                const Offset start = entry_starts[b] + Offset(i) * n;
                row_offsets[starts[b] + i] = start;
                std::iota(columns + start, columns + start + n, Index(starts[b]));
            }
            if (b + 1 < count) {
                columns[entry_starts[b + 1] - 1] = Index(starts[b + 1]);
                values[entry_starts[b + 1] - 1] = 0.1 / condition;
            }
        }
    };
    parallel_ranges(cpu.threads(), count, fill, 64);
    return problem;
}

}  // namespace tessera::problems
