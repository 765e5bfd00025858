// What PETSc calls when it has loaded the library.

#include "device.hpp"
#include "petsc.hpp"
#include "product.hpp"

namespace tessera::petsc {

Events events;

Fault current_fault() {
    try {
        throw;
    } catch (const Failure& failure) {
        return {failure.code, ""};
    } catch (const OutOfMemory& error) {
        return {PETSC_ERR_MEM, error.what()};
    } catch (const std::bad_alloc&) {
        return {PETSC_ERR_MEM, "the host has no memory left"};
    } catch (const InvalidArgument& error) {
        return {PETSC_ERR_ARG_OUTOFRANGE, error.what()};
    } catch (const std::exception& error) {
        return {PETSC_ERR_LIB, error.what()};
    } catch (...) {
        return {PETSC_ERR_LIB, "an unknown exception"};
    }
}

PetscErrorCode agree(MPI_Comm comm, const Fault& fault) {
    PetscMPIInt rank, size;
    int first, mine, head[2] = {int(fault.code), int(fault.sentence.size())};

    PetscFunctionBegin;
    PetscCallMPI(MPI_Comm_rank(comm, &rank));
    PetscCallMPI(MPI_Comm_size(comm, &size));
    mine = first = fault.code == PETSC_SUCCESS ? size : rank;
    if (size > 1) PetscCallMPI(MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, comm));
    if (first == size) PetscFunctionReturn(PETSC_SUCCESS);
    if (size == 1) {
        if (fault.sentence.empty()) PetscFunctionReturn(fault.code);
        SETERRQ(PETSC_COMM_SELF, fault.code, "Tessera: %s", fault.sentence.c_str());
    }
    PetscCallMPI(MPI_Bcast(head, 2, MPI_INT, first, comm));
    std::string sentence = fault.sentence;
    sentence.resize(std::size_t(head[1]));
    PetscCallMPI(MPI_Bcast(sentence.data(), head[1], MPI_CHAR, first, comm));
    SETERRQ(comm, PetscErrorCode(head[0]), "Tessera on rank %d: %s", first,
            sentence.empty() ? "see the error above" : sentence.c_str());
}

namespace {

/// Whether the running PETSc is the one that this library was compiled for. A file of another kind
/// can be loaded: PETSc looks at nothing but its name.
PetscErrorCode check_build() {
    PetscInt major = 0, minor = 0;
    PetscDataType scalar = PETSC_DATATYPE_UNKNOWN;
    std::size_t bytes = 0;
    PetscBool known = PETSC_FALSE;

    PetscFunctionBegin;
    // PetscInitialize sets it before it loads libraries.
    if (PETSC_COMM_WORLD ==
        MPI_COMM_NULL) {  // The copy of PETSc linked here is not the one that loaded the library.
        (*PetscErrorPrintf)(
            "Tessera: libpetsctessera.so was compiled for another PETSc than this program uses "
            "(PETSc %d.%d, real scalars, %d-bit indices)\n",
            PETSC_VERSION_MAJOR, PETSC_VERSION_MINOR, int(8 * sizeof(PetscInt)));
        PetscFunctionReturn(PETSC_ERR_SUP);
    }
    PetscCall(PetscGetVersionNumber(&major, &minor, nullptr, nullptr));
    PetscCheck(major == PETSC_VERSION_MAJOR && minor == PETSC_VERSION_MINOR, PETSC_COMM_SELF,
               PETSC_ERR_SUP,
               "libpetsctessera.so was compiled for PETSc %d.%d, and this is PETSc %d.%d",
               PETSC_VERSION_MAJOR, PETSC_VERSION_MINOR, int(major), int(minor));
    PetscCall(PetscDataTypeFromString("scalar", &scalar, &known));
    PetscCheck(known && scalar == PETSC_SCALAR, PETSC_COMM_SELF, PETSC_ERR_SUP,
               "libpetsctessera.so was compiled for real scalars in %s precision, and this PETSc "
               "has %s",
               sizeof(PetscScalar) == 8 ? "double" : "single",
               scalar == PETSC_COMPLEX ? "complex scalars" : "scalars of another precision");
    PetscCall(PetscDataTypeGetSize(PETSC_INT, &bytes));
    PetscCheck(bytes == sizeof(PetscInt), PETSC_COMM_SELF, PETSC_ERR_SUP,
               "libpetsctessera.so was compiled for %d-bit indices, and this PETSc has %d-bit ones",
               int(8 * sizeof(PetscInt)), int(8 * bytes));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode register_events() {
    PetscFunctionBegin;
    PetscCall(PetscLogEventRegister("TesseraSetUp", PC_CLASSID, &events.setup));
    PetscCall(PetscLogEventRegister("TesseraUpdate", PC_CLASSID, &events.update));
    PetscCall(PetscLogEventRegister("TesseraApply", PC_CLASSID, &events.apply));
    PetscCall(PetscLogEventRegister("TesseraConvert", MAT_CLASSID, &events.convert));
    PetscCall(PetscLogEventRegister("TesseraMultDiag", MAT_CLASSID, &events.diagonal));
    PetscCall(PetscLogEventRegister("TesseraMultOff", MAT_CLASSID, &events.off_diagonal));
    PetscFunctionReturn(PETSC_SUCCESS);
}

}  // namespace

}  // namespace tessera::petsc

/// The name that PETSc looks for in libpetsctessera.so.
extern "C" __attribute__((visibility("default"))) PetscErrorCode
PetscDLLibraryRegister_petsctessera(void);

PetscErrorCode PetscDLLibraryRegister_petsctessera(void) {
    namespace own = tessera::petsc;

    PetscFunctionBegin;
    PetscCall(own::check_build());
    PetscCall(PCInitializePackage());
    PetscCall(MatInitializePackage());
    PetscCall(own::register_events());
    PetscCall(PCRegister("tessera", own::create_local));
    PetscCall(PCRegister("tesserabjacobi", own::create_block_jacobi));
    PetscCall(PCRegister("tesserabildl", own::create_block_ldlt));
    PetscCall(PCRegister("tesserailu", own::create_ilu));
    PetscCall(PCRegister("tesserachebyshev", own::create_chebyshev));
    PetscCall(PCRegister("tesseraamg", own::create_amg));
    PetscCall(MatSeqAIJRegister("seqaijtessera", own::use_own_products));
    PetscCall(PetscRegisterFinalize(own::release_contexts));
    PetscFunctionReturn(PETSC_SUCCESS);
}
