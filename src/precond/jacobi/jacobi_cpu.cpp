#include <cmath>
#include <limits>

#include "base/parallel.hpp"
#include "precond/jacobi/kernels.hpp"

namespace tessera::cpu {

namespace {

template <class T>
T diagonal_entry(const CsrView<T>& matrix, Index row) {
    const Index* first = matrix.column_indices + matrix.row_offsets[row];
    const Index* last = matrix.column_indices + matrix.row_offsets[row + 1];
    const Index* found = std::lower_bound(first, last, row);
    return found != last && *found == row ? matrix.values[found - matrix.column_indices] : T(0);
}

template <class T>
T replacement(T entry, SingularPolicy policy) {
    if (!std::isfinite(entry) || policy == SingularPolicy::stop) {
        return std::numeric_limits<T>::quiet_NaN();
    }
    if (policy == SingularPolicy::generalised) return T(0);
    if (policy == SingularPolicy::identity) return T(1);
    return T(1) / (entry + std::sqrt(std::numeric_limits<T>::epsilon()));
}

}  // namespace

template <class T>
void inverse_diagonal(const Context& context, const CsrView<T>& matrix, SingularPolicy policy,
                      T* inverse, Index* info) {
    parallel_ranges(context.threads(), matrix.rows, [&](Offset first, Offset last) {
        for (Offset i = first; i < last; ++i) {
            const T entry = diagonal_entry(matrix, Index(i));
            const T reciprocal = T(1) / entry;
            const bool good = std::isfinite(entry) && std::isfinite(reciprocal);
            info[i] = good ? 0 : 1;
            inverse[i] = good ? reciprocal : replacement(entry, policy);
        }
    });
}

template void inverse_diagonal<float>(const Context&, const CsrView<float>&, SingularPolicy, float*,
                                      Index*);
template void inverse_diagonal<double>(const Context&, const CsrView<double>&, SingularPolicy,
                                       double*, Index*);

}  // namespace tessera::cpu
