#pragma once

#include "krylov/row_scan.hpp"

namespace tessera {

/// The largest element of a symmetriser (find_symmetriser) over the smallest.
inline constexpr double symmetriser_span = 1e6;

/// Loop body of for_each_index over `samples` rows, at equal distances: contradicts[s] = 1 if a
/// walk from a row shows that no diagonal D of a span of at most symmetriser_span makes D A
/// symmetric. The walk takes the entry a_ij that is largest against a_ji = d_i a_ij / d_j, so that
/// d_j grows; a cycle, or a long way, exceeds the span.
template <class T>
struct WalkAgainstSymmetry {
    static constexpr int work = 1 << 12;
    static constexpr int steps = 256;
    CsrView<T> a;
    int samples;
    int* contradicts;

    TESSERA_HOST_DEVICE void operator()(Offset s) const {
        Index i = Index(Offset(a.rows) * (2 * s + 1) / (2 * samples));
        contradicts[s] = 0;
        double span = 1;
        for (int step = 0; step < steps; ++step) {
            const double limit = 1e-6 * summed(a, i).largest;  // Others are rounding errors.
            double steepest = 1.001;
            Index next = -1;
            for (Offset e = a.row_offsets[i]; e < a.row_offsets[i + 1]; ++e) {
                const Index j = a.column_indices[e];
                const double value = std::abs(double(a.values[e]));
                if (j == i || !(value > limit)) continue;
                const Offset mirror = find_csr_entry(a, j, i);
                const double image = mirror < 0 ? 0 : std::abs(double(a.values[mirror]));
                if (image == 0) {
                    if (summed(a, j).gives_unknown(a, j)) continue;
                    contradicts[s] = 1;
                    return;
                }
                if (value / image > steepest) {
                    steepest = value / image;
                    next = j;
                }
            }
            if (next < 0) return;
            span *= steepest;
            i = next;
            if (span > symmetriser_span) {
                contradicts[s] = 1;
                return;
            }
        }
    }
};

}  // namespace tessera
