#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/pivot_pair.hpp"
#include "tessera/types.hpp"

// What a factorisation in plain loops notes about its pivots, on the host.

namespace tessera::batched {

/// What FactorResults tells of a matrix, as far as the factors do not tell it.
template <class T>
struct PivotRecord {
    Index info = 0;
    Index perturbed = 0;
    T perturbation = 0;
    T smallest = std::numeric_limits<T>::infinity();
    bool failed = false;  ///< A pivot was not finite.

    void change(T by) {
        ++perturbed;
        perturbation = std::max(perturbation, by);
    }
    void fail(Index position) {
        if (info == 0) info = position + 1;
        perturbed = 0;
        perturbation = std::numeric_limits<T>::infinity();
        smallest = 0;
        failed = true;
    }
};

/// The pivot to be used in the place of d: with the threshold tau, 0 where its reciprocal is not
/// finite. `positive`: only positive pivots are.
template <class T>
T used_pivot(T d, T tau, Index position, PivotRecord<T>& record, bool positive = false) {
    const T size = positive ? d : std::abs(d);
    if (size < record.smallest) record.smallest = size;
    if (tau > 0 && std::isfinite(d) && size < tau) {
        const T used = positive || d == 0 ? tau : std::copysign(tau, d);
        record.change(std::abs(used - d));
        d = used;
    }
    if (!std::isfinite(d)) {
        record.fail(position);
        return d;
    }
    if (!std::isfinite(T(1) / d) || (positive && d <= 0)) {
        if (record.info == 0) record.info = position + 1;
        return T(0);
    }
    return d;
}

/// The same of a 2 x 2 pivot in positions `position` and the next.
template <class T>
PivotPair<T> used_pivot(const PivotPair<T>& e, T tau, Index position, PivotRecord<T>& record) {
    const PivotEigen<T> v = eigenpairs(e);
    const T small = std::min(std::abs(v.first), std::abs(v.second));
    if (small < record.smallest) record.smallest = small;
    PivotPair<T> used = e;
    if (small < tau) {
        T eigenvalues[2] = {v.first, v.second};
        for (T& eigenvalue : eigenvalues) {
            if (!(std::abs(eigenvalue) < tau)) continue;
            const T raised = std::copysign(tau, eigenvalue);
            record.change(std::abs(raised - eigenvalue));
            eigenvalue = raised;
        }
        used = with_eigenvalues(e, v, eigenvalues[0], eigenvalues[1]);
    }
    const PivotPair<T> inverted = inverse(used);
    if (!std::isfinite(used.e11 + used.e21 + used.e22) ||
        !std::isfinite(inverted.e11 + inverted.e21 + inverted.e22)) {
        record.fail(position);
    }
    return used;
}

}  // namespace tessera::batched
