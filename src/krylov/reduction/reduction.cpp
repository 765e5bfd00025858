#include "krylov/reduction.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "base/context_state.hpp"
#include "base/scratch/scratch.hpp"
#include "krylov/reduction/node_order.hpp"
#include "krylov/reduction/symmetry_walk.hpp"
#include "krylov/reduction/twin_rows.hpp"
#include "krylov/row_scan.hpp"

namespace tessera {

namespace {

/// Entries that differ by less from their mirror images, relative to the rows, are taken as equal.
constexpr double symmetry_limit = 1e-4;

/// Whether a loop body flags more than `limit` of 64 rows.
template <class Look, class T>
bool flags_more_than(int limit, const Context& context, const CsrView<T>& matrix) {
    constexpr int samples = 64;
    int found[samples], count = 0;
    if (!context.on_gpu()) {  // One row may be enough.
        const Look look{matrix, samples, found};
        for (int s = 0; s < samples && count <= limit; ++s) {
            look(s);
            count += found[s];
        }
        return count > limit;
    }
    const Scratch<int> flags(context, samples);
    for_each_index(context, samples, Look{matrix, samples, flags.data()});
    copy_to_host(context, std::span<const int>(flags.view()), std::span<int>(found));
    return std::accumulate(found, found + samples, 0) > limit;
}

/// The rows of a matrix in host memory that give one unknown each.
template <class T>
std::vector<Index> fixed_rows(const CsrView<T>& matrix) {
    std::vector<Index> fixed;
    for (Index i = 0; i < matrix.rows; ++i) {
        if (summed(matrix, i).gives_unknown(matrix, i)) fixed.push_back(i);
    }
    return fixed;
}

/// The rows without a nonzero.
template <class T>
std::vector<Index> empty_rows(const CsrView<T>& matrix) {
    std::vector<Index> empty;
    for (Index i = 0; i < matrix.rows; ++i) {
        const auto row = matrix.values_span().subspan(
            std::size_t(matrix.row_offsets[i]),
            std::size_t(matrix.row_offsets[i + 1] - matrix.row_offsets[i]));
        if (std::ranges::all_of(row, [](T a) { return a == T(0); })) empty.push_back(i);
    }
    return empty;
}

/// Powers of two s for which the entries s_i |a_ij| s_j of each row are at most about 1.
template <class T>
std::vector<double> symmetric_scale(const KeptPart<T>& part, const std::vector<double>& d) {
    const CsrView<T>& a = part.matrix;
    std::vector<double> scale(part.rows.size(), 1), largest(part.rows.size());
    for (int step = 0; step < 5; ++step) {
        for (std::size_t k = 0; k < scale.size(); ++k) {
            const Index i = part.rows[k];
            largest[k] = 0;
            for (Offset e = a.row_offsets[i]; e < a.row_offsets[i + 1]; ++e) {
                const Index m = part.number[std::size_t(a.column_indices[e])];
                if (m < 0) continue;
                const double size = std::abs(d[k] * double(a.values[e]));
                largest[k] = std::max(largest[k], scale[k] * size * scale[std::size_t(m)]);
            }
        }
        for (std::size_t k = 0; k < scale.size(); ++k) {
            if (largest[k] > 0) scale[k] *= std::exp2(-std::round(std::log2(largest[k]) / 2));
        }
    }
    return scale;
}

/// Finds the parts of a reduction one after the other.
template <class T>
class Search {
  public:
    Search(const CsrView<T>& matrix, const MatrixFacts& facts, bool may_be_symmetric, int threads)
        : matrix_(matrix), facts_(facts), may_be_symmetric_(may_be_symmetric), threads_(threads) {}

    std::optional<Reduction> find(bool may_fix, bool may_order) {
        const bool is_odd = facts_.has_odd_rows;
        if (may_fix && facts_.has_fixed_rows && (is_odd || !facts_.symmetric)) {
            keep_all_but(fixed_rows(matrix_));
        }
        if (may_fix && facts_.symmetric && facts_.has_empty_rows && part_.rows.empty()) {
            leave_out(empty_rows(matrix_));
        }
        if (part_.rows.empty()) keep_all_but({});
        if (!is_finite()) return {};
        result_.is_symmetric = facts_.symmetric || (may_be_symmetric_ && make_symmetric());
        // What stays nonsymmetric is as easy with such rows (fs_760_2: easier).
        if (!result_.is_symmetric && !is_odd) {
            if (!may_order) return {};
            keep_all_but({});
        }
        if (result_.is_symmetric) {
            turn_sign();
            scale();
        }
        order(may_order);
        if (result_.reason.empty()) return {};
        return std::move(result_);
    }

  private:
    void say(const std::string& part) {
        result_.reason += (result_.reason.empty() ? "" : "; ") + part;
    }

    void keep_all_but(std::vector<Index> fixed) {
        part_ = kept_part(matrix_, fixed);
        d_.assign(part_.rows.size(), 1);
        column_ = d_;
        result_.reason.clear();
        if (!fixed.empty()) {
            say(fixed.size() == 1 ? "a row that gives one unknown is solved first"
                                  : std::to_string(fixed.size()) +
                                        " rows that give one unknown each are solved first");
        }
        result_.fixed = std::move(fixed);
    }

    /// Leaves out unknowns that no equation of a symmetric system uses.
    void leave_out(std::vector<Index> unused) {
        if (unused.empty() || Index(unused.size()) == matrix_.rows) return;
        const std::size_t count = unused.size();
        keep_all_but(std::move(unused));
        result_.fixed_are_empty = true;
        result_.reason =
            count == 1 ? "an unknown that no equation uses is left out"
                       : std::to_string(count) + " unknowns that no equation uses are left out";
    }

    bool is_finite() const {
        return std::ranges::all_of(part_.diagonal, [](double a) { return std::isfinite(a); });
    }

    /// Finds D with D A symmetric, up to rounding or little more.
    bool make_symmetric() {
        double found = asymmetry(part_, d_, symmetry_limit, threads_);
        if (found > symmetry_limit) {
            std::vector<double> d = find_symmetriser(part_, symmetry_limit);
            if (d.empty()) return false;
            found = asymmetry(part_, d, symmetry_limit, threads_);
            if (found > symmetry_limit) return false;
            result_.is_second = loses_sign(d);
            d_ = std::move(d);
            say("rows are multiplied by numbers that make the matrix symmetric");
        }
        result_.solves_mean = found > 0 && found <= 1e-10;
        result_.preconditions_by_mean = found > 1e-10;
        if (result_.solves_mean) say("the matrix is symmetric up to rounding");
        if (result_.preconditions_by_mean) {
            say("the matrix is nearly symmetric: preconditioners are made for its mean with its "
                "transpose");
        }
        return true;
    }

    /// Whether D A is indefinite though solvers for other matrices can divide by the diagonal of A.
    bool loses_sign(const std::vector<double>& d) const {
        const bool has_zero =
            std::ranges::any_of(part_.diagonal, [](double entry) { return entry == 0; });
        std::size_t positive = 0;
        for (std::size_t k = 0; k < d.size(); ++k) positive += d[k] * part_.diagonal[k] > 0;
        return !has_zero && positive != 0 && positive != d.size();
    }

    /// Multiplies by -1 where no diagonal entry is positive.
    void turn_sign() {
        bool all_negative = true;
        for (std::size_t k = 0; k < d_.size(); ++k) {
            all_negative = all_negative && d_[k] * part_.diagonal[k] < 0;
        }
        if (!all_negative) return;
        for (double& factor : d_) factor = -factor;
        say("the signs of all rows are turned");
    }

    /// Scales an indefinite matrix whose rows span more than four decades.
    void scale() {
        bool is_positive = true;
        double smallest = std::numeric_limits<double>::infinity(), largest = 0;
        for (std::size_t k = 0; k < d_.size(); ++k) {
            is_positive = is_positive && d_[k] * part_.diagonal[k] > 0;
            const double size = std::abs(d_[k]) * part_.largest[k];
            if (size > 0) smallest = std::min(smallest, size);
            largest = std::max(largest, size);
        }
        if (is_positive || !(largest > 1e4 * smallest)) return;
        column_ = symmetric_scale(part_, d_);
        for (std::size_t k = 0; k < d_.size(); ++k) d_[k] *= column_[k];
        say("rows and columns are scaled");
    }

    /// Fills the order of the result, by nodes if `may_order` and one is found.
    void order(bool may_order) {
        std::vector<Index> order;
        if (may_order) order = find_node_order(part_);
        result_.is_reordered = !order.empty();
        if (result_.is_reordered) say("the unknowns are put in the order of nodes");
        for (std::size_t k = 0; k < part_.rows.size(); ++k) {
            const std::size_t from = order.empty() ? k : std::size_t(order[k]);
            result_.kept.push_back(part_.rows[from]);
            result_.row_factors.push_back(d_[from]);
            result_.column_factors.push_back(column_[from]);
        }
    }

    const CsrView<T> matrix_;
    const MatrixFacts& facts_;
    const bool may_be_symmetric_;
    const int threads_;
    Reduction result_;
    KeptPart<T> part_;
    std::vector<double> d_, column_;
};

}  // namespace

template <class T>
std::optional<Reduction> find_reduction(const Context& context, const CsrView<T>& matrix,
                                        const MatrixFacts& facts,
                                        const NodeCoordinates& coordinates) {
    if (matrix.rows == 0) return {};
    // An order by nodes would contradict coordinates that tell the node of each row.
    const bool has_nodes = facts.rows_per_node > 1 && !facts.has_coordinates;
    const bool may_order = !has_nodes && coordinates.unknowns.empty();
    const bool needs_order = may_order && flags_more_than<FindTwinRow<T>>(32, context, matrix);
    // On a GPU the walks take as long as a copy of so many entries to the host.
    const bool may_be_symmetric = facts.symmetric ||
                                  (context.on_gpu() && matrix.nonzeros < 200'000) ||
                                  !flags_more_than<WalkAgainstSymmetry<T>>(0, context, matrix);
    const bool is_scaled = !facts.positive_diagonal && facts.row_span > 1e4;
    const bool is_as_it_seems =
        facts.symmetric ? !facts.negative_diagonal && !is_scaled && !facts.has_empty_rows
                        : !may_be_symmetric;
    if (is_as_it_seems && !facts.has_odd_rows && !needs_order) return {};
    const bool may_fix = !facts.has_coordinates || tell_rows(coordinates, matrix.rows);
    CsrMatrix<T> copied;
    if (context.on_gpu()) copied = copy_to_host(context, matrix);
    const CsrView<T> host = context.on_gpu() ? copied.view() : matrix;
    return Search<T>(host, facts, may_be_symmetric, context.threads()).find(may_fix, needs_order);
}

bool tell_rows(const NodeCoordinates& coordinates, Index rows) {
    const auto numbers = Offset(coordinates.values.size());
    return !coordinates.unknowns.empty() || numbers == rows ||
           numbers == Offset(rows) * coordinates.dimensions;
}

NodeCoordinates reduced_coordinates(const NodeCoordinates& coordinates, Index rows,
                                    const Reduction& reduction) {
    const bool is_whole = Index(reduction.kept.size()) == rows;
    if (coordinates.values.empty() || (is_whole && !reduction.is_reordered)) return coordinates;
    const auto numbers = Offset(coordinates.values.size());
    const Index dimensions = coordinates.dimensions;
    NodeCoordinates reduced = coordinates;
    reduced.unknowns.clear();
    if (!coordinates.unknowns.empty()) {
        for (const Index i : reduction.kept) {
            reduced.unknowns.push_back(coordinates.unknowns[std::size_t(i)]);
        }
    } else if (numbers == rows) {
        const Index nodes = rows / dimensions;
        for (const Index i : reduction.kept) {  // Reordered: they were ordered by axes.
            reduced.unknowns.push_back(reduction.is_reordered ? i % nodes * dimensions + i / nodes
                                                              : i);
        }
        if (!std::ranges::is_sorted(reduced.unknowns)) return {};
        if (is_whole) reduced.unknowns.clear();
    } else if (numbers == Offset(rows) * dimensions) {  // One unknown a node.
        std::vector<double> values;
        for (const Index i : reduction.kept) {
            const double* const point = coordinates.values.data() + Offset(i) * dimensions;
            values.insert(values.end(), point, point + dimensions);
        }
        reduced.values = std::move(values);
    }
    return reduced;
}

NearNullSpace reduced_near_null(const NearNullSpace& vectors, const Reduction& reduction) {
    NearNullSpace reduced{vectors.columns, {}};
    if (vectors.values.empty()) return reduced;
    const auto columns = std::size_t(vectors.columns);
    for (std::size_t k = 0; k < reduction.kept.size(); ++k) {
        for (std::size_t c = 0; c < columns; ++c) {
            reduced.values.push_back(vectors.values[std::size_t(reduction.kept[k]) * columns + c] /
                                     reduction.column_factors[k]);
        }
    }
    return reduced;
}

template std::optional<Reduction> find_reduction(const Context&, const CsrView<float>&,
                                                 const MatrixFacts&, const NodeCoordinates&);
template std::optional<Reduction> find_reduction(const Context&, const CsrView<double>&,
                                                 const MatrixFacts&, const NodeCoordinates&);

}  // namespace tessera
