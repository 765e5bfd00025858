#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <optional>

#include "petsc.hpp"

namespace tessera::petsc {

/// What a PC of one of Tessera's types keeps, and how the types differ.
class Method {
  public:
    virtual ~Method() = default;
    virtual PetscErrorCode set_from_options(PC pc, OptionItems PetscOptionsObject) = 0;
    /// Sets up for a new pattern (`fresh`) or for new values. Collective.
    virtual PetscErrorCode set_up(PC pc, bool fresh) = 0;
    /// Frees what set_up made.
    virtual void reset() = 0;
    virtual PetscErrorCode view(PC pc, PetscViewer viewer) = 0;
    /// Called for PCSetCoordinates: `dimensions` numbers for each of the local nodes.
    virtual void set_coordinates(int dimensions, std::vector<double> values) = 0;
    /// What is applied; null before set_up.
    virtual const Operator<Scalar>* map() const = 0;
    /// z = M^-T r; false if there is none (PETSc then reports it).
    virtual bool apply_transpose(PC pc, std::span<const Scalar> r, std::span<Scalar> z) = 0;

    /// Runs an application. Where that is collective, an error on one rank is one on all.
    virtual void run(const std::function<void()>& application) const { application(); }

    std::optional<Context> context;  ///< The Context of the setup.
    PetscLogDouble flops = 0;  ///< Operations of one application on this rank; 0: not counted.
    /// Format of products with the operator of the PC; empty: they stay PETSc's.
    char product[256] = "";
};

/// What PETSc may apply where a preconditioner could not be made: NaN.
class NotMade final : public Operator<Scalar> {
  public:
    explicit NotMade(Index rows) : rows_(rows) {}
    Index rows() const override { return rows_; }
    Index columns() const override { return rows_; }
    void apply(const Context& where, std::span<const Scalar>, std::span<Scalar> z) const override {
        fill(where, std::numeric_limits<Scalar>::quiet_NaN(), z);
    }

  private:
    Index rows_;
};

/// Gives `pc` the functions of a PC that is a Method.
PetscErrorCode create(PC pc, std::unique_ptr<Method> method);

/// An option whose value is one of `all`, by the names that to_string gives them.
template <class Enum, std::size_t count>
PetscErrorCode choice_option(OptionItems PetscOptionsObject, const char* name, const char* help,
                             const Enum (&all)[count], Enum& value) {
    const char* names[count];
    PetscInt chosen = 0;

    PetscFunctionBegin;
    for (std::size_t k = 0; k < count; ++k) {
        names[k] = to_string(all[k]);
        if (all[k] == value) chosen = PetscInt(k);
    }
    PetscCall(PetscOptionsEList(name, help, "PCSetFromOptions", names, PetscInt(count),
                                names[chosen], &chosen, nullptr));
    value = all[chosen];
    PetscFunctionReturn(PETSC_SUCCESS);
}

/// The option -NAME_product, within PetscOptionsHeadBegin, as choice_option.
PetscErrorCode product_option(OptionItems PetscOptionsObject, const char* name, Method& method);

/// Marks the PC as failed on this rank, so that KSPSolve ends with KSP_DIVERGED_PC_FAILED (an error
/// on all ranks with KSPSetErrorIfNotConverged); an empty reason marks it as good. Collective.
PetscErrorCode report_singular(PC pc, const std::string& reason);

/// Whether the matrix of the PC is known to be symmetric, so that M is M^T for functions of it.
bool known_symmetric(PC pc);

/// The near-null vectors of the matrix, the rows of this rank; empty if it has none.
PetscErrorCode near_null_space(PC pc, Index rows, NearNullSpace& space);

/// The number of rows of a node: the block size of the matrix.
Index block_size(PC pc);

}  // namespace tessera::petsc
