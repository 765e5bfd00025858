#pragma once

#include <memory>
#include <string>

#include "distributed/own_rows.hpp"
#include "tessera/operator.hpp"

namespace tessera {

struct PreconditionerInputs;  // tessera/precond.hpp

/// A preconditioner on the own parts of vectors. All of it is collective but its reports.
class PreconditionerOverRanks : public Operator<double> {
  public:
    /// Whether the own rows have the pattern of the first ones, on all ranks.
    virtual bool has_pattern(const Context& context, const BsrView<double>& rows) const = 0;
    /// New values of own rows, on the pattern of the first. Waits. Throws InvalidArgument on all
    /// ranks for other patterns; after other errors it can be updated again.
    virtual void update(const Context& context, BsrMatrix<double> rows) = 0;
    /// As Preconditioner::describe.
    virtual std::string describe() const = 0;
    /// The report of all ranks, on each.
    virtual PreconditionerReport make_report() const = 0;
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
    virtual std::unique_ptr<PreconditionerOverRanks> make_over_ranks(
        const Context& context, OwnRows matrix, const PreconditionerInputs& own) const = 0;
};

}  // namespace tessera
