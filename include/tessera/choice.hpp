#pragma once

#include <string>
#include <vector>

#include "tessera/krylov.hpp"
#include "tessera/mesh.hpp"

namespace tessera {

/// What the rules of `auto` look at.
struct MatrixFacts {
    Index rows = 0;
    Offset nonzeros = 0;
    bool symmetric = false;          ///< Up to rounding (is_symmetric).
    bool positive_diagonal = false;  ///< Every diagonal entry is stored and positive.
    Index blocks = 0;                ///< Natural blocks of at most 8 rows (find_blocks).
    Index largest_block = 0;         ///< Rows of the largest of them.
    /// Unknowns of a node: by the coordinates, else the size of the largest natural block, if
    /// nearly all have that size, else, from 10,000 rows on, 3 or 2, if blocks of that many rows
    /// are nearly full, else 1.
    Index rows_per_node = 1;
    /// Found from nearly full blocks: rows of a node differ where zeros are not stored.
    bool nodes_without_zeros = false;
    bool has_coordinates = false;
    bool on_gpu = false;

    double entries_per_row() const { return rows > 0 ? double(nonzeros) / double(rows) : 0; }
    /// Consecutive rows with equal patterns in groups of various sizes.
    bool has_various_blocks() const {
        return blocks < rows && Offset(blocks) * largest_block != rows;
    }
};

/// The facts of a square matrix in the memory of `context`. Waits. Costs about as much as a few
/// products with the matrix.
template <class T>
TESSERA_API MatrixFacts find_facts(const Context& context, const CsrView<T>& matrix,
                                   const NodeCoordinates& coordinates = {});

/// One way to solve a system, in texts as class Solver takes them.
struct Attempt {
    std::string solver, preconditioner, format;
    /// After as many iterations without convergence the next attempt goes on from the best x so
    /// far; 0: no limit of its own.
    Offset max_iterations = 0;
    std::string reason;  ///< Why it was chosen, half a sentence.
    /// The same after as many iterations in which the residual did not fall below its least value.
    Offset stagnation_window = 0;

    bool operator==(const Attempt&) const = default;
};

/// The attempts for a matrix, the first one first, at least one: by rules that look at the facts
/// alone, so that the same matrix on the same kind of device gives the same ones. A word other than
/// auto is kept. `left`: solvers that allow preconditioning from the left alone, if they are to be
/// chosen. docs/decisions/automatic-choice.md has the measurements.
TESSERA_API std::vector<Attempt> choose(const MatrixFacts& facts, const std::string& solver,
                                        const std::string& preconditioner,
                                        const std::string& format, bool left = false);

/// Ways to solve systems with such a matrix, without limits or reasons, the likely fastest first:
/// those of choose and others that were the fastest somewhere. Ways for indefinite matrices are
/// left out where the diagonal is positive. A word other than auto replaces that of every way.
TESSERA_API std::vector<Attempt> candidates(const MatrixFacts& facts, const std::string& solver,
                                            const std::string& preconditioner,
                                            const std::string& format);

/// Whether another attempt may do better after a solve of at most `attempt_limit` iterations (0: no
/// limit of its own) ended so.
TESSERA_API bool worth_another(const SolveReport& report, Offset attempt_limit);

/// The options of an attempt: not more iterations than its own limit, and only what earlier
/// attempts (`before`, which may be empty) have left of iterations and time. The observer sees the
/// iterations and seconds of all.
TESSERA_API SolveOptions attempt_options(const SolveOptions& options, const Attempt& attempt,
                                         const SolveReport& before);

/// The report of one attempt after others: counts, seconds and residuals of all, the rest of
/// `last`.
TESSERA_API SolveReport joined(const SolveReport& before, SolveReport last);

}  // namespace tessera
