#include <algorithm>
#include <atomic>
#include <cmath>
#include <vector>

#include "base/parallel.hpp"
#include "sparse/symmetry/kernels.hpp"

namespace tessera::cpu {

namespace {

/// Finds the entries (j, i) for rows i that do not descend: each row j is searched once, and from
/// then on read forwards.
template <class T>
class FindMirrorImages {
  public:
    explicit FindMirrorImages(const CsrView<T>& matrix)
        : matrix_(matrix), next_(std::size_t(matrix.rows), -1) {}

    /// The position of the entry (j, i), -1 if it is not stored.
    Offset operator()(Index i, Index j) {
        const Index* const columns = matrix_.column_indices;
        const Offset end = matrix_.row_offsets[j + 1];
        Offset& k = next_[std::size_t(j)];
        if (k < 0) {
            k = std::lower_bound(columns + matrix_.row_offsets[j], columns + end, i) - columns;
        } else {
            while (k < end && columns[k] < i) ++k;
        }
        return k < end && columns[k] == i ? k : Offset(-1);
    }

  private:
    const CsrView<T>& matrix_;
    std::vector<Offset> next_;  ///< In each row; -1: not searched yet.
};

/// max |a_ij| of row i.
template <class T>
T largest_of_row(const CsrView<T>& matrix, Index i) {
    T largest = 0;
    for (Offset k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k) {
        largest = std::max(largest, std::abs(matrix.values[k]));
    }
    return largest;
}

/// max |a_ij| of each row.
template <class T>
std::vector<T> largest_of_rows(const Context& context, const CsrView<T>& matrix) {
    std::vector<T> largest(std::size_t(matrix.rows), T(0));
    const auto find_largest = [&](Offset first, Offset last) {
        for (Offset i = first; i < last; ++i) largest[i] = largest_of_row(matrix, Index(i));
    };
    parallel_ranges(context.threads(), matrix.rows, find_largest, 1024);
    return largest;
}

/// Whether entry k of row i is finite and differs from its mirror image by no more than rounding.
template <class T>
bool is_rounding(const CsrView<T>& matrix, Index i, Offset k) {
    const Index j = matrix.column_indices[k];
    const Offset mirror = find_csr_entry(matrix, j, i);
    const T image = mirror >= 0 ? matrix.values[mirror] : T(0);
    return std::isfinite(matrix.values[k]) &&
           std::abs(matrix.values[k] - image) <=
               mirror_tolerance(largest_of_row(matrix, i), largest_of_row(matrix, j));
}

/// What is known of a matrix after a look at all of its entries, or at some of them.
enum class Symmetry : int { holds, unknown, fails };

/// Compares the entries below the diagonal with those above it: rows are read from first to last,
/// and the next entry of a row j that was read is the mirror image of the next entry in column j.
/// Fails where entries differ by more than rounding; unknown where they differ by more than
/// allowed, or some have no mirror image. Without `largest` they must be equal.
template <class T>
Symmetry compare_in_order(const Context& context, const CsrView<T>& matrix, const T* largest) {
    const Index* const columns = matrix.column_indices;
    std::atomic<Offset> excess{0};  // Entries below the diagonal less those above it.
    std::atomic<Symmetry> found{Symmetry::holds};
    const auto compare = [&](Offset first, Offset last) {
        std::vector<Offset> next(std::size_t(last), -1);
        Offset own_excess = 0;
        for (Index i = Index(first); i < Index(last); ++i) {
            if (found != Symmetry::holds) return;
            const auto differ = [&](Offset k) {
                found = is_rounding(matrix, i, k) ? Symmetry::unknown : Symmetry::fails;
            };
            const Offset begin = matrix.row_offsets[i], end = matrix.row_offsets[i + 1];
            Offset k = begin;
            for (; k < end && columns[k] < i; ++k) {
                const Index j = columns[k];
                Offset& mirror = next[std::size_t(j)];
                if (mirror < 0) {  // Row j is of another thread.
                    mirror = std::lower_bound(columns + matrix.row_offsets[j],
                                              columns + matrix.row_offsets[j + 1], i) -
                             columns;
                }
                if (mirror >= matrix.nonzeros || columns[mirror] != i) return differ(k);
                const T tolerance =
                    largest != nullptr ? mirror_tolerance(largest[i], largest[j]) : T(0);
                const T difference = std::abs(matrix.values[k] - matrix.values[mirror]);
                if (!(difference <= tolerance)) return differ(k);
                ++mirror;
            }
            own_excess += k - begin;
            if (k < end && columns[k] == i) {
                if (!std::isfinite(matrix.values[k])) return differ(k);
                ++k;
            }
            next[std::size_t(i)] = k;
            own_excess -= end - k;
        }
        for (std::size_t j = 0; j < next.size(); ++j) {
            if (next[j] > matrix.row_offsets[j + 1]) found = Symmetry::unknown;
        }
        excess += own_excess;
    };
    parallel_ranges(context.threads(), matrix.rows, compare, 1024);
    return found == Symmetry::holds && excess != 0 ? Symmetry::unknown : found.load();
}

/// Compares all entries, of which some may have no mirror image.
template <class T>
SymmetryFindings compare_each(const Context& context, const CsrView<T>& matrix, const T* largest) {
    std::atomic<Offset> fault{matrix.nonzeros};
    std::atomic<bool> unpaired{false};
    const auto check = [&](Offset first, Offset last) {
        FindMirrorImages<T> mirror_image(matrix);
        for (Index i = Index(first); i < Index(last); ++i) {
            for (Offset k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k) {
                const Index j = matrix.column_indices[k];
                const Mirrored mirrored =
                    compare_mirror_image(matrix, largest, i, j, k, mirror_image(i, j));
                if (mirrored == Mirrored::yes) continue;
                if (mirrored == Mirrored::unpaired) {
                    unpaired = true;
                    continue;
                }
                Offset known = fault;
                while (k < known && !fault.compare_exchange_weak(known, k)) {
                }
                return;
            }
        }
    };
    parallel_ranges(context.threads(), matrix.rows, check, 1024);
    return {fault, unpaired && fault == matrix.nonzeros};
}

}  // namespace

template <class T>
SymmetryFindings compare_mirror_images(const Context& context, const CsrView<T>& matrix,
                                       bool any_fault) {
    // Many matrices are symmetric to the last bit, and need no tolerances.
    Symmetry found = compare_in_order<T>(context, matrix, nullptr);
    if (found == Symmetry::holds) return {matrix.nonzeros, false};
    if (found == Symmetry::fails && any_fault) return {0, false};
    const std::vector<T> largest = largest_of_rows(context, matrix);
    if (found == Symmetry::unknown) found = compare_in_order(context, matrix, largest.data());
    if (found == Symmetry::holds) return {matrix.nonzeros, false};
    if (found == Symmetry::fails && any_fault) return {0, false};
    return compare_each(context, matrix, largest.data());
}

template SymmetryFindings compare_mirror_images<float>(const Context&, const CsrView<float>&, bool);
template SymmetryFindings compare_mirror_images<double>(const Context&, const CsrView<double>&,
                                                        bool);

}  // namespace tessera::cpu
