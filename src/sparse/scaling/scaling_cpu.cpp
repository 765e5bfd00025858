#include <array>
#include <limits>
#include <vector>

#include "base/parallel.hpp"
#include "sparse/scaling/row_checks.hpp"

namespace tessera::cpu {

namespace {

constexpr Offset rows_a_range = 1024;

/// The lower triangle of a diagonal block, row by row with `size` places a row, becomes L^-1; the
/// first row without a positive pivot, or `size`.
template <class T>
Index invert_factor(Index size, T* a) {
    for (Index k = 0; k < size; ++k) {
        const T pivot = a[k * size + k];
        if (!is_positive(pivot)) return k;
        const T root = std::sqrt(pivot);
        a[k * size + k] = root;
        for (Index i = k + 1; i < size; ++i) a[i * size + k] /= root;
        for (Index i = k + 1; i < size; ++i) {
            for (Index j = k + 1; j <= i; ++j) a[i * size + j] -= a[i * size + k] * a[j * size + k];
        }
    }
    for (Index j = 0; j < size; ++j) {
        a[j * size + j] = T(1) / a[j * size + j];
        for (Index i = j + 1; i < size; ++i) {
            T sum = T(0);
            for (Index k = j; k < i; ++k) sum += a[i * size + k] * a[k * size + j];
            a[i * size + j] = -sum / a[i * size + i];
        }
    }
    return size;
}

template <class T>
void factor_block(const CsrView<T>& matrix, Index first, Index last,
                  const ScalingFactors<T>& factors, ScalingFault* faults, std::vector<T>& a) {
    const Index size = last - first;
    bool full = true;
    for (Index i = first; i < last; ++i) {
        faults[i] = ScalingFault::none;
        if (is_full_row(matrix, factors, i)) continue;
        faults[i] = ScalingFault::not_full;
        full = false;
    }
    a.assign(std::size_t(size) * std::size_t(size), T(0));
    if (full) {
        for (Index i = 0; i < size; ++i) {
            for (Index j = 0; j <= i; ++j) {
                const Offset at = find_entry(matrix, first + i, first + j);
                a[i * size + j] = at < 0 ? T(0) : matrix.values[at];
            }
        }
        const Index done = invert_factor(size, a.data());
        if (done < size) {
            faults[first + done] = ScalingFault::not_positive;
            std::fill(a.begin(), a.end(), std::numeric_limits<T>::quiet_NaN());
        }
    }
    for (Index i = 0; i < size; ++i) {
        for (Index j = 0; j <= i; ++j) {
            factors.values[factors.offsets[first + i] + j] = a[i * size + j];
            factors.transposed_values[factors.transposed[first + j] + (i - j)] = a[i * size + j];
        }
    }
}

}  // namespace

Offset factor_entries(const Context&, const Index* starts, Index count, Offset* entries) {
    entries[0] = 0;
    for (Index b = 0; b < count; ++b) {
        entries[b + 1] = entries[b] + triangle(starts[b + 1] - starts[b]);
    }
    return entries[count];
}

void fill_patterns(const Context& context, const Index* starts, Index count, const Offset* entries,
                   const FactorPatterns& to) {
    const auto fill = [&](Offset first, Offset last) {
        for (Offset b = first; b < last; ++b) {
            fill_factor_pattern(to, starts[b], starts[b + 1] - starts[b], entries[b], 0, 1);
        }
    };
    parallel_ranges(context.threads(), count, fill, rows_a_range);
    to.lower_offsets[starts[count]] = to.upper_offsets[starts[count]] = entries[count];
}

FaultSummary summarise(const Context&, const ScalingFault* faults, Index rows) {
    FaultSummary summary;
    for (Index i = 0; i < rows; ++i) {
        if (faults[i] == ScalingFault::not_full && summary.first_not_full < 0) {
            summary.first_not_full = i;
        }
        if (faults[i] != ScalingFault::not_positive) continue;
        if (summary.not_positive++ == 0) summary.first_not_positive = i;
    }
    return summary;
}

template <class T>
void invert_root_diagonal(const Context& context, const CsrView<T>& matrix, T* diagonal,
                          ScalingFault* faults) {
    parallel_ranges(context.threads(), matrix.rows, [&](Offset first, Offset last) {
        for (Index i = Index(first); i < last; ++i) {
            const Offset at = find_entry(matrix, i, i);
            const T root = std::sqrt(at < 0 ? T(0) : matrix.values[at]);
            const bool good = is_positive(root);
            faults[i] = good ? ScalingFault::none : ScalingFault::not_positive;
            diagonal[i] = good ? T(1) / root : std::numeric_limits<T>::quiet_NaN();
        }
    });
}

template <class T>
void scale_points(const Context& context, const CsrView<T>& matrix, const T* diagonal, T* scaled) {
    const auto scale = [&](Offset first, Offset last) {
        for (Offset i = first; i < last; ++i) {
            const T s = diagonal[i];
            for (Offset k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k) {
                scaled[k] = matrix.values[k] * (s * diagonal[matrix.column_indices[k]]);
            }
        }
    };
    parallel_ranges(context.threads(), matrix.rows, scale, rows_a_range);
}

template <class T>
void factor_blocks(const Context& context, const CsrView<T>& matrix, const Index* starts,
                   Index count, Index, const ScalingFactors<T>& factors, ScalingFault* faults) {
    const auto factor = [&](Offset first, Offset last) {
        std::vector<T> a;
        for (Offset b = first; b < last; ++b) {
            factor_block(matrix, starts[b], starts[b + 1], factors, faults, a);
        }
    };
    parallel_ranges(context.threads(), count, factor, rows_a_range);
}

template <class T>
void scale_blocks(const Context& context, const CsrView<T>& matrix,
                  const ScalingFactors<T>& factors, T* scaled) {
    const auto scale = [&](Offset first, Offset last) {
        for (Index i = Index(first); i < last; ++i) {
            for (Offset k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k) {
                scaled[k] = scaled_entry(matrix, factors, i, k);
            }
        }
    };
    parallel_ranges(context.threads(), matrix.rows, scale, rows_a_range);
}

TESSERA_INSTANTIATE_SCALING(float)
TESSERA_INSTANTIATE_SCALING(double)

}  // namespace tessera::cpu
