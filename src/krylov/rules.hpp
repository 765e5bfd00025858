#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tessera/choice.hpp"

namespace tessera {

/// The facts of rows, symmetry and the growth of the graph: those of find_facts without
/// blocks (0) and nodes.
template <class T>
MatrixFacts find_row_facts(const Context& context, const CsrView<T>& matrix);

/// Adds the others.
template <class T>
void add_node_facts(const Context& context, const CsrView<T>& matrix,
                    const NodeCoordinates& coordinates, MatrixFacts& facts);

/// Whether a matrix has its diagonal, without zeros, and no other entry.
inline bool is_diagonal(const MatrixFacts& facts) {
    return facts.nonzeros == facts.rows && facts.off_diagonal_share == 0;
}

/// The first attempt for a matrix, where find_row_facts suffices to know it: on a CPU exact factors
/// of a small or an indefinite one, and conjugate gradients for a diagonal one, which take no
/// longer than the other facts and what follows from them.
std::optional<Attempt> attempt_by_rows(const MatrixFacts& facts);

/// The attempts for a symmetric positive definite matrix alone.
std::vector<Attempt> definite_attempts(const MatrixFacts& facts);

/// Exact factors, where they take at most so many operations.
Attempt exact_factors(double max_flops, const char* reason);

/// LU, for a symmetric matrix whose LDL^T is singular to working precision.
Attempt lu_of_symmetric(const MatrixFacts& facts);
bool is_by_lu(const Attempt& attempt);

/// The attempt for a preconditioner, or a matrix of unknown `facts`, that is an operator of the
/// caller.
Attempt attempt_for_callers_operators(const MatrixFacts& facts, bool left);

/// SBELL with the blocks of the nodes, where all nodes have one of several rows; else conversion
/// chooses them, which takes as long as several products (poisson3d:200 with 16-bit values: solve
/// 142 ms, with blocks of one row 153).
std::string sliced_format(const MatrixFacts& facts);

/// Replaces the words of an attempt by those that were given, which are not auto.
void keep_words(Attempt& attempt, const std::string& solver, const std::string& preconditioner,
                const std::string& format);

/// Whether two attempts have the same solver, preconditioner and format.
bool have_same_words(const Attempt& one, const Attempt& other);

/// Whether nodes have coordinates, or the graph of the matrix grows as that of a mesh does.
bool is_known_mesh(const MatrixFacts& facts);

}  // namespace tessera
