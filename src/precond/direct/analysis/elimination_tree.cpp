#include "precond/direct/analysis/elimination_tree.hpp"

#include <algorithm>

#include "base/check_time.hpp"

namespace tessera::direct {

namespace {

std::vector<Index> inverse(const std::vector<Index>& order) {
    std::vector<Index> number(order.size());
    for (std::size_t k = 0; k < order.size(); ++k) number[order[k]] = Index(k);
    return number;
}

/// The parents, by paths that are cut short (Liu, algorithm 4.2).
std::vector<Index> find_parents(const PatternView& pattern, const std::vector<Index>& order,
                                const std::vector<Index>& number) {
    std::vector<Index> parent(order.size(), -1), ancestor(order.size(), -1);
    for (Index k = 0; k < pattern.rows; ++k) {
        if (k % 1024 == 0) check_time();
        for (const Index neighbour : pattern.row(order[k])) {
            for (Index j = number[neighbour]; j >= 0 && j < k;) {
                const Index next = ancestor[j];
                ancestor[j] = k;
                if (next < 0) parent[j] = k;
                j = next;
            }
        }
    }
    return parent;
}

std::vector<Index> postorder(const std::vector<Index>& parent) {
    const Index count = Index(parent.size());
    std::vector<Index> first_child(parent.size(), -1), next_child(parent.size(), -1);
    for (Index k = count - 1; k >= 0; --k) {
        if (parent[k] < 0) continue;
        next_child[k] = first_child[parent[k]];
        first_child[parent[k]] = k;
    }
    std::vector<Index> result, path;
    result.reserve(parent.size());
    for (Index root = 0; root < count; ++root) {
        if (parent[root] >= 0) continue;
        path.push_back(root);
        while (!path.empty()) {
            const Index k = path.back();
            if (first_child[k] >= 0) {
                path.push_back(first_child[k]);
                first_child[k] = next_child[first_child[k]];
            } else {
                result.push_back(k);
                path.pop_back();
            }
        }
    }
    return result;
}

/// Column counts from the leaves of row subtrees (Gilbert, Ng, Peyton): `counts` of a postordered
/// tree.
class ColumnCounts {
  public:
    ColumnCounts(const PatternView& pattern, const EliminationTree& tree)
        : pattern_(pattern),
          tree_(tree),
          first_(tree.order.size(), -1),
          last_leaf_(tree.order.size(), -1),
          last_first_(tree.order.size(), -1),
          ancestor_(tree.order.size()) {
        for (std::size_t k = 0; k < ancestor_.size(); ++k) ancestor_[k] = Index(k);
    }

    std::vector<Index> count() {
        const Index columns = Index(tree_.order.size());
        const std::vector<Index>& parent = tree_.parent;
        std::vector<Index> counts(tree_.order.size(), 0);
        for (Index k = 0; k < columns; ++k) {
            if (first_[k] < 0) ++counts[k];  // A leaf of the tree.
            for (Index j = k; j >= 0 && first_[j] < 0; j = parent[j]) first_[j] = k;
        }
        for (Index k = 0; k < columns; ++k) {
            if (k % 1024 == 0) check_time();
            if (parent[k] >= 0) --counts[parent[k]];
            for (const Index neighbour : pattern_.row(tree_.order[k])) {
                const Index row = tree_.number[neighbour];
                if (row > k) add_leaf(k, row, counts);
            }
            if (parent[k] >= 0) ancestor_[k] = parent[k];
        }
        for (Index k = 0; k < columns; ++k) {
            if (parent[k] >= 0) counts[parent[k]] += counts[k];
        }
        for (Index& one : counts) --one;  // The diagonal.
        return counts;
    }

  private:
    /// Adds column k to the subtree of a row, where it is a leaf of that.
    void add_leaf(Index k, Index row, std::vector<Index>& counts) {
        if (first_[k] <= last_first_[row]) return;
        last_first_[row] = first_[k];
        const Index before = last_leaf_[row];
        last_leaf_[row] = k;
        ++counts[k];
        if (before >= 0) --counts[root_of(before)];
    }
    /// The root of the set that a column is in, to which paths are cut short.
    Index root_of(Index k) {
        Index root = k;
        while (ancestor_[root] != root) root = ancestor_[root];
        while (ancestor_[k] != root && k != root) {
            const Index next = ancestor_[k];
            ancestor_[k] = root;
            k = next;
        }
        return root;
    }

    const PatternView& pattern_;
    const EliminationTree& tree_;
    std::vector<Index> first_;  ///< The first descendant.
    /// The last leaf of each row so far, and the first descendant of that.
    std::vector<Index> last_leaf_, last_first_;
    std::vector<Index> ancestor_;
};

}  // namespace

double EliminationTree::flops(bool symmetric) const {
    double sum = 0;
    for (const Index count : counts) sum += double(count) * (double(count) + 1);
    return symmetric ? sum : 2 * sum;
}

EliminationTree make_elimination_tree(const PatternView& pattern, std::vector<Index> order) {
    EliminationTree tree;
    const std::vector<Index> number = inverse(order);
    const std::vector<Index> parent = find_parents(pattern, order, number);
    check_time();
    const std::vector<Index> post = postorder(parent);
    const std::vector<Index> new_number = inverse(post);
    tree.order.resize(order.size());
    tree.parent.resize(order.size());
    for (std::size_t k = 0; k < order.size(); ++k) {
        tree.order[k] = order[post[k]];
        tree.parent[k] = parent[post[k]] < 0 ? -1 : new_number[parent[post[k]]];
    }
    check_time();
    tree.number = inverse(tree.order);
    tree.counts = ColumnCounts(pattern, tree).count();
    return tree;
}

}  // namespace tessera::direct
