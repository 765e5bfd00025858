#pragma once

#include <map>
#include <utility>

#include "support/test.hpp"

/// Products of matrices as sums over maps, to compare with, and random matrices.
namespace tessera::test {

/// An entry with what bounds its error: |found - value| <= gamma_roundings * magnitude. Each term
/// of a sum is rounded once for each of them, and as often as its factors before.
struct Entry {
    long double value = 0, magnitude = 0;
    int terms = 0, roundings_of_factors = 0;
    int roundings() const { return terms + roundings_of_factors; }
};
using Entries = std::map<std::pair<Index, Index>, Entry>;

template <class T>
Entries entries_of(const CsrView<T>& matrix) {
    const CsrMatrix<T> on_host = copy_to_host(context(), matrix);
    const CsrView<T> a = on_host.view();
    Entries entries;
    for (Index i = 0; i < a.rows; ++i) {
        for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
            const long double value = a.values[k];
            entries[{i, a.column_indices[k]}] = {value, std::abs(value), 0, 0};
        }
    }
    return entries;
}

inline Entries product_of(const Entries& a, const Entries& b) {
    std::map<Index, std::map<Index, Entry>> rows;
    for (const auto& [at, entry] : b) rows[at.first][at.second] = entry;
    Entries product;
    for (const auto& [at, left] : a) {
        for (const auto& [column, right] : rows[at.second]) {
            Entry& sum = product[{at.first, column}];
            sum.value += left.value * right.value;
            sum.magnitude += left.magnitude * right.magnitude;
            ++sum.terms;
            sum.roundings_of_factors =
                std::max(sum.roundings_of_factors, left.roundings() + right.roundings());
        }
    }
    return product;
}

inline Entries transpose_of(const Entries& a) {
    Entries transposed;
    for (const auto& [at, entry] : a) transposed[{at.second, at.first}] = entry;
    return transposed;
}

template <class T>
void expect_entries(const CsrView<T>& found, Index rows, Index columns, const Entries& expected) {
    EXPECT_EQ(found.rows, rows);
    EXPECT_EQ(found.columns, columns);
    validate(copy_to_host(context(), found).view());
    const Entries entries = entries_of(found);
    ASSERT_EQ(entries.size(), expected.size());
    for (const auto& [at, entry] : expected) {
        ASSERT_TRUE(entries.contains(at)) << at.first << ", " << at.second;
        // One more for the rounding of the reference.
        ASSERT_NEAR(double(entries.at(at).value), double(entry.value),
                    gamma<T>(entry.roundings() + 1) * double(entry.magnitude))
            << at.first << ", " << at.second;
    }
}

/// About `per_row` entries in a row, some of them 0; every fifth row is empty.
template <class T>
CsrMatrix<T> random_csr(std::mt19937_64& random, Index rows, Index columns, double per_row) {
    std::vector<std::vector<Index>> pattern(static_cast<std::size_t>(rows));
    std::vector<std::vector<T>> values(pattern.size());
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        if (i % 5 == 3) continue;
        for (Index j = 0; j < columns; ++j) {
            if ((uniform(random) + 1) / 2 * columns > per_row) continue;
            pattern[i].push_back(j);
            values[i].push_back(random() % 8 == 0 ? T(0) : T(uniform(random)));
        }
    }
    return copy_to(context(), make_csr<T>(rows, columns, pattern, values));
}

/// Other values on the pattern.

}  // namespace tessera::test
