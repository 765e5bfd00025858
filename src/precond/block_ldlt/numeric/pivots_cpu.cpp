#include <algorithm>
#include <cmath>
#include <limits>

#include "base/parallel.hpp"
#include "precond/block_ldlt/numeric/kernels.hpp"

namespace tessera::block_ldlt::cpu {

template <class T>
void check_sources(const Context& context, Offset count, const Offset* source,
                   const Index* row_slots, const Index* column_slots, const Index* slots,
                   const CsrView<T>& matrix, int* fault) {
    std::atomic<bool> found{false};
    parallel_ranges(context.threads(), count, [&](Offset first, Offset last) {
        for (Offset e = first; e < last; ++e) {
            if (source[e] < 0) continue;
            const Index row = slots[row_slots[e]], column = slots[column_slots[e]];
            if (source[e] < matrix.row_offsets[row] || source[e] >= matrix.row_offsets[row + 1] ||
                matrix.column_indices[source[e]] != column) {
                found = true;
                return;
            }
        }
    });
    if (found) *fault = 1;
}

template <class T>
void largest_magnitude(const Context& context, Offset count, const T* x, T* partial, T* largest) {
    std::fill(partial, partial + magnitude_parts, T(0));
    parallel_parts(context.threads(), count, magnitude_parts,
                   [&](Offset part, Offset first, Offset last) {
                       for (Offset e = first; e < last; ++e) {
                           partial[part] = std::max(partial[part], std::abs(x[e]));
                       }
                   });
    *largest = *std::max_element(partial, partial + magnitude_parts);
}

template <class T>
void largest_in_diagonals(const Context& context, const PatternView<T>& a, T* largest) {
    parallel_ranges(context.threads(), a.block_rows, [&](Offset first, Offset last) {
        for (Offset i = first; i < last; ++i) {
            largest[i] = T(0);
            const Offset end = a.entry_offsets[a.blocks + i + 1];
            for (Offset e = a.entry_offsets[a.blocks + i]; e < end; ++e) {
                largest[i] = std::max(largest[i], std::abs(a.values[e]));
            }
        }
    });
}

template <class T>
void row_norms(const Context& context, const PatternView<T>& a, T* y) {
    const Index k = a.k;
    parallel_ranges(context.threads(), a.block_rows, [&](Offset first, Offset last) {
        // f(row, column, size) for the entries of an item.
        const auto visit = [&](Offset item, auto&& f) {
            for (Offset e = a.entry_offsets[item]; e < a.entry_offsets[item + 1]; ++e) {
                f(a.places[e] % k, a.places[e] / k, std::abs(a.values[e]));
            }
        };
        for (Offset i = first; i < last; ++i) {
            T* const to = y + i * k;
            std::fill(to, to + k, T(0));
            for (Offset e = a.row_offsets[i]; e < a.row_offsets[i + 1]; ++e) {
                visit(a.row_blocks[e], [&](Index r, Index, T size) { to[r] += size; });
            }
            visit(a.blocks + i, [&](Index r, Index c, T size) {
                to[r] += size;
                if (r != c) to[c] += size;
            });
            for (Offset b = a.column_offsets[i]; b < a.column_offsets[i + 1]; ++b) {
                visit(b, [&](Index, Index c, T size) { to[c] += size; });
            }
        }
    });
}

template <class T>
void set_thresholds(const Context& context, Index count, double epsilon, const T* size,
                    const T* of_block, T* thresholds) {
    const T other = *size > T(0) ? *size : T(1);
    parallel_ranges(context.threads(), count, [&](Offset first, Offset last) {
        for (Offset i = first; i < last; ++i) {
            const bool own = of_block != nullptr && of_block[i] > T(0);
            thresholds[i] = T(epsilon * double(own ? of_block[i] : other));
        }
    });
}

template <class T>
void summarise_pivots(const Context& /*context*/, Index count, const Index* perturbed,
                      const T* smallest, PivotSummary* summary) {
    *summary = {std::numeric_limits<double>::infinity(), 0};
    for (Index i = 0; i < count; ++i) {
        summary->smallest = std::min(summary->smallest, double(smallest[i]));
        summary->perturbed += perturbed[i];
    }
}

#define TESSERA_INSTANTIATE(T)                                                              \
    template void check_sources<T>(const Context&, Offset, const Offset*, const Index*,     \
                                   const Index*, const Index*, const CsrView<T>&, int*);    \
    template void largest_magnitude<T>(const Context&, Offset, const T*, T*, T*);           \
    template void largest_in_diagonals<T>(const Context&, const PatternView<T>&, T*);       \
    template void row_norms<T>(const Context&, const PatternView<T>&, T*);                  \
    template void set_thresholds<T>(const Context&, Index, double, const T*, const T*, T*); \
    template void summarise_pivots<T>(const Context&, Index, const Index*, const T*, PivotSummary*);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)
#undef TESSERA_INSTANTIATE

}  // namespace tessera::block_ldlt::cpu
