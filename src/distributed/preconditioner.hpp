#pragma once

#include <memory>
#include <string>

#include "distributed/own_rows.hpp"
#include "tessera/operator.hpp"

namespace tessera {

struct PreconditionerInputs;  // tessera/precond.hpp

/// A preconditioner on the own parts of vectors, with its report, which is that of all ranks.
struct PreconditionerOverRanks {
    std::unique_ptr<const Operator<double>> m;
    std::string text;  ///< As Preconditioner::describe.
    PreconditionerReport report;
};

/// The options of a preconditioner that can be made over ranks: some PreconditionerConfigs are.
class ConfigOverRanks {
  public:
    virtual ~ConfigOverRanks() = default;
    /// Unknowns of a node; 0: to be found.
    virtual int unknowns_of_node() const = 0;
    /// What is used of `given`, and of the files that the text names, for a whole matrix.
    virtual PreconditionerInputs inputs_for(Index rows,
                                            const PreconditionerInputs& given) const = 0;
    /// Collective; waits. `own`: parts of inputs_for, those of the nodes of this rank.
    virtual PreconditionerOverRanks make_over_ranks(const Context& context, OwnRows matrix,
                                                    const PreconditionerInputs& own) const = 0;
};

}  // namespace tessera
