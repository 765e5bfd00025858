#include <algorithm>
#include <cmath>
#include <limits>

#include "operations/block_ldlt.hpp"

// For figure 3 of "Two-level pivoting for block incomplete LDL^T factorisations on GPUs".

namespace tessera::bench {

namespace {

/// max(a, b); NaN if either is NaN.
double larger(double a, double b) { return std::isnan(a) || b <= a ? a : b; }

/// c += a b or a b^T of column-major k x k blocks.
void add_product(std::size_t k, const double* a, const double* b, bool transposed, double* c) {
    for (std::size_t j = 0; j < k; ++j) {
        for (std::size_t l = 0; l < k; ++l) {
            const double factor = transposed ? b[j + l * k] : b[l + j * k];
            for (std::size_t i = 0; i < k; ++i) c[i + j * k] += a[i + l * k] * factor;
        }
    }
}

/// The blocks of V by rows and by columns, and the slots of the rows of A.
struct Lists {
    const CsrView<double>& a;
    const BlockLdltFactor<double>& factor;
    std::size_t k, block_rows;
    std::vector<std::vector<std::size_t>> of_row, of_column;
    std::vector<std::size_t> slot_of_row;

    Lists(const CsrView<double>& matrix, const BlockLdltFactor<double>& from, Index size)
        : a(matrix),
          factor(from),
          k(std::size_t(size)),
          block_rows(from.row_of_slot.size() / k),
          of_row(block_rows),
          of_column(block_rows),
          slot_of_row(std::size_t(matrix.rows)) {
        for (std::size_t b = 0; b < from.rows.size(); ++b) {
            of_row[std::size_t(from.rows[b])].push_back(b);
            of_column[std::size_t(from.columns[b])].push_back(b);
        }
        for (std::size_t s = 0; s < from.row_of_slot.size(); ++s) {
            if (from.row_of_slot[s] >= 0) slot_of_row[std::size_t(from.row_of_slot[s])] = s;
        }
    }
    const double* block(std::size_t b) const { return factor.v.data() + b * k * k; }
};

/// One block row of the product or of the matrix, blocks by block column.
class BlockRow {
  public:
    explicit BlockRow(const Lists& lists)
        : lists_(lists),
          values_(lists.block_rows * lists.k * lists.k, 0),
          used_(lists.block_rows, 0) {}

    void add_matrix(std::size_t i, double sign) {
        const std::size_t k = lists_.k;
        const std::vector<double>& scale = lists_.factor.scaling;
        for (std::size_t r = 0; r < k; ++r) {
            const Index row = lists_.factor.row_of_slot[i * k + r];
            if (row < 0) at(i)[r + r * k] += sign;
            if (row < 0) continue;
            for (Offset e = lists_.a.row_offsets[row]; e < lists_.a.row_offsets[row + 1]; ++e) {
                const auto column = std::size_t(lists_.a.column_indices[e]);
                const std::size_t slot = lists_.slot_of_row[column];
                at(slot / k)[r + slot % k * k] +=
                    sign * (scale[std::size_t(row)] * lists_.a.values[e] * scale[column]);
            }
        }
    }
    void add_factor(std::size_t i) {
        const std::size_t square = lists_.k * lists_.k;
        for (const std::size_t b : lists_.of_row[i]) {
            const auto l = std::size_t(lists_.factor.columns[b]);
            std::vector<double> g(square, 0);
            add_product(lists_.k, lists_.block(b), lists_.factor.f.data() + l * square, false,
                        g.data());
            add_terms(l, g.data());
        }
        add_terms(i, lists_.factor.f.data() + i * square);
    }
    /// The largest row sum of magnitudes; sets the row to zero.
    double norm_and_clear() {
        const std::size_t k = lists_.k;
        std::vector<double> sums(k, 0);
        for (const std::size_t j : touched_) {
            double* const block = values_.data() + j * k * k;
            for (std::size_t e = 0; e < k * k; ++e) sums[e % k] += std::abs(block[e]);
            std::fill_n(block, k * k, 0.0);
            used_[j] = 0;
        }
        touched_.clear();
        double norm = 0;
        for (const double sum : sums) norm = larger(norm, sum);
        return norm;
    }

  private:
    double* at(std::size_t j) {
        if (used_[j] == 0) touched_.push_back(j);
        used_[j] = 1;
        return values_.data() + j * lists_.k * lists_.k;
    }
    /// Adds G (I + V)^T, G a block in block column l.
    void add_terms(std::size_t l, const double* g) {
        double* const own = at(l);
        for (std::size_t e = 0; e < lists_.k * lists_.k; ++e) own[e] += g[e];
        for (const std::size_t c : lists_.of_column[l]) {
            add_product(lists_.k, g, lists_.block(c), true, at(std::size_t(lists_.factor.rows[c])));
        }
    }

    const Lists& lists_;
    std::vector<double> values_;
    std::vector<char> used_;
    std::vector<std::size_t> touched_;
};

}  // namespace

double reconstruction_error(const CsrView<double>& a, const BlockLdltFactor<double>& factor,
                            Index k, int threads) {
    if (factor.row_of_slot.empty()) {
        return a.rows == 0 ? 0 : std::numeric_limits<double>::quiet_NaN();
    }
    const Lists lists(a, factor, k);
    std::vector<double> errors(lists.block_rows), sizes(errors);
    // Later block rows have more blocks: rows are distributed cyclically over the threads.
#pragma omp parallel num_threads(threads)
    {
        BlockRow row(lists);
#pragma omp for schedule(static, 1)
        for (std::size_t i = 0; i < errors.size(); ++i) {
            row.add_matrix(i, 1);
            sizes[i] = row.norm_and_clear();
            row.add_factor(i);
            row.add_matrix(i, -1);
            errors[i] = row.norm_and_clear();
        }
    }
    double error = 0, size = 0;
    for (std::size_t i = 0; i < errors.size(); ++i) {
        error = larger(error, errors[i]);
        size = std::max(size, sizes[i]);
    }
    return error == 0 ? 0 : error / size;
}

Json dominance(const CsrView<double>& a, Index k) {
    const Index block_rows = (a.rows + k - 1) / k;
    std::vector<double> sums(std::size_t(block_rows) * std::size_t(k), 0);
    double least = std::numeric_limits<double>::infinity(), most = -least, total = 0, largest = 0;
    for (Index i = 0; i < block_rows; ++i) {
        std::vector<Index> columns;
        const Index end = std::min(a.rows, (i + 1) * k);
        for (Offset e = a.row_offsets[i * k]; e < a.row_offsets[end]; ++e) {
            columns.push_back(a.column_indices[e]);
            sums[std::size_t(a.column_indices[e])] += std::abs(a.values[e]);
            largest = std::max(largest, std::abs(a.values[e]));
        }
        std::ranges::sort(columns);
        double row = 0, norm = 0;
        for (std::size_t c = 0; c < columns.size(); ++c) {
            const Index block = columns[c] / k;
            double& sum = sums[std::size_t(columns[c])];
            norm = std::max(norm, sum);
            sum = 0;
            if (c + 1 < columns.size() && columns[c + 1] / k == block) continue;
            row += block == i ? norm : -norm;
            norm = 0;
        }
        least = std::min(least, row);
        most = std::max(most, row);
        total += row;
    }
    const double scale = largest > 0 ? 1 / largest : 1;
    return {{"minimum", finite(least * scale)},
            {"mean", finite(total / std::max(block_rows, 1) * scale)},
            {"maximum", finite(most * scale)}};
}

Json matched_dominance(const Context& cpu, const CsrView<double>& a, Index k) {
    const SymmetricMatching matching = match_symmetric(cpu, a);
    const std::vector<Index> row_of_slot = order_blocks(cpu, a, matching.partner, k);
    std::vector<Index> slot_of_row(std::size_t(a.rows));
    for (std::size_t slot = 0; slot < row_of_slot.size(); ++slot) {
        if (row_of_slot[slot] >= 0) slot_of_row[std::size_t(row_of_slot[slot])] = Index(slot);
    }
    // P S A S P^T with a unit row and column for every padding slot.
    std::vector<Offset> offsets{0};
    std::vector<Index> columns;
    std::vector<double> values;
    for (std::size_t slot = 0; slot < row_of_slot.size(); ++slot) {
        const Index row = row_of_slot[slot];
        if (row < 0) {
            columns.push_back(Index(slot));
            values.push_back(1);
        } else {
            for (Offset e = a.row_offsets[row]; e < a.row_offsets[row + 1]; ++e) {
                const auto column = std::size_t(a.column_indices[e]);
                columns.push_back(slot_of_row[column]);
                values.push_back(matching.scaling[std::size_t(row)] * a.values[e] *
                                 matching.scaling[column]);
            }
        }
        offsets.push_back(Offset(columns.size()));
    }
    const auto slots = Index(row_of_slot.size());
    return dominance({slots, slots, offsets.back(), offsets.data(), columns.data(), values.data()},
                     k);
}

}  // namespace tessera::bench
