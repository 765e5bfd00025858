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

/// max |a_ij| of each row.
template <class T>
std::vector<T> largest_of_rows(const Context& context, const CsrView<T>& matrix) {
    std::vector<T> largest(std::size_t(matrix.rows), T(0));
    const auto find_largest = [&](Offset first, Offset last) {
        for (Offset i = first; i < last; ++i) {
            T most = 0;
            for (Offset k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k) {
                most = std::max(most, std::abs(matrix.values[k]));
            }
            largest[i] = most;
        }
    };
    parallel_ranges(context.threads(), matrix.rows, find_largest, 1024);
    return largest;
}

/// Without `largest` values must be equal, and the fault found is any.
template <class T>
SymmetryFindings check_entries(const Context& context, const CsrView<T>& matrix, const T* largest) {
    std::atomic<Offset> fault{matrix.nonzeros};
    std::atomic<bool> unpaired{false};
    const auto check = [&](Offset first, Offset last) {
        FindMirrorImages<T> mirror_image(matrix);
        for (Index i = Index(first); i < Index(last); ++i) {
            if (largest == nullptr && fault < matrix.nonzeros) return;
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
SymmetryFindings compare_mirror_images(const Context& context, const CsrView<T>& matrix) {
    // Many matrices are symmetric to the last bit, and need no tolerances.
    const auto found = check_entries<T>(context, matrix, nullptr);
    if (found.first_fault == matrix.nonzeros) return found;
    return check_entries<T>(context, matrix, largest_of_rows(context, matrix).data());
}

template SymmetryFindings compare_mirror_images<float>(const Context&, const CsrView<float>&);
template SymmetryFindings compare_mirror_images<double>(const Context&, const CsrView<double>&);

}  // namespace tessera::cpu
