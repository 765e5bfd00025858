#pragma once

#include <optional>

#include "petsc.hpp"

namespace tessera::petsc {

/// The Context for arrays in the memory of the given type: one per process for host memory, of
/// -tessera_threads CPU threads (1), and one per device and stream for that of CUDA, on the stream
/// of PETSc's current device context, so that work of both is in order without events. Refuses
/// other devices.
PetscErrorCode context_for(PetscMemType memory, std::optional<Context>& context);

/// Puts the Context of PETSc's current stream in the place of that of an earlier one, whose work
/// it waits for; on the CPU and on the same stream nothing happens.
PetscErrorCode follow_stream(std::optional<Context>& context);

/// Drops the Contexts; PETSc calls it in PetscFinalize.
PetscErrorCode release_contexts();

/// Starts and stops the clock of -log_view_gpu_time around work on a GPU.
PetscErrorCode begin_device_time(const Context& context);
PetscErrorCode end_device_time(const Context& context);

/// Counts floating-point operations, as those of the device where it is one.
PetscErrorCode log_flops(const Context& context, PetscLogDouble flops);

/// An array of a Vec for reading, or for writing, in the memory of the Context; given back to the
/// Vec at the end. A Vec in device memory is copied to the host by PETSc where the Context is that
/// of the CPU; a Vec in host memory is refused where it is that of a GPU.
class VectorAccess {
  public:
    enum class Mode { read, write, read_write };
    VectorAccess(const Context& context, Vec vector, Mode mode);
    ~VectorAccess();
    VectorAccess(const VectorAccess&) = delete;
    VectorAccess& operator=(const VectorAccess&) = delete;
    /// Gives the array back; the destructor does it too, but drops the error.
    void restore();
    std::span<const Scalar> input() const { return {array_, std::size_t(size_)}; }
    std::span<Scalar> output() const { return {array_, std::size_t(size_)}; }

  private:
    Vec vector_;
    Mode mode_;
    bool on_gpu_, held_ = false;
    PetscInt size_ = 0;
    Scalar* array_ = nullptr;
};

}  // namespace tessera::petsc
