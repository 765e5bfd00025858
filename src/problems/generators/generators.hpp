#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <utility>

#include "base/concat.hpp"
#include "base/parallel.hpp"
#include "base/philox.hpp"
#include "tessera/problems.hpp"

/// The generators of `generate`, and their common parts.
namespace tessera::problems {

/// Reads its options from `spec`, whose first value is `size`, calls Spec::finish before any work;
/// `generate` sets Problem::name and rounds to T.
using Generator = Problem<double>(const Context& cpu, Spec& spec, Index size);

Generator poisson, diffusion, convection, recirculation, helmholtz, shell, circuit, schroedinger;
Generator euler;
Generator arrow, block_diagonal, random_blocks;
Generator kkt, qpband, bordered, stokes, darcy;
Generator elasticity, cantilever, plate_hole;

/// 3 for "elasticity3d", 2 for "poisson2d", else 1.
inline int dimensions_of(const Spec& spec) {
    return spec.name().ends_with("3d") ? 3 : spec.name().ends_with("2d") ? 2 : 1;
}

/// Throws InvalidArgument when a problem has more unknowns than Index can number, and OutOfMemory
/// when the matrix and `other_bytes` exceed the host memory that is free. `entries` is about the
/// number of entries. Doubles because products may exceed 2^63; `unknowns` is exact up to the
/// limit.
Index checked_unknown_count(const Spec& spec, double unknowns, double entries,
                            double other_bytes = 0);

inline std::uint64_t seed_of(Spec& spec) {
    return std::uint64_t(spec.integer("seed", 1, 0, std::numeric_limits<Offset>::max()));
}

/// Random numbers of one object (a row, a block, a point): Philox keyed by the seed and the
/// object's number.
class RandomStream {
  public:
    RandomStream(std::uint64_t seed, Offset stream) : seed_(seed), stream_(std::uint64_t(stream)) {}

    /// Uniform in [0, 1).
    double uniform() {
        const philox::Words next = philox::words(seed_, stream_, at_++);
        return philox::unit_interval<double>(next.words[0], next.words[1]);
    }
    /// Uniform in [-1, 1).
    double symmetric() { return 2 * uniform() - 1; }
    /// 10^u, u uniform in [-range, range).
    double power_of_ten(double range) { return std::pow(10, range * symmetric()); }
    /// Standard normal (Box and Muller).
    double normal() {
        const double radius = std::sqrt(-2 * std::log(1 - uniform()));
        return radius * std::cos(2 * std::numbers::pi * uniform());
    }
    /// Uniform in low..high.
    Index integer(Index low, Index high) {
        const std::uint64_t choices = std::uint64_t(high - low) + 1;
        return low + Index((choices * philox::words(seed_, stream_, at_++).words[0]) >> 32);
    }

  private:
    std::uint64_t seed_;
    std::uint64_t stream_;
    std::uint64_t at_ = 0;
};

/// The entries of one row: columns and values.
class RowEntries {
  public:
    explicit RowEntries(Offset columns) : columns_(columns) {}

    void store(Offset column, double value) { entries_.emplace_back(column, value); }
    /// Stores an entry unless it is zero or outside the matrix.
    void add(Offset column, double value) {
        if (value != 0 && column >= 0 && column < columns_) store(column, value);
    }
    void clear() { entries_.clear(); }
    /// Sorts by column and sums entries of the same column, in the order they were added.
    void finish() {
        const auto unsorted = [](const auto& a, const auto& b) { return a.first >= b.first; };
        if (std::ranges::adjacent_find(entries_, unsorted) == entries_.end()) return;
        std::ranges::stable_sort(entries_, {}, &std::pair<Offset, double>::first);
        std::size_t last = 0;
        for (std::size_t k = 1; k < entries_.size(); ++k) {
            if (entries_[k].first == entries_[last].first) {
                entries_[last].second += entries_[k].second;
            } else {
                entries_[++last] = entries_[k];
            }
        }
        entries_.resize(last + 1);
    }
    const std::vector<std::pair<Offset, double>>& entries() const { return entries_; }

  private:
    Offset columns_;
    std::vector<std::pair<Offset, double>> entries_;
};

/// The problem with a square matrix whose row i has the entries that row_at(i, row) adds; row_at is
/// called twice for each row, by all threads.
template <class RowAt>
Problem<double> assemble_rows(const Context& cpu, Index rows, RowAt&& row_at) {
    std::vector<Offset> starts(std::size_t(rows) + 1, 0);
    const auto each_row = [&](auto&& use) {
        const auto visit_range = [&](Offset first, Offset last) {
            RowEntries list(rows);
            for (Offset i = first; i < last; ++i) {
                list.clear();
                row_at(Index(i), list);
                list.finish();
                use(i, list.entries());
            }
        };
        parallel_ranges(cpu.threads(), rows, visit_range, 1024);
    };
    each_row([&](Offset i, const auto& entries) { starts[i + 1] = Offset(entries.size()); });
    std::partial_sum(starts.begin(), starts.end(), starts.begin());
    Problem<double> problem;
    problem.matrix = CsrMatrix<double>(cpu, rows, rows, starts[rows]);
    std::ranges::copy(starts, problem.matrix.row_offsets().data());
    Index* const columns = problem.matrix.column_indices().data();
    double* const values = problem.matrix.values().data();
    each_row([&](Offset i, const auto& entries) {
        Offset position = starts[i];
        for (const auto& [column, value] : entries) {
            columns[position] = Index(column);
            values[position++] = value;
        }
    });
    return problem;
}

}  // namespace tessera::problems
