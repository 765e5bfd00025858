#include <vector>

#include "base/parallel.hpp"
#include "precond/block_ldlt/numeric/kernels.hpp"

namespace tessera::block_ldlt::cpu {

template <class T>
void diagonal_product(const Context& context, const PatternView<T>& a, const T* inverses,
                      const T* x, T* y) {
    const Index k = a.k;
    parallel_ranges(
        context.threads(), a.block_rows,
        [&](Offset first, Offset last) {
            for (Offset i = first; i < last; ++i) {
                const T* block = inverses + i * k * k;
                T* to = y + i * k;
                std::fill(to, to + k, T(0));
                for (Index column = 0; column < k; ++column) {
                    const T factor = x[i * k + column];
                    for (Index row = 0; row < k; ++row) to[row] += block[row + column * k] * factor;
                }
            }
        },
        std::max<Offset>(1, parallel_grain / (k * k)));
}

template <class T>
void solve_by_levels(const Context& context, const PatternView<T>& a, std::span<const Index> levels,
                     const SolveTasks<T>& /*tasks*/, const T* v, const T* inverses, T* x,
                     T* /*middle*/, T* y, unsigned* /*started*/) {
    for (std::size_t l = 1; l + 1 < levels.size(); ++l) {
        cpu::lower_product(context, a, levels[l], levels[l + 1], v, T(-1), x, x, x);
    }
    cpu::diagonal_product(context, a, inverses, x, y);
    for (std::size_t l = levels.size(); l-- > 2;) {
        cpu::upper_product(context, a, levels[l - 2], levels[l - 1], v, T(-1), y, y, y);
    }
}

template <class T>
void factor_product(const Context& context, const PatternView<T>& a, const T* factors,
                    const Index* permutations, const T* x, T* y) {
    const Index k = a.k;
    parallel_ranges(
        context.threads(), a.block_rows,
        [&](Offset first, Offset last) {
            std::vector<T> upper(static_cast<std::size_t>(k)), middle(upper);
            for (Offset i = first; i < last; ++i) {
                const T* f = factors + i * k * k;
                const Index* p = permutations + i * k;
                for (Index s = 0; s < k; ++s) {
                    T sum = x[i * k + p[s]];
                    for (Index r = s + 1; r < k; ++r) sum += f[r + s * k] * x[i * k + p[r]];
                    upper[std::size_t(s)] = sum;
                }
                for (Index s = 0; s < k; ++s)
                    middle[std::size_t(s)] = f[s + s * k] * upper[std::size_t(s)];
                for (Index s = 0; s + 1 < k; ++s) {
                    const T off = f[s + (s + 1) * k];
                    middle[std::size_t(s)] += off * upper[std::size_t(s) + 1];
                    middle[std::size_t(s) + 1] += off * upper[std::size_t(s)];
                }
                for (Index s = 0; s < k; ++s) {
                    T sum = middle[std::size_t(s)];
                    for (Index r = 0; r < s; ++r) sum += f[s + r * k] * middle[std::size_t(r)];
                    y[i * k + p[s]] = sum;
                }
            }
        },
        std::max<Offset>(1, parallel_grain / (k * k)));
}

template <class T>
void matrix_product(const Context& context, const PatternView<T>& a, const T* x, T* y) {
    const Index k = a.k;
    // f(row, column, value) for the entries of an item.
    const auto visit = [&](Offset item, auto&& f) {
        for (Offset e = a.entry_offsets[item]; e < a.entry_offsets[item + 1]; ++e) {
            f(a.places[e] % k, a.places[e] / k, a.values[e]);
        }
    };
    const Offset entries = a.entry_offsets[a.blocks + a.block_rows];
    const Offset grain = parallel_grain / (1 + entries / std::max<Offset>(1, a.block_rows));
    parallel_ranges(
        context.threads(), a.block_rows,
        [&](Offset first, Offset last) {
            for (Offset i = first; i < last; ++i) {
                T* to = y + i * k;
                const T* own = x + i * k;
                std::fill(to, to + k, T(0));
                for (Offset e = a.row_offsets[i]; e < a.row_offsets[i + 1]; ++e) {
                    const Index block = a.row_blocks[e];
                    const T* from = x + Offset(a.columns[block]) * k;
                    visit(block, [&](Index r, Index c, T value) { to[r] += value * from[c]; });
                }
                visit(a.blocks + i, [&](Index r, Index c, T value) {
                    to[r] += value * own[c];
                    if (r != c) to[c] += value * own[r];
                });
                for (Offset b = a.column_offsets[i]; b < a.column_offsets[i + 1]; ++b) {
                    const T* from = x + Offset(a.rows[b]) * k;
                    visit(b, [&](Index r, Index c, T value) { to[c] += value * from[r]; });
                }
            }
        },
        std::max<Offset>(1, grain));
}

template <class T>
void gather_values(const Context& context, Offset count, const Offset* source,
                   const Index* row_slots, const Index* column_slots, const Index* slots,
                   const T* scale, const T* matrix, T* values) {
    parallel_ranges(context.threads(), count, [&](Offset first, Offset last) {
        for (Offset e = first; e < last; ++e) {
            values[e] = source[e] < 0 ? T(1)
                                      : scale[slots[row_slots[e]]] * matrix[source[e]] *
                                            scale[slots[column_slots[e]]];
        }
    });
}

template <class T>
void gather(const Context& context, Offset count, const Index* slots, const T* scale, const T* r,
            T* x) {
    parallel_ranges(context.threads(), count, [&](Offset first, Offset last) {
        for (Offset s = first; s < last; ++s) {
            x[s] = slots[s] < 0 ? T(0) : scale[slots[s]] * r[slots[s]];
        }
    });
}

template <class T>
void scatter(const Context& context, Offset count, const Index* slots, const T* scale, const T* x,
             T* z) {
    parallel_ranges(context.threads(), count, [&](Offset first, Offset last) {
        for (Offset s = first; s < last; ++s) {
            if (slots[s] >= 0) z[slots[s]] = scale[slots[s]] * x[s];
        }
    });
}

#define TESSERA_INSTANTIATE(T)                                                                     \
    template void solve_by_levels<T>(const Context&, const PatternView<T>&,                        \
                                     std::span<const Index>, const SolveTasks<T>&, const T*,       \
                                     const T*, T*, T*, T*, unsigned*);                             \
    template void diagonal_product<T>(const Context&, const PatternView<T>&, const T*, const T*,   \
                                      T*);                                                         \
    template void factor_product<T>(const Context&, const PatternView<T>&, const T*, const Index*, \
                                    const T*, T*);                                                 \
    template void matrix_product<T>(const Context&, const PatternView<T>&, const T*, T*);          \
    template void gather_values<T>(const Context&, Offset, const Offset*, const Index*,            \
                                   const Index*, const Index*, const T*, const T*, T*);            \
    template void gather<T>(const Context&, Offset, const Index*, const T*, const T*, T*);         \
    template void scatter<T>(const Context&, Offset, const Index*, const T*, const T*, T*);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)
#undef TESSERA_INSTANTIATE

}  // namespace tessera::block_ldlt::cpu
