#pragma once

#include <vector>

#include "tessera/csr.hpp"

namespace tessera {

/// The rows and columns of a matrix in host memory that a reduction keeps.
template <class T>
struct KeptPart {
    CsrView<T> matrix;
    std::vector<Index> rows;       ///< Ascending.
    std::vector<Index> number;     ///< The place in `rows` of each row of the matrix, or -1.
    std::vector<double> largest;   ///< The largest |a_ij| of each kept row and kept columns.
    std::vector<double> diagonal;  ///< The diagonal entry of each kept row, or 0.
};

template <class T>
KeptPart<T> kept_part(const CsrView<T>& matrix, const std::vector<Index>& fixed);

/// max |d_i a_ij - d_j a_ji| / min(|d_i| max_k |a_ik|, |d_j| max_k |a_jk|) over kept i and j, or
/// infinity as soon as it is above `limit`. NaN counts as infinity.
template <class T>
double asymmetry(const KeptPart<T>& part, const std::vector<double>& d, double limit, int threads);

/// The diagonal D, of any signs, for which D A may be symmetric: d_i a_ij = d_j a_ji along a tree
/// that spans each part of the graph, from d_i a_ii > 0 at its root. Empty where a cycle of the
/// graph contradicts, an entry has no mirror image or D spans more than six decades.
template <class T>
std::vector<double> find_symmetriser(const KeptPart<T>& part, double limit);

}  // namespace tessera
