#include "precond/multigrid/setup/padding.hpp"

#include <bit>
#include <limits>

#include "base/checks.hpp"
#include "precond/multigrid/setup/padding_rows.hpp"

namespace tessera::multigrid {

namespace {

/// Finds which unknowns an incomplete node has; a set of unknowns has a bit for each.
class IncompleteNode {
  public:
    /// `sums`: the results of CouplingSums for its rows.
    IncompleteNode(int rows, int block, const double* sums)
        : rows_(rows), block_(block), sums_(sums) {}

    /// The unknowns with which the rows map translations to the smallest vector.
    unsigned by_translations() const {
        return best([&](unsigned set) { return -residual(set); });
    }
    /// Whether the rows, as the unknowns `set`, map translations to zero up to rounding. Then the
    /// node has these unknowns, and no fixed neighbour.
    bool maps_translations_to_zero(unsigned set) const {
        constexpr double rounding = 1e-8;
        double all = 0;
        for (int k = 0; k < 3 * block_ * rows_; ++k) {
            if (k % (3 * block_) < 2 * block_) all += sums_[k] * sums_[k];
        }
        return residual(set) <= rounding * all;
    }
    /// Whether all other sets have residuals at least twice as large.
    bool is_clear(unsigned set) const {
        constexpr double near = 2;
        const unsigned second = best([&](unsigned other) {
            return other == set ? -std::numeric_limits<double>::infinity() : -residual(other);
        });
        return second == set || near * residual(set) <= residual(second);
    }
    /// The unknowns that most incomplete neighbours have, as nodes on a plane or a line of
    /// symmetry.
    unsigned by_neighbours() const {
        return best([&](unsigned set) { return neighbours(set); });
    }
    double neighbours(unsigned set) const {
        double count = 0;
        for (int c = 0; c < block_; ++c) {
            if ((set >> c & 1) != 0) count += sums_[2 * block_ + c];
        }
        return count;
    }

  private:
    double residual(unsigned set) const {
        double squares = 0;
        for (int row = 0; row < rows_; ++row) {
            const double* const sums = sums_ + 3 * row * block_;
            for (int c = 0, place = 0; c < block_; ++c) {
                if ((set >> c & 1) == 0) continue;
                const double sum = sums[c] + sums[block_ + place++];
                squares += sum * sum;
            }
        }
        return squares;
    }
    /// The first set of as many unknowns as rows with the largest merit.
    template <class Merit>
    unsigned best(Merit&& merit) const {
        unsigned found = 0;
        double largest = 0;
        for (unsigned set = 0; set < 1U << block_; ++set) {
            if (std::popcount(set) != rows_) continue;
            const double of_set = merit(set);
            if (found != 0 && !(of_set > largest)) continue;
            largest = of_set;
            found = set;
        }
        return found;
    }

    int rows_, block_;
    const double* sums_;
};

}  // namespace

template <class T>
std::vector<Index> unknowns_of_rows(const Context& context, const CsrView<T>& matrix,
                                    const BlockPartition& natural) {
    const std::vector<Index> starts = copy_to_host(context, natural.block_offsets);
    const int block = natural.largest;
    const auto size = std::size_t(natural.rows);
    std::vector<Index> unknowns(size), nodes(size), rows;  // Unknowns of nodes; -1: not known.
    for (Index node = 0; node < natural.count; ++node) {
        const Index first = starts[std::size_t(node)], end = starts[std::size_t(node) + 1];
        const bool complete = end - first == block;
        for (Index row = first; row < end; ++row) {
            nodes[std::size_t(row)] = node;
            unknowns[std::size_t(row)] = complete ? row - first : -1;
            if (!complete) rows.push_back(row);
        }
    }
    const auto count = Offset(rows.size());
    Buffer<double> sums(context, 3 * count * block);
    Buffer<Index> known(context, natural.rows);
    const Buffer<Index> node_of_row = copy_to_buffer(context, nodes),
                        chosen = copy_to_buffer(context, rows);
    // Unknowns found in one sweep help to find those of neighbours in the next.
    constexpr int certain_sweeps = 2, clear_sweeps = 4, all_sweeps = 8;
    bool open = true;
    for (int sweep = 1; open && sweep <= all_sweeps; ++sweep) {
        open = false;
        copy_from_host<Index>(context, unknowns, known.view());
        for_each_index(
            context, count,
            CouplingSums<T>{matrix, chosen.data(), node_of_row.data(), natural.block_offsets.data(),
                            known.data(), block, sums.data()});
        const std::vector<double> found = copy_to_host(context, sums);
        for (Offset i = 0; i < count;) {
            const Index first = rows[std::size_t(i)], node = nodes[std::size_t(first)];
            const int of_node = starts[std::size_t(node) + 1] - first;
            const IncompleteNode incomplete(of_node, block, found.data() + 3 * i * block);
            i += of_node;
            if (unknowns[std::size_t(first)] >= 0) continue;
            unsigned set = incomplete.by_translations();
            const bool is_settled = incomplete.maps_translations_to_zero(set) ||
                                    (sweep > certain_sweeps && incomplete.is_clear(set)) ||
                                    sweep == all_sweeps;
            if (!is_settled) {
                const unsigned usual = incomplete.by_neighbours();
                if (sweep <= clear_sweeps || incomplete.neighbours(usual) == 0) {
                    open = true;
                    continue;
                }
                set = usual;
            }
            for (Index c = 0, row = first; c < block; ++c) {
                if ((set >> c & 1) != 0) unknowns[std::size_t(row++)] = c;
            }
        }
    }
    for (std::size_t row = 0; row < size; ++row) unknowns[row] += nodes[row] * block;
    return unknowns;
}

Padding::Padding(const Context& context, const std::vector<Index>& unknowns, Offset padded_rows,
                 Index rows) {
    require(padded_rows <= std::numeric_limits<Index>::max(), "amg: there are too many nodes");
    require_argument("coordinates", Offset(unknowns.size()) == rows, "amg: coordinates name ",
                     unknowns.size(), " unknowns for a matrix of ", rows, " rows");
    std::vector<Index> row_of_unknown(std::size_t(padded_rows), -1);
    Index last = -1;
    for (std::size_t row = 0; row < unknowns.size(); ++row) {
        const Index unknown = unknowns[row];
        require_argument("coordinates", unknown > last && unknown < padded_rows,
                         "amg: the unknowns of coordinates must ascend, below ", padded_rows,
                         "; row ", row, " has ", unknown);
        row_of_unknown[std::size_t(unknown)] = Index(row);
        last = unknown;
    }
    unknown_of_row_ = copy_to_buffer(context, unknowns);
    row_of_unknown_ = copy_to_buffer(context, row_of_unknown);
}

template <class T>
CsrMatrix<T> Padding::pad(const Context& context, const CsrView<T>& matrix) const {
    const Offset added = Offset(rows()) - matrix.rows;
    CsrMatrix<T> result(context, rows(), rows(), matrix.nonzeros + added);
    Offset* const offsets = result.row_offsets().data();
    exclusive_scan(context, rows(), PaddedLength<T>{matrix, row_of_unknown_.data()}, offsets);
    const int lanes = context.on_gpu() ? 16 : 1;
    for_each_index(context, Offset(rows()) * lanes,
                   FillPadded<T>{lanes, matrix, row_of_unknown_.data(), unknown_of_row_.data(),
                                 offsets, result.column_indices().data(), result.values().data()});
    return result;
}

template <class T>
void Padding::pad(const Context& context, const T* x, T* padded) const {
    for_each_index(context, row_of_unknown_.size(), Gather<T>{row_of_unknown_.data(), x, padded});
}

template <class T>
void Padding::unpad(const Context& context, const T* padded, T* x) const {
    for_each_index(context, unknown_of_row_.size(), Gather<T>{unknown_of_row_.data(), padded, x});
}

NearNullSpace Padding::pad(const Context& context, const NearNullSpace& given) const {
    const auto width = std::size_t(given.columns);
    NearNullSpace padded{given.columns, std::vector<double>(std::size_t(rows()) * width, 0.0)};
    const std::vector<Index> unknowns = copy_to_host(context, unknown_of_row_);
    for (std::size_t row = 0; row < unknowns.size(); ++row) {
        std::copy_n(&given.values[row * width], width,
                    &padded.values[std::size_t(unknowns[row]) * width]);
    }
    return padded;
}

#define TESSERA_INSTANTIATE(T)                                                      \
    template std::vector<Index> unknowns_of_rows(const Context&, const CsrView<T>&, \
                                                 const BlockPartition&);            \
    template CsrMatrix<T> Padding::pad(const Context&, const CsrView<T>&) const;    \
    template void Padding::pad(const Context&, const T*, T*) const;                 \
    template void Padding::unpad(const Context&, const T*, T*) const;
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera::multigrid
