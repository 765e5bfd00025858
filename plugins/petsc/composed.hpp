#pragma once

#include <memory>

#include "petsc.hpp"

// C++ objects that an object of PETSc keeps under a name, and destroys with itself.
namespace tessera::petsc {

#if PETSC_VERSION_GE(3, 23, 0)
template <class T>
PetscErrorCode destroy_composed(PetscCtxRt data) {
    delete *reinterpret_cast<T**>(data);
    return PETSC_SUCCESS;
}
#define PetscContainerSetDestroy PetscContainerSetCtxDestroy
#else
template <class T>
PetscErrorCode destroy_composed(void* data) {
    delete static_cast<T*>(data);
    return PETSC_SUCCESS;
}
#define PetscContainerSetDestroy PetscContainerSetUserDestroy
#endif

/// Sets `found` to what `keeper` keeps under `name`; null where there is nothing.
template <class T>
PetscErrorCode find_composed(PetscObject keeper, const char* name, T*& found) {
    PetscContainer container = nullptr;

    PetscFunctionBegin;
    found = nullptr;
    PetscCall(PetscObjectQuery(keeper, name, (PetscObject*)&container));
    if (container) PetscCall(PetscContainerGetPointer(container, (void**)&found));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/// Lets `keeper` keep an object under `name`.
template <class T>
PetscErrorCode compose(PetscObject keeper, const char* name, std::unique_ptr<T> kept) {
    PetscContainer container;

    PetscFunctionBegin;
    PetscCall(PetscContainerCreate(PETSC_COMM_SELF, &container));
    PetscCall(PetscContainerSetPointer(container, kept.release()));
    PetscCall(PetscContainerSetDestroy(container, destroy_composed<T>));
    PetscCall(PetscObjectCompose(keeper, name, PetscObject(container)));
    PetscCall(PetscContainerDestroy(&container));
    PetscFunctionReturn(PETSC_SUCCESS);
}

}  // namespace tessera::petsc
