#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>

#include "base/check_time.hpp"
#include "base/checks.hpp"
#include "tessera/detail/ordering.hpp"

namespace tessera {

namespace {

/// Eliminates the rows of a symmetric pattern in a quotient graph. Its variables are rows, or
/// several rows with the same neighbours. A pivot becomes an element, whose list holds the
/// variables that it couples. The list of a variable begins with the elements that it is in;
/// variables that it is coupled with by the matrix alone follow.
class QuotientGraph {
  public:
    QuotientGraph(Index rows, const Offset* offsets, const Index* columns);
    /// Orders the rows as they are eliminated, in a postorder of the tree of elements.
    std::vector<Index> order();

  private:
    void fill_lists(const Offset* offsets, const Index* columns);
    [[gnu::always_inline]] inline void insert(Index variable);
    [[gnu::always_inline]] inline void remove(Index variable);
    Index take_pivot();
    void make_space(Offset entries);
    void form_element(Index pivot);
    void append(Index variable);
    void absorb(Index vertex, Index into);
    void count_outside(Index pivot);
    void update_variable(Index variable, Index pivot);
    void chain(Index variable, Index hash);
    void merge_equals(Index pivot);
    void merge_with_equals(Index variable);
    void complete_element(Index pivot);
    void raise_stamp(Index by);
    std::vector<Index> pivot_of_rows() const;
    std::vector<Index> postorder() const;

    struct Vertex {
        Offset start = 0;    ///< Where its list begins in lists_.
        Index length = 0;    ///< Entries of the list.
        Index elements = 0;  ///< Entries of a variable's list that are elements.
        /// Rows of a variable, negative while it is in the element that is made; 0: no variable.
        Index weight = 1;
        Index degree = 0;  ///< Rows in an element; at most so many are next to a variable.
        /// A stamp; of an element that overlaps the latest one, that plus the rows that are in it
        /// alone; 0: absorbed.
        Index mark = 1;
        Index absorbed_by = -1;  ///< Parent of an element, or what a variable was merged with.
        /// In the list of variables of a degree; or in the chain of a hash, which is `previous`.
        Index next = -1, previous = -1;
    };

    std::span<Index> list(const Vertex& vertex) {
        return {lists_.data() + vertex.start, std::size_t(vertex.length)};
    }
    void count_steps(Offset steps) {
        steps_ += steps;
        if (steps_ < 500'000) return;
        steps_ = 0;
        check_time();
    }

    const Index rows_;
    std::vector<Vertex> vertices_;
    std::vector<Index> lists_;
    Offset free_ = 0;                   ///< Where the unused end of lists_ begins.
    std::vector<Index> head_, chains_;  ///< The first variable of each degree and hash, or -1.
    std::vector<Index> pivots_;
    Index stamp_ = 2;       ///< Larger than all marks when a pivot is taken.
    Index max_degree_ = 0;  ///< The largest one of an element.
    Index min_degree_;      ///< No variable has less.
    Index eliminated_ = 0;  ///< Rows, with dense ones, which are ordered last.
    Offset steps_ = 0;
};

QuotientGraph::QuotientGraph(Index rows, const Offset* offsets, const Index* columns)
    : rows_(rows),
      vertices_(std::size_t(rows)),
      head_(std::size_t(rows), -1),
      chains_(std::size_t(rows), -1),
      min_degree_(rows) {
    pivots_.reserve(std::size_t(rows));
    fill_lists(offsets, columns);
}

void QuotientGraph::fill_lists(const Offset* offsets, const Index* columns) {
    const Offset entries = offsets[rows_];
    lists_.resize(std::size_t(entries + entries / 5 + rows_));
    const double dense = std::max(16.0, 10 * std::sqrt(double(rows_)));
    for (Index i = 0; i < rows_; ++i) {
        Vertex& row = vertices_[i];
        row.start = free_;
        for (Offset k = offsets[i]; k < offsets[i + 1]; ++k) {
            if (columns[k] != i) lists_[free_++] = columns[k];
        }
        row.length = Index(free_ - row.start);
        row.degree = std::min(row.length, rows_ - 1);
        count_steps(row.length);
        if (double(row.length) <= dense) continue;
        row.weight = row.length = 0;
        free_ = row.start;
        ++eliminated_;
    }
    for (Index i = 0; i < rows_; ++i) {
        if (vertices_[i].weight > 0) insert(i);
    }
}

void QuotientGraph::insert(Index variable) {
    Vertex& v = vertices_[variable];
    v.next = head_[v.degree];
    v.previous = -1;
    if (v.next >= 0) vertices_[v.next].previous = variable;
    head_[v.degree] = variable;
    min_degree_ = std::min(min_degree_, v.degree);
}

void QuotientGraph::remove(Index variable) {
    const Vertex& v = vertices_[variable];
    if (v.next >= 0) vertices_[v.next].previous = v.previous;
    (v.previous >= 0 ? vertices_[v.previous].next : head_[v.degree]) = v.next;
}

Index QuotientGraph::take_pivot() {
    while (head_[min_degree_] < 0) ++min_degree_;
    const Index pivot = head_[min_degree_];
    remove(pivot);
    pivots_.push_back(pivot);
    eliminated_ += std::exchange(vertices_[pivot].weight, 0);
    return pivot;
}

/// Moves the lists together where a new one does not fit after them. All lists never have more
/// entries than the matrix.
void QuotientGraph::make_space(Offset entries) {
    if (free_ + entries <= Offset(lists_.size())) return;
    std::vector<Index> packed(lists_.size());
    free_ = 0;
    for (Vertex& vertex : vertices_) {
        std::ranges::copy(list(vertex), packed.begin() + free_);
        vertex.start = free_;
        free_ += vertex.length;
    }
    count_steps(free_);
    lists_ = std::move(packed);
}

/// Adds a variable to the element that is made, unless it is in it.
void QuotientGraph::append(Index variable) {
    Index& weight = vertices_[variable].weight;
    if (weight <= 0) return;
    weight = -weight;
    lists_[free_++] = variable;
    remove(variable);
}

void QuotientGraph::absorb(Index vertex, Index into) {
    Vertex& v = vertices_[vertex];
    v.absorbed_by = into;
    v.weight = v.mark = v.length = 0;
}

/// Makes the pivot an element, of the variables that it is coupled with and those of its elements,
/// which end.
void QuotientGraph::form_element(Index pivot) {
    Vertex& p = vertices_[pivot];
    const bool in_place = p.elements == 0;
    if (!in_place) make_space(p.degree);
    const Offset own = p.start, end = free_;
    if (in_place) free_ = own;
    const Offset first = free_;
    for (Index k = 0; k < p.elements; ++k) {
        const Index element = lists_[own + k];
        const Vertex& e = vertices_[element];
        count_steps(e.length);
        for (Index q = 0; q < e.length; ++q) append(lists_[e.start + q]);
        absorb(element, pivot);
    }
    for (Index k = p.elements; k < p.length; ++k) append(lists_[own + k]);
    p.start = first;
    p.length = Index(free_ - first);
    if (in_place) free_ = end;
    p.degree = 0;
    for (const Index i : list(p)) p.degree -= vertices_[i].weight;
    max_degree_ = std::max(max_degree_, p.degree);
}

/// Marks the elements that the pivot's variables are in by their rows that are not in the pivot's.
void QuotientGraph::count_outside(Index pivot) {
    for (const Index i : list(vertices_[pivot])) {
        const Vertex& v = vertices_[i];
        count_steps(v.elements);
        for (const Index element : list(v).first(std::size_t(v.elements))) {
            Vertex& e = vertices_[element];
            if (e.mark >= stamp_) {
                e.mark += v.weight;
            } else if (e.mark != 0) {
                e.mark = e.degree + stamp_ + v.weight;
            }
        }
    }
}

/// Puts the pivot's element first into the list of a variable, removes what that covers, and finds
/// the rest of its degree.
void QuotientGraph::update_variable(Index variable, Index pivot) {
    Vertex& v = vertices_[variable];
    const std::span<Index> own = list(v);
    count_steps(v.length);
    std::size_t kept = 0;
    Offset degree = 0;
    std::uint32_t hash = 0;
    for (const Index element : own.first(std::size_t(v.elements))) {
        const Index mark = vertices_[element].mark;
        if (mark == stamp_) absorb(element, pivot);  // All of it is in the pivot's.
        if (mark == stamp_ || mark == 0) continue;
        degree += mark - stamp_;
        hash += std::uint32_t(element);
        own[kept++] = element;
    }
    const std::size_t elements = kept;
    for (const Index other : own.subspan(std::size_t(v.elements))) {
        if (vertices_[other].weight <= 0) continue;
        degree += vertices_[other].weight;
        hash += std::uint32_t(other);
        own[kept++] = other;
    }
    if (kept == 0) {  // It is eliminated with the pivot.
        eliminated_ -= v.weight;
        vertices_[pivot].degree += v.weight;
        return absorb(variable, pivot);
    }
    require(kept < own.size(), "minimum_degree: the pattern is not symmetric");
    own[kept] = own[elements];
    own[elements] = own[0];
    own[0] = pivot;
    v.elements = Index(elements) + 1;
    v.length = Index(kept) + 1;
    v.degree = Index(std::min<Offset>(v.degree, degree));
    chain(variable, Index(hash % std::uint32_t(rows_)));
}

void QuotientGraph::chain(Index variable, Index hash) {
    vertices_[variable].next = std::exchange(chains_[hash], variable);
    vertices_[variable].previous = hash;
}

/// Merges variables of the pivot's element whose lists are equal.
void QuotientGraph::merge_equals(Index pivot) {
    for (const Index i : list(vertices_[pivot])) {
        if (vertices_[i].weight == 0) continue;
        Index first = std::exchange(chains_[vertices_[i].previous], -1);
        for (; first >= 0 && vertices_[first].next >= 0; first = vertices_[first].next) {
            merge_with_equals(first);
        }
    }
}

/// Merges a variable with equal ones that follow it in its chain.
void QuotientGraph::merge_with_equals(Index variable) {
    Vertex& v = vertices_[variable];
    for (const Index entry : list(v)) vertices_[entry].mark = stamp_;
    Index before = variable;
    for (Index other = v.next; other >= 0; other = vertices_[before].next) {
        const Vertex& o = vertices_[other];
        count_steps(o.length);
        const auto is_marked = [this](Index entry) { return vertices_[entry].mark == stamp_; };
        if (o.length == v.length && o.elements == v.elements &&
            std::ranges::all_of(list(o), is_marked)) {
            v.weight += o.weight;
            vertices_[before].next = o.next;
            absorb(other, variable);
        } else {
            before = other;
        }
    }
    raise_stamp(1);
}

/// Removes merged variables from the pivot's element, and sorts the others by degree again.
void QuotientGraph::complete_element(Index pivot) {
    Vertex& p = vertices_[pivot];
    const std::span<Index> own = list(p);
    std::size_t kept = 0;
    for (const Index i : own) {
        Vertex& v = vertices_[i];
        if (v.weight == 0) continue;
        v.weight = -v.weight;
        const Offset left = rows_ - eliminated_ - v.weight;
        v.degree = Index(std::min(Offset(v.degree) + p.degree - v.weight, left));
        insert(i);
        own[kept++] = i;
    }
    if (p.start + p.length == free_) free_ = p.start + Offset(kept);
    p.length = Index(kept);
}

void QuotientGraph::raise_stamp(Index by) {
    stamp_ += by;
    if (stamp_ <= std::numeric_limits<Index>::max() - rows_) return;
    for (Vertex& vertex : vertices_) vertex.mark = vertex.mark == 0 ? 0 : 1;
    stamp_ = 2;
}

std::vector<Index> QuotientGraph::order() {
    while (eliminated_ < rows_) {
        const Index pivot = take_pivot();
        form_element(pivot);
        count_outside(pivot);
        for (const Index i : list(vertices_[pivot])) update_variable(i, pivot);
        raise_stamp(max_degree_);
        merge_equals(pivot);
        complete_element(pivot);
        count_steps(1);
    }
    return postorder();
}

/// The pivot that each row was eliminated with; -1: dense.
std::vector<Index> QuotientGraph::pivot_of_rows() const {
    std::vector<Index> result(std::size_t(rows_), -1), path;
    for (const Index pivot : pivots_) result[pivot] = pivot;
    for (Index i = 0; i < rows_; ++i) {
        Index row = i;
        for (; result[row] < 0 && vertices_[row].absorbed_by >= 0;
             row = vertices_[row].absorbed_by) {
            path.push_back(row);
        }
        for (const Index merged : path) result[merged] = result[row];
        path.clear();
    }
    return result;
}

/// The child with the most rows in its column of the factor is the last.
std::vector<Index> QuotientGraph::postorder() const {
    const auto size = std::size_t(rows_);
    const std::vector<Index> pivot_of = pivot_of_rows();
    std::vector<Index> own(size, 0), largest_child(size, -1);
    for (const Index pivot : pivot_of) {
        if (pivot >= 0) ++own[pivot];
    }
    std::vector<Index> subtree = own;  // Rows of the subtree of a pivot.
    for (const Index pivot : pivots_) {
        const Index parent = vertices_[pivot].absorbed_by;
        if (parent >= 0) subtree[parent] += subtree[pivot];
    }
    const auto rows_of_column = [&](Index pivot) { return own[pivot] + vertices_[pivot].degree; };
    for (Index i = 0; i < rows_; ++i) {
        const Index parent = vertices_[i].absorbed_by;
        if (pivot_of[i] != i || parent < 0) continue;
        Index& largest = largest_child[parent];
        if (largest < 0 || rows_of_column(i) >= rows_of_column(largest)) largest = i;
    }
    // Where the rows of a subtree begin, first relative to those of its parent.
    std::vector<Index> begin(size), children(size, 0);
    Index roots = 0;
    for (Index i = 0; i < rows_; ++i) {
        if (pivot_of[i] != i) continue;
        const Index parent = vertices_[i].absorbed_by;
        if (parent >= 0 && largest_child[parent] == i) {
            begin[i] = subtree[parent] - own[parent] - subtree[i];
        } else {
            Index& before = parent < 0 ? roots : children[parent];
            begin[i] = before;
            before += subtree[i];
        }
    }
    for (std::size_t k = pivots_.size(); k-- > 0;) {
        const Index pivot = pivots_[k], parent = vertices_[pivot].absorbed_by;
        if (parent >= 0) begin[pivot] += begin[parent];
    }
    std::vector<Index> order(size);
    for (Index i = 0; i < rows_; ++i) {
        const Index pivot = pivot_of[i];
        if (pivot < 0) {
            order[std::size_t(roots++)] = i;
        } else if (pivot != i) {
            order[begin[pivot] + subtree[pivot] - own[pivot]--] = i;
        }
    }
    for (const Index pivot : pivots_) order[begin[pivot] + subtree[pivot] - 1] = pivot;
    return order;
}

}  // namespace

std::vector<Index> minimum_degree(Index rows, const Offset* offsets, const Index* columns) {
    if (rows == 0) return {};
    return QuotientGraph(rows, offsets, columns).order();
}

}  // namespace tessera
