#include "device.hpp"

#include <map>
#include <utility>

namespace tessera::petsc {

namespace {

/// Device number (-1: the CPU) and stream.
using Place = std::pair<int, CUstream_st*>;

std::map<Place, Context>& contexts() {
    static std::map<Place, Context> all;
    return all;
}

/// The current device and stream of PETSc.
PetscErrorCode current_place(PetscMemType memory, Place& place) {
    PetscFunctionBegin;
    if (PetscMemTypeHost(memory)) {
        place = {-1, nullptr};
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCheck(PetscMemTypeCUDA(memory), PETSC_COMM_SELF, PETSC_ERR_SUP,
               "Tessera computes on CPUs and NVIDIA GPUs, and this matrix is in the memory of "
               "another device");
#if PETSC_VERSION_GE(3, 20, 0)
    PetscDeviceContext current;
    PetscDevice device;
    PetscInt id = 0;
    void* handle = nullptr;
    PetscCall(PetscDeviceContextGetCurrentContext(&current));
    PetscCall(PetscDeviceContextGetDevice(current, &device));
    PetscCall(PetscDeviceGetDeviceId(device, &id));
    PetscCall(PetscDeviceContextGetStreamHandle(current, &handle));
    place = {int(id), handle ? *static_cast<CUstream_st**>(handle) : nullptr};
    PetscFunctionReturn(PETSC_SUCCESS);
#else
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_SUP,
            "Tessera needs PETSc 3.20 or newer for matrices on a GPU");
#endif
}

}  // namespace

PetscErrorCode context_for(PetscMemType memory, std::optional<Context>& context) {
    Place place;
    PetscInt threads = 1;

    PetscFunctionBegin;
    PetscCall(current_place(memory, place));
    PetscCall(guarded([&]() -> PetscErrorCode {
        auto found = contexts().find(place);
        if (found == contexts().end()) {
            PetscCall(PetscOptionsGetInt(nullptr, nullptr, "-tessera_threads", &threads, nullptr));
            PetscCheck(threads >= 1 && threads <= 4096, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
                       "-tessera_threads %" PetscInt_FMT ": give 1 to 4096 threads", threads);
            found = contexts()
                        .emplace(place, place.first < 0 ? Context::cpu(int(threads))
                                                        : Context::cuda(place.first, place.second,
                                                                        {}, int(threads)))
                        .first;
            PetscCall(PetscInfo(nullptr, "Tessera %s (%s) works on %s\n", version(), commit(),
                                found->second.description().c_str()));
        }
        context.emplace(found->second);
        return PETSC_SUCCESS;
    }));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode follow_stream(std::optional<Context>& context) {
    std::optional<Context> current;

    PetscFunctionBegin;
    if (!context->on_gpu()) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(context_for(PETSC_MEMTYPE_CUDA, current));
    PetscCall(guarded([&]() -> PetscErrorCode {
        if (current->stream() != context->stream()) context->synchronize();
        context.emplace(*current);
        return PETSC_SUCCESS;
    }));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode release_contexts() {
    contexts().clear();
    return PETSC_SUCCESS;
}

PetscErrorCode begin_device_time(const Context& context) {
    PetscFunctionBegin;
    if (context.on_gpu()) PetscCall(PetscLogGpuTimeBegin());
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode end_device_time(const Context& context) {
    PetscFunctionBegin;
    if (context.on_gpu()) PetscCall(PetscLogGpuTimeEnd());
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode log_flops(const Context& context, PetscLogDouble flops) {
    PetscFunctionBegin;
#if defined(PETSC_HAVE_DEVICE)
    if (context.on_gpu()) {
        PetscCall(PetscLogGpuFlops(flops));
        PetscFunctionReturn(PETSC_SUCCESS);
    }
#else
    static_cast<void>(context);
#endif
    PetscCall(PetscLogFlops(flops));
    PetscFunctionReturn(PETSC_SUCCESS);
}

VectorAccess::VectorAccess(const Context& context, Vec vector, Mode mode)
    : vector_(vector), mode_(mode), on_gpu_(context.on_gpu()) {
    const Scalar* read = nullptr;
    PetscMemType memory = PETSC_MEMTYPE_HOST;
    throw_failure(VecGetLocalSize(vector, &size_));
    if (on_gpu_) {
        throw_failure(mode == Mode::read    ? VecGetArrayReadAndMemType(vector, &read, &memory)
                      : mode == Mode::write ? VecGetArrayWriteAndMemType(vector, &array_, &memory)
                                            : VecGetArrayAndMemType(vector, &array_, &memory));
    } else {
        throw_failure(mode == Mode::read    ? VecGetArrayRead(vector, &read)
                      : mode == Mode::write ? VecGetArrayWrite(vector, &array_)
                                            : VecGetArray(vector, &array_));
    }
    // What is read is never written.
    if (mode == Mode::read) array_ = const_cast<Scalar*>(read);
    held_ = true;
    if (on_gpu_ && !PetscMemTypeCUDA(memory)) {
        restore();
        throw InvalidArgument(
            "the matrix is on a GPU, and a vector is in host memory: use vectors of type cuda");
    }
}

void VectorAccess::restore() {
    if (!std::exchange(held_, false)) return;
    const Scalar* read = array_;
    if (on_gpu_) {
        throw_failure(mode_ == Mode::read    ? VecRestoreArrayReadAndMemType(vector_, &read)
                      : mode_ == Mode::write ? VecRestoreArrayWriteAndMemType(vector_, &array_)
                                             : VecRestoreArrayAndMemType(vector_, &array_));
    } else {
        throw_failure(mode_ == Mode::read    ? VecRestoreArrayRead(vector_, &read)
                      : mode_ == Mode::write ? VecRestoreArrayWrite(vector_, &array_)
                                             : VecRestoreArray(vector_, &array_));
    }
}

VectorAccess::~VectorAccess() {
    try {
        restore();
    } catch (const Failure&) {  // PETSc has reported it.
    }
}

}  // namespace tessera::petsc
