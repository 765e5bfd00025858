#pragma once

#include <string>
#include <vector>

#include "tessera/krylov.hpp"
#include "tessera/mesh.hpp"

namespace tessera {

/// Properties of a matrix that the rules of `auto` use.
struct MatrixFacts {
    Index rows = 0;
    Offset nonzeros = 0;
    bool symmetric = false;          ///< Up to rounding (is_symmetric).
    bool positive_diagonal = false;  ///< Every diagonal entry is stored and positive.
    bool negative_diagonal = false;  ///< Every diagonal entry is stored and negative.
    bool zeros_on_diagonal = false;  ///< Some diagonal entry is 0 or not stored.
    bool has_empty_rows = false;     ///< Some rows have no nonzero.
    /// Some rows have more entries than the square root of the rows, and than ten times the mean.
    bool has_dense_rows = false;
    bool row_sums_vanish = false;  ///< A 1 = 0 up to rounding: constants are in the null space.
    /// The largest sum of |a_ij|, j != i, over |a_ii| of a row: below 1 the matrix is dominated by
    /// its diagonal.
    double off_diagonal_share = std::numeric_limits<double>::infinity();
    double row_span = 1;  ///< The largest |a_ij| of a row: that of the largest over the smallest.
    /// Some rows have no other entry than the diagonal one, or only negligible ones.
    bool has_fixed_rows = false;
    /// They are 1e6 times larger or smaller than all others, and alone decide norms of residuals.
    bool has_odd_rows = false;
    /// Natural blocks of at most 8 rows (find_blocks). 0 if there are rows: a Solver has looked at
    /// the rows alone, and not for nodes and graphs.
    Index blocks = 0;
    Index largest_block = 0;  ///< Rows of the largest of them.
    /// Unknowns of a node: by the coordinates, else the size of the largest natural block, if
    /// nearly all have that size, else, from 5,000 rows on (GPU: 10,000), 3 or 2, if blocks of that
    /// many rows are nearly full, else 1.
    Index rows_per_node = 1;
    /// Found from nearly full blocks: rows of a node differ where zeros are not stored.
    bool nodes_without_zeros = false;
    /// How the graph of a symmetric matrix grows around its nodes: twice as far away there are
    /// 2^dimension times as many. Meshes have 2 or 3, random graphs 4 and more, as their coarse
    /// levels and factors fill up. From 20,000 rows on, on a GPU 100,000 if the diagonal is
    /// positive; else 0.
    double graph_dimension = 0;
    bool has_coordinates = false;
    /// About how many nodes lie along the longest side of the box around them; without coordinates,
    /// on a CPU, along the graph of a symmetric matrix of several rows per node; 0: unknown.
    double nodes_along = 0;
    /// How the system was made a smaller or better one with the same solution, whose facts these
    /// are: half sentences; empty: it was not. Class Solver alone does so.
    std::string reduction = {};
    bool on_gpu = false;
    double memory_share = 0;  ///< On a GPU: bytes of the matrix over those of its memory.
    /// The natural blocks, in the memory of the Context; null: unknown.
    std::shared_ptr<const BlockPartition> natural_blocks = nullptr;

    double entries_per_row() const { return rows > 0 ? double(nonzeros) / double(rows) : 0; }
    /// Consecutive rows with equal patterns in groups of various sizes.
    bool has_various_blocks() const {
        return blocks < rows && Offset(blocks) * largest_block != rows;
    }
};

/// The properties of a square matrix in the memory of `context`. Costs about as much as a few
/// products with the matrix. Blocks until the work is complete.
template <class T>
TESSERA_API MatrixFacts find_facts(const Context& context, const CsrView<T>& matrix,
                                   const NodeCoordinates& coordinates = {});
TESSERA_ACCEPT_OWNERS(find_facts)

/// A method for a system: texts as for class Solver.
struct Attempt {
    std::string solver, preconditioner, format;
    /// After this many iterations without convergence the next attempt continues from the best x so
    /// far; 0: no limit of its own.
    Offset max_iterations = 0;
    std::string reason;  ///< Why it was chosen, half a sentence.
    /// After this many iterations in which the smallest residual so far did not fall the next
    /// attempt continues; 0: no limit of its own.
    Offset stagnation_window = 0;
    /// The next attempt continues where the residual has not fallen to a hundredth of ||b|| after
    /// this many iterations, or is above four times ||b|| after 10 and was never smaller; 0: no
    /// such test.
    Offset trial = 0;

    bool operator==(const Attempt&) const = default;
};

/// The attempts for a matrix, at least one, in the order to try: by rules that use `facts` alone,
/// so that the same matrix on the same kind of device gets the same ones. An argument other than
/// auto is used in every attempt. `left`: the solvers chosen allow preconditioning from the left.
/// docs/decisions/automatic-choice.md has the measurements.
TESSERA_API std::vector<Attempt> choose(const MatrixFacts& facts, const std::string& solver,
                                        const std::string& preconditioner,
                                        const std::string& format, bool left = false);

/// Methods for such a matrix, without limits or reasons, the likely fastest first: those of choose
/// and others that were the fastest for some matrix. Methods for indefinite matrices are left out
/// if the diagonal is positive. An argument other than auto is used in every method.
TESSERA_API std::vector<Attempt> candidates(const MatrixFacts& facts, const std::string& solver,
                                            const std::string& preconditioner,
                                            const std::string& format);

}  // namespace tessera
