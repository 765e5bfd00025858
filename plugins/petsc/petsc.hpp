#pragma once

// PETSc's headers, what differs between its releases from 3.18 on, and how errors of Tessera become
// errors of PETSc.

#include <petsc/private/pcimpl.h>
#include <petscdevice.h>
#include <petscksp.h>
#include <petscsf.h>

#include <cstdint>
#include <exception>
#include <string>
#include <tessera/tessera.hpp>
#include <type_traits>

#if PETSC_VERSION_LT(3, 18, 0)
#error "Tessera's plug-in needs PETSc 3.18 or newer"
#endif
#if defined(PETSC_USE_COMPLEX)
#error "Tessera's plug-in needs a PETSc with real scalars, and this one has complex scalars"
#endif
#if defined(PETSC_USE_REAL___FLOAT128) || defined(PETSC_USE_REAL___FP16)
#error "Tessera's plug-in needs a PETSc with scalars in single or double precision"
#endif
#if PETSC_VERSION_LT(3, 19, 0)
#define PETSC_SUCCESS PetscErrorCode(0)
#endif

namespace tessera::petsc {

using Scalar = PetscScalar;
/// PetscInt as the type of its size that Tessera is compiled for.
using Integer = std::conditional_t<sizeof(PetscInt) == 8, std::int64_t, std::int32_t>;

/// The second parameter of PCOps::setfromoptions: a pointer or, since 3.23, a typedef of one.
template <class Function>
struct SecondParameter;
template <class Result, class First, class Second>
struct SecondParameter<Result (*)(First, Second)> {
    using Type = Second;
};
using OptionItems = SecondParameter<decltype(_PCOps::setfromoptions)>::Type;

/// Event numbers of -log_view.
struct Events {
    PetscLogEvent setup = 0;         ///< Preconditioners for a new pattern.
    PetscLogEvent update = 0;        ///< Setups for new values.
    PetscLogEvent apply = 0;         ///< Applications of them.
    PetscLogEvent convert = 0;       ///< Matrices of products, to Tessera's format.
    PetscLogEvent diagonal = 0;      ///< Products with the diagonal block of a rank.
    PetscLogEvent off_diagonal = 0;  ///< Products with the rest of the rows of a rank.
};
extern Events events;

/// An error that PETSc has reported, thrown through functions of Tessera.
struct Failure {
    PetscErrorCode code;
};
inline void throw_failure(PetscErrorCode code) {
    if (code != PETSC_SUCCESS) throw Failure{code};
}

/// What an exception says, and its code; call within a catch block.
struct Fault {
    PetscErrorCode code = PETSC_SUCCESS;
    std::string sentence;
};
Fault current_fault();

/// Runs `work`, which returns a PetscErrorCode and may throw; an exception becomes an error of
/// PETSc on this rank.
template <class Work>
PetscErrorCode guarded(Work&& work) noexcept {
    Fault fault;
    PetscFunctionBegin;
    try {
        PetscCall(work());
        PetscFunctionReturn(PETSC_SUCCESS);
    } catch (...) {
        fault = current_fault();
    }
    // PETSc has reported a Failure already.
    if (fault.sentence.empty()) PetscFunctionReturn(fault.code);
    SETERRQ(PETSC_COMM_SELF, fault.code, "Tessera: %s", fault.sentence.c_str());
}

/// Whether all ranks of `comm` succeeded; else an error on all of them, with the sentence of the
/// first rank that failed. Collective.
PetscErrorCode agree(MPI_Comm comm, const Fault& fault);

/// Runs `work` as guarded does, on all ranks of `comm`: where it fails on one, it fails on all, so
/// that none waits for it. `work` itself must not be collective. Collective.
template <class Work>
PetscErrorCode guarded_on_all(MPI_Comm comm, Work&& work) noexcept {
    Fault fault;
    PetscFunctionBegin;
    try {
        fault.code = work();
    } catch (...) {
        fault = current_fault();
    }
    PetscCall(agree(comm, fault));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode create_local(PC pc);
PetscErrorCode create_block_jacobi(PC pc);
PetscErrorCode create_block_ldlt(PC pc);
PetscErrorCode create_ilu(PC pc);
PetscErrorCode create_chebyshev(PC pc);
PetscErrorCode create_amg(PC pc);

}  // namespace tessera::petsc
