#include "precond/block_ldlt/reconstruction.hpp"

#include <cmath>

#include "base/parallel.hpp"

namespace tessera::block_ldlt {

namespace {

template <class V>
std::vector<V> list(const Context& context, const V* from, Offset count) {
    std::vector<V> host(static_cast<std::size_t>(count));
    copy_to_host(context, std::span<const V>(from, host.size()), std::span<V>(host));
    return host;
}

/// The larger number; not a number where one of them is none.
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

/// Blocks F = P^T L D L^T P from what batched::ldlt wrote.
std::vector<double> diagonal_blocks(std::size_t k, const std::vector<double>& factors,
                                    const std::vector<Index>& permutations) {
    std::vector<double> diagonal(factors.size(), 0), l(k * k), d(k * k), ld(k * k), f(k * k);
    for (std::size_t first = 0; first < permutations.size(); first += k) {
        const double* from = factors.data() + first * k;
        for (auto* block : {&l, &d, &ld, &f}) std::ranges::fill(*block, 0);
        for (std::size_t j = 0; j < k; ++j) {
            l[j + j * k] = 1;
            d[j + j * k] = from[j + j * k];
            for (std::size_t i = j + 1; i < k; ++i) l[i + j * k] = from[i + j * k];
            if (j + 1 < k) d[j + (j + 1) * k] = d[j + 1 + j * k] = from[j + (j + 1) * k];
        }
        add_product(k, l.data(), d.data(), false, ld.data());
        add_product(k, ld.data(), l.data(), true, f.data());
        double* to = diagonal.data() + first * k;
        const Index* p = permutations.data() + first;
        for (std::size_t i = 0; i < k; ++i) {
            for (std::size_t j = 0; j < k; ++j) {
                to[std::size_t(p[i]) + std::size_t(p[j]) * k] = f[i + j * k];
            }
        }
    }
    return diagonal;
}

/// The factor and the matrix in host memory.
struct Parts {
    std::size_t k;
    std::vector<Offset> column_offsets, row_offsets, entry_offsets;
    std::vector<Index> rows, columns, row_blocks;
    std::vector<std::uint16_t> places;
    std::vector<double> values, v, diagonal;

    template <class T>
    Parts(const Context& context, const BlockFactor<T>& factor) : k(std::size_t(factor.view().k)) {
        const PatternView<T>& a = factor.view();
        column_offsets = list(context, a.column_offsets, a.block_rows + 1);
        row_offsets = list(context, a.row_offsets, a.block_rows + 1);
        rows = list(context, a.rows, a.blocks);
        columns = list(context, a.columns, a.blocks);
        row_blocks = list(context, a.row_blocks, a.blocks);
        entry_offsets = list(context, a.entry_offsets, a.blocks + a.block_rows + 1);
        places = list(context, a.places, entry_offsets.back());
        const auto widen = [](const std::vector<T>& from) {
            return std::vector<double>(from.begin(), from.end());
        };
        values = widen(list(context, a.values, entry_offsets.back()));
        v = widen(copy_to_host(context, factor.v()));
        diagonal = diagonal_blocks(k, widen(copy_to_host(context, factor.factors())),
                                   copy_to_host(context, factor.permutations()));
    }

    const double* block(std::size_t b) const { return v.data() + b * k * k; }
};

/// One block row of the product or of the matrix, blocks by block column.
class BlockRow {
  public:
    BlockRow(const Parts& parts)
        : parts_(parts),
          values_(parts.diagonal.size(), 0),
          used_(parts.diagonal.size() / parts.k / parts.k, 0) {}

    double* at(std::size_t j) {
        if (used_[j] == 0) touched_.push_back(j);
        used_[j] = 1;
        return values_.data() + j * parts_.k * parts_.k;
    }
    /// Adds the entries of an item of BlockEntries to block column j, as they are stored or
    /// mirrored.
    void add_entries(std::size_t item, std::size_t j, bool mirrored, double sign) {
        double* const to = at(j);
        const std::size_t k = parts_.k;
        for (auto e = std::size_t(parts_.entry_offsets[item]);
             e < std::size_t(parts_.entry_offsets[item + 1]); ++e) {
            const std::size_t row = parts_.places[e] % k, column = parts_.places[e] / k;
            to[mirrored ? column + row * k : row + column * k] += sign * parts_.values[e];
        }
    }
    /// Of a diagonal block the lower triangle is stored.
    void add_diagonal(std::size_t i, double sign) {
        double* const to = at(i);
        const std::size_t k = parts_.k, item = parts_.rows.size() + i;
        for (auto e = std::size_t(parts_.entry_offsets[item]);
             e < std::size_t(parts_.entry_offsets[item + 1]); ++e) {
            const std::size_t row = parts_.places[e] % k, column = parts_.places[e] / k;
            to[row + column * k] += sign * parts_.values[e];
            if (row != column) to[column + row * k] += sign * parts_.values[e];
        }
    }
    void add_matrix(std::size_t i, double sign) {
        for (auto e = parts_.row_offsets[i]; e < parts_.row_offsets[i + 1]; ++e) {
            const auto b = std::size_t(parts_.row_blocks[std::size_t(e)]);
            add_entries(b, std::size_t(parts_.columns[b]), false, sign);
        }
        for (auto b = std::size_t(parts_.column_offsets[i]);
             b < std::size_t(parts_.column_offsets[i + 1]); ++b) {
            add_entries(b, std::size_t(parts_.rows[b]), true, sign);
        }
        add_diagonal(i, sign);
    }
    /// Adds G (I + V)^T, G a block in block column l.
    void add_terms(std::size_t l, const double* g) {
        double* const own = at(l);
        for (std::size_t e = 0; e < parts_.k * parts_.k; ++e) own[e] += g[e];
        for (auto c = std::size_t(parts_.column_offsets[l]);
             c < std::size_t(parts_.column_offsets[l + 1]); ++c) {
            add_product(parts_.k, g, parts_.block(c), true, at(std::size_t(parts_.rows[c])));
        }
    }
    void add_factor(std::size_t i) {
        const std::size_t square = parts_.k * parts_.k;
        for (auto e = parts_.row_offsets[i]; e < parts_.row_offsets[i + 1]; ++e) {
            const auto b = std::size_t(parts_.row_blocks[std::size_t(e)]);
            const auto l = std::size_t(parts_.columns[b]);
            std::vector<double> g(square, 0);
            add_product(parts_.k, parts_.block(b), parts_.diagonal.data() + l * square, false,
                        g.data());
            add_terms(l, g.data());
        }
        add_terms(i, parts_.diagonal.data() + i * square);
    }
    /// The largest sum of magnitudes in a row; leaves zeros.
    double take_norm() {
        const std::size_t k = parts_.k;
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
    const Parts& parts_;
    std::vector<double> values_;
    std::vector<char> used_;
    std::vector<std::size_t> touched_;
};

}  // namespace

template <class T>
double exact_reconstruction_error(const Context& context, const BlockFactor<T>& factor) {
    const Parts parts(context, factor);
    const auto block_rows = Offset(factor.view().block_rows);
    std::vector<double> errors(static_cast<std::size_t>(block_rows)), sizes(errors);
    // Later block rows have more blocks: every thread takes some from everywhere.
    const Offset threads = context.threads();
    parallel_parts(context.threads(), threads, threads, [&](Offset part, Offset, Offset) {
        BlockRow row(parts);
        for (auto i = std::size_t(part); i < errors.size(); i += std::size_t(threads)) {
            row.add_matrix(i, 1);
            sizes[i] = row.take_norm();
            row.add_factor(i);
            row.add_matrix(i, -1);
            errors[i] = row.take_norm();
        }
    });
    double error = 0, size = 0;
    for (std::size_t i = 0; i < errors.size(); ++i) {
        error = larger(error, errors[i]);
        size = std::max(size, sizes[i]);
    }
    return error == 0 ? 0 : error / size;
}

template double exact_reconstruction_error<float>(const Context&, const BlockFactor<float>&);
template double exact_reconstruction_error<double>(const Context&, const BlockFactor<double>&);

}  // namespace tessera::block_ldlt
