#pragma once

#include <map>
#include <utility>

#include "support/test.hpp"

/// Matrices by their entries, and symmetric ones for tests of matchings, orderings and factors.
namespace tessera::test {

/// The entries of a square matrix by position.
class Entries {
  public:
    explicit Entries(Index rows) : rows_(std::size_t(rows)) {}

    Entries& add(Index i, Index j, double value) {
        rows_[std::size_t(i)][j] = value;
        return *this;
    }

    template <class T = double>
    CsrMatrix<T> matrix() const {
        std::vector<std::vector<Index>> pattern(rows_.size());
        std::vector<std::vector<T>> values(rows_.size());
        for (std::size_t i = 0; i < rows_.size(); ++i) {
            for (const auto& [column, value] : rows_[i]) {
                pattern[i].push_back(column);
                values[i].push_back(T(value));
            }
        }
        return make_csr<T>(Index(rows_.size()), Index(rows_.size()), pattern, values);
    }

  private:
    std::vector<std::map<Index, double>> rows_;
};

/// Entries of which `add` sets the mirror image, too.
class SymmetricEntries {
  public:
    explicit SymmetricEntries(Index rows) : entries_(rows) {}

    SymmetricEntries& add(Index i, Index j, double value) {
        entries_.add(i, j, value).add(j, i, value);
        return *this;
    }

    template <class T = double>
    CsrMatrix<T> matrix() const {
        return entries_.matrix<T>();
    }

  private:
    Entries entries_;
};

/// About `entries` entries per row off the diagonal, sizes 2^(-range..range), a third of the
/// diagonal.
inline SymmetricEntries random_symmetric(std::mt19937_64& random, Index rows, double entries,
                                         double range) {
    std::uniform_real_distribution<double> exponent(-range, range);
    const auto value = [&] { return std::exp2(exponent(random)) * (random() % 2 ? 1 : -1); };
    SymmetricEntries all(rows);
    for (Index k = 0; k < Index(entries * rows / 2); ++k) {
        const Index i = Index(random() % std::uint64_t(rows));
        const Index j = Index(random() % std::uint64_t(rows));
        if (i != j) all.add(i, j, value());
    }
    for (Index i = 0; i < rows; ++i) {
        if (random() % 3 == 0) all.add(i, i, value());
    }
    return all;
}

/// [-H J^T; J 0], H = diag(2^(-range..range)), J with three entries +-1 per row and one per column.
inline SymmetricEntries random_kkt(std::mt19937_64& random, Index variables, Index constraints,
                                   double range) {
    std::uniform_real_distribution<double> exponent(-range, range);
    SymmetricEntries all(variables + constraints);
    for (Index i = 0; i < variables; ++i) {
        all.add(i, i, -std::exp2(exponent(random)));
        all.add(i, variables + Index(random() % std::uint64_t(constraints)), 1);
    }
    for (Index c = 0; c < constraints; ++c) {
        for (int k = 0; k < 3; ++k) {
            all.add(Index(random() % std::uint64_t(variables)), variables + c,
                    random() % 2 ? 1 : -1);
        }
    }
    return all;
}

}  // namespace tessera::test
