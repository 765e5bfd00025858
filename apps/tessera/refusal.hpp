#pragma once

#include <string>
#include <vector>

#include "tessera/precond.hpp"
#include "tessera/report.hpp"

namespace tessera::cli {

/// The singular blocks of a preconditioner.
struct SingularBlocks {
    Index count = 0;
    std::vector<SingularBlock> first;  ///< Ten at most.
    /// The first row with NaN or infinity in its diagonal block; -1: none.
    Index first_non_finite_row = -1;
};

/// Fills in what a report says about blocks; nullptr has none.
template <class T>
SingularBlocks describe_blocks(const Preconditioner<T>* preconditioner, RunReport::Blocks& blocks);

/// Throws InvalidArgument where an inverse holds a value beyond the format it was to be stored in.
void refuse_overflow(const RunReport::Blocks& blocks);

/// What the setup of block_ldlt did; block_rows 0 for other preconditioners.
template <class T>
BlockLdltReport describe_block_ldlt(const Preconditioner<T>* preconditioner);

/// The ends of the spectrum that a polynomial works with; degree 0 for other preconditioners.
template <class T>
PolynomialReport describe_polynomial(const Preconditioner<T>* preconditioner);

/// The report of a solve that was not started because the matrix cannot be scaled symmetrically.
SolveReport refusal(const PolynomialReport& polynomial);

/// Whether this preconditioner's text says (or leaves it at) singular=stop.
bool stops_at_singular(const std::string& preconditioner);

/// The report of a solve that does not start.
SolveReport refusal(const SingularBlocks& singular, Offset blocks);

/// For people: the first singular blocks with their rows, and the command to try next.
std::string refusal_text(const SingularBlocks& singular,
                         const std::vector<std::string>& command_line);

/// The same command line with singular=shift in its preconditioner.
std::string shifted_command(std::vector<std::string> command_line);

}  // namespace tessera::cli
