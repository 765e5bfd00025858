#include <cmath>
#include <vector>

#include "base/parallel.hpp"
#include "sparse/spectrum/kernels.hpp"

namespace tessera::cpu {

template <class T>
double largest_row_sum(const Context& context, const CsrView<T>& matrix, const T* scaling) {
    constexpr Offset rows_a_part = 4096;
    const Offset parts = matrix.rows / rows_a_part + 1;
    std::vector<double> largest(std::size_t(parts), 0);
    parallel_parts(
        context.threads(), matrix.rows, parts, [&](Offset part, Offset first, Offset last) {
            for (Offset i = first; i < last; ++i) {
                T sum = T(0);
                for (Offset k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k) {
                    sum += std::abs(scaled_value(matrix, scaling, i, k));
                }
                // NaN stays.
                if (!(double(sum) <= largest[part])) largest[part] = double(sum);
                if (std::isnan(sum)) return;
            }
        });
    double result = 0;
    for (const double sum : largest) {
        if (std::isnan(sum)) return sum;
        result = std::max(result, sum);
    }
    return result;
}

template double largest_row_sum<float>(const Context&, const CsrView<float>&, const float*);
template double largest_row_sum<double>(const Context&, const CsrView<double>&, const double*);

}  // namespace tessera::cpu
