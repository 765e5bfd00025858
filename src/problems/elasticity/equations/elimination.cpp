#include <algorithm>
#include <limits>
#include <unordered_map>

#include "problems/elasticity/axes_of_nodes.hpp"
#include "problems/elasticity/loads/faces.hpp"

// Gauss-Jordan elimination of the equations of a model: each eliminates one displacement, which
// then appears in no other one.
namespace tessera::elasticity {

namespace {

using Terms = ReducedEquation::Terms;

/// Coefficients below this part of those that an equation was added up from are rounding errors.
constexpr double cancellation = 1e-14;

/// An equation whose coefficients are all below this part of them follows from others.
constexpr double redundant = 1e-12;

/// One displacement that follows from more than this makes as many rows of the matrix dense.
constexpr std::size_t max_terms = 300;

/// a + factor b, both ascending; sums of at most `rounding` are left out.
Terms sum_of(const Terms& a, double factor, const Terms& b, double rounding) {
    Terms sum;
    sum.reserve(a.size() + b.size());
    auto left = a.begin();
    for (const auto& [k, value] : b) {
        while (left != a.end() && left->first < k) sum.push_back(*left++);
        const double added = factor * value;
        if (left == a.end() || left->first != k) {
            sum.emplace_back(k, added);
            continue;
        }
        const double together = left->second + added;
        if (std::abs(together) > rounding) sum.emplace_back(k, together);
        ++left;
    }
    sum.insert(sum.end(), left, a.end());
    return sum;
}

/// An equation in the elimination, its dependent displacement among the terms.
struct Row {
    Terms terms, origins;
    double value = 0;
    double size = 0;     ///< The sum of the sizes of what the value was added up from.
    double largest = 0;  ///< The largest coefficient that was added.

    double at(Offset k) const {
        const auto found = std::ranges::lower_bound(terms, k, {}, &Terms::value_type::first);
        return found == terms.end() || found->first != k ? 0 : found->second;
    }
    void add(double factor, const Row& other) {
        largest = std::max(largest, std::abs(factor) * other.largest);
        terms = sum_of(terms, factor, other.terms, cancellation * largest);
        origins = sum_of(origins, factor, other.origins, 0);
        value += factor * other.value;
        size += std::abs(factor) * other.size;
    }
    void scale(double factor) {
        for (auto& term : terms) term.second *= factor;
        for (auto& term : origins) term.second *= factor;
        value *= factor;
        size *= std::abs(factor);
        largest *= std::abs(factor);
    }
};

class Elimination {
  public:
    Elimination(const Model& model, const NodeElements& node_elements, System& system)
        : model_(model),
          node_elements_(node_elements),
          system_(system),
          axes_of_nodes_(system, model.mesh.node_count()),
          row_of_(system.unknowns.size(), -1) {}

    std::vector<ReducedEquation> run() {
        for (std::size_t number = 0; number < model_.equations.size(); ++number) add(number);
        std::vector<ReducedEquation> found;
        for (const auto& [row, dependent] : rows_) found.push_back(finish(row, dependent));
        std::ranges::sort(system_.dependents, {}, &System::Dependent::displacement);
        return found;
    }

  private:
    std::size_t d_() const { return std::size_t(model_.mesh.dimensions); }
    bool is_free(Offset k) const { return system_.unknowns[std::size_t(k)] >= 0; }

    std::string node_text(Index node) const {
        const Vector at = point_of(model_.mesh, node);
        std::string text = concat("node ", node, " at (");
        for (std::size_t i = 0; i < d_(); ++i) text += (i > 0 ? ", " : "") + number_text(at[i]);
        return text + ")";
    }
    std::string title(const Equation& equation) const {
        return concat("the equation '", equation.name, "' of ",
                      node_text(equation.terms.front().node));
    }

    void check(const Equation& equation) const {
        require(!equation.terms.empty() && std::isfinite(equation.value), "the equation '",
                equation.name, "' has no terms, or its value is not a number");
        for (const EquationTerm& term : equation.terms) {
            require(term.node >= 0 && term.node < model_.mesh.node_count(), "the equation '",
                    equation.name, "' names node ", term.node, "; the mesh has ",
                    model_.mesh.node_count(), " nodes, counted from 0");
            require(!node_elements_[term.node].empty(), "the equation '", equation.name,
                    "' is on node ", term.node, ", which belongs to no element");
            require(term.axis >= 0 && term.axis < model_.mesh.dimensions, "the equation '",
                    equation.name, "' names axis ",
                    term.axis == 2 ? "z" : std::to_string(term.axis), "; the mesh has ",
                    model_.mesh.dimensions, " dimensions");
            require(std::isfinite(term.coefficient), "the equation '", equation.name,
                    "' has a coefficient that is not a number");
        }
    }

    /// An equation of the model along the axes of its nodes.
    Row row_of(std::size_t number) const {
        const Equation& equation = model_.equations[number];
        check(equation);
        Row row{{}, {{Offset(number), 1}}, equation.value, std::abs(equation.value)};
        std::vector<Terms::value_type> all;
        for (const auto& [node, axis, coefficient] : equation.terms) {
            const Offset first = Offset(node) * model_.mesh.dimensions;
            const Axes* const axes = axes_of_nodes_.find(node);
            if (axes == nullptr) {
                all.emplace_back(first + axis, coefficient);
                continue;
            }
            for (std::size_t j = 0; j < d_(); ++j) {
                all.emplace_back(first + Offset(j), coefficient * (*axes)[j][std::size_t(axis)]);
            }
        }
        std::ranges::stable_sort(all, {}, &Terms::value_type::first);
        for (const auto& term : all) {
            if (!row.terms.empty() && row.terms.back().first == term.first) {
                row.terms.back().second += term.second;
            } else {
                row.terms.push_back(term);
            }
        }
        for (const auto& [k, value] : row.terms)
            row.largest = std::max(row.largest, std::abs(value));
        std::erase_if(row.terms, [&](const auto& term) {
            return std::abs(term.second) <= cancellation * row.largest;
        });
        return row;
    }

    /// The displacement to eliminate: the first one of the equation as it was given, if it is as
    /// good as others, else that of the largest coefficient; if possible one that no other
    /// equation has. -1: there is none, but for rounding errors.
    Offset pivot_of(const Row& row, const Equation& equation) const {
        double largest = 0;
        for (const auto& [k, value] : row.terms) {
            if (is_free(k)) largest = std::max(largest, std::abs(value));
        }
        if (!(largest > redundant * row.largest)) return -1;
        const Offset hint = Offset(equation.terms.front().node) * model_.mesh.dimensions +
                            equation.terms.front().axis;
        Offset best = -1;
        double best_score = 0;
        for (const auto& [k, value] : row.terms) {
            if (!is_free(k)) continue;
            const double size = std::abs(value) / largest;
            const bool is_new = !users_.contains(k) && size > 0.3;
            const double score = size + (is_new ? 2 : 0) + (is_new && k == hint ? 1 : 0);
            if (!(score > best_score)) continue;
            best_score = score;
            best = k;
        }
        return best;
    }

    void add(std::size_t number) {
        const Equation& equation = model_.equations[number];
        Row row = row_of(number);
        const Terms given = row.terms;
        for (const auto& [k, value] : given) {
            const Index other = row_of_[std::size_t(k)];
            if (other >= 0) row.add(-value, rows_[std::size_t(other)].first);
        }
        const Offset pivot = pivot_of(row, equation);
        if (pivot < 0) return check_redundant(row, equation);
        row.scale(1 / row.at(pivot));
        const auto own = Index(rows_.size());
        std::vector<Index> users;
        if (const auto found = users_.find(pivot); found != users_.end()) {
            users = std::move(found->second);
            users_.erase(found);
        }
        row_of_[std::size_t(pivot)] = own;
        for (const Index user : users) {
            Row& other = rows_[std::size_t(user)].first;
            const double share = other.at(pivot);
            if (share == 0) continue;
            other.add(-share, row);
            use(row, pivot, user);
        }
        use(row, pivot, own);
        rows_.emplace_back(std::move(row), pivot);
    }

    /// Notes that the equation of a number has the terms of a row.
    void use(const Row& row, Offset pivot, Index number) {
        std::size_t count = 0;
        for (const auto& [k, value] : row.terms) {
            if (k == pivot || !is_free(k)) continue;
            std::vector<Index>& users = users_[k];
            if (users.empty() || users.back() != number) users.push_back(number);
            ++count;
        }
        if (count <= max_terms) return;
        const Equation& equation = model_.equations[std::size_t(row.origins.back().first)];
        throw InvalidArgument(
            concat(title(equation), " lets one displacement follow from ", count,
                   " others, at most ", max_terms,
                   ": the matrix would be dense; use fewer nodes, or a rigid body in their place"));
    }

    void check_redundant(const Row& row, const Equation& equation) const {
        double sum = 0, size = row.size;
        for (const auto& [k, value] : row.terms) {
            sum += value * system_.prescribed[std::size_t(k)];
            size += row.largest * std::abs(system_.prescribed[std::size_t(k)]);
        }
        require(std::abs(sum - row.value) <= 1e-8 * size, title(equation),
                " contradicts supports or other equations: what they leave of it is ",
                number_text(sum), " = ", number_text(row.value),
                "; remove it, or free a displacement that it names");
    }

    ReducedEquation finish(const Row& row, Offset dependent) {
        ReducedEquation found{dependent, {}, row.value, row.origins};
        System::Dependent follows{dependent};
        double constant = row.value;
        for (const auto& [k, value] : row.terms) {
            if (k == dependent) continue;
            found.terms.emplace_back(k, value);
            if (is_free(k)) {
                follows.terms.emplace_back(k, -value);
            } else {
                constant -= value * system_.prescribed[std::size_t(k)];
            }
        }
        const bool is_fixed = follows.terms.empty();
        system_.prescribed[std::size_t(dependent)] = constant;
        system_.unknowns[std::size_t(dependent)] = is_fixed ? -1 : -2;
        if (!is_fixed) system_.dependents.push_back(std::move(follows));
        return found;
    }

    const Model& model_;
    const NodeElements& node_elements_;
    System& system_;
    AxesOfNodes axes_of_nodes_;
    std::vector<Index> row_of_;  ///< By displacement, the row that eliminates it; -1: none.
    std::vector<std::pair<Row, Offset>> rows_;  ///< With the displacements that they eliminate.
    /// The rows with each of the other displacements that are unknowns, and perhaps some without.
    std::unordered_map<Offset, std::vector<Index>> users_;
};

}  // namespace

std::vector<ReducedEquation> eliminate_equations(const Model& model,
                                                 const NodeElements& node_elements,
                                                 System& system) {
    if (model.equations.empty()) return {};
    return Elimination(model, node_elements, system).run();
}

}  // namespace tessera::elasticity
