#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tessera/amg.hpp"
#include "tessera/choice.hpp"

namespace tessera {

/// How A x = b becomes a smaller or better system with the same solution:
/// - `fixed` rows give one unknown each, x_i = b_i / a_ii: their other entries are missing or
///   negligible (supports and boundary values written as such rows, or as penalties).
/// - The rows and columns of `kept`, in this order, are the reduced matrix; row k is multiplied by
///   row_factors[k], column k by column_factors[k].
/// - Where that differs from its transpose by rounding errors, their mean takes its place, and x is
///   corrected by the residuals of A; where by little more, the mean takes its place in
///   preconditioners.
struct Reduction {
    std::vector<Index> fixed;
    bool fixed_are_empty = false;  ///< The fixed rows have no nonzero: any x_i if b_i is 0.
    std::vector<Index> kept;
    std::vector<double> row_factors, column_factors;
    bool solves_mean = false, preconditions_by_mean = false;
    bool is_reordered = false;  ///< By nodes.
    bool is_symmetric = false;  ///< The reduced matrix, or the mean that stands for it.
    /// Symmetric and indefinite, though no diagonal entry of A is 0: A as it is may be easier
    /// (rdb1250: 75 iterations of bicgstab, 226 of minres; rdb1250l: 526 and 245).
    bool is_second = false;
    std::string reason;  ///< What was done and why: half sentences.
};

/// The reduction of a square matrix in the memory of `context`, if there is one that helps; `facts`
/// are those of the matrix. Costs a few products; if there may be one, the matrix is copied to the
/// host. Blocks until the work is complete.
template <class T>
std::optional<Reduction> find_reduction(const Context& context, const CsrView<T>& matrix,
                                        const MatrixFacts& facts,
                                        const NodeCoordinates& coordinates);

/// The reduced matrix, in host memory, of a matrix in host memory, without any mean.
template <class T>
CsrMatrix<T> reduced_matrix(const Context& host, const CsrView<T>& matrix,
                            const Reduction& reduction);

/// (A + A^T) / 2 of a square matrix in host memory, on the union of both patterns.
template <class T>
CsrMatrix<T> mean_with_transpose(const Context& host, const CsrView<T>& matrix);

/// Coordinates and near-null vectors of the reduced system of a matrix with `rows`; no coordinates
/// where they do not fit an order by nodes.
NodeCoordinates reduced_coordinates(const NodeCoordinates& coordinates, Index rows,
                                    const Reduction& reduction);
NearNullSpace reduced_near_null(const NearNullSpace& vectors, const Reduction& reduction);

/// Whether the coordinates tell the node of each row, so that rows can be left out.
bool tell_rows(const NodeCoordinates& coordinates, Index rows);

}  // namespace tessera
