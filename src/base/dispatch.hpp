#pragma once

#include "base/concat.hpp"
#include "tessera/context.hpp"

/// The address of a CUDA function, or null where the CUDA backend is not built.
#if TESSERA_WITH_CUDA
#define TESSERA_IF_CUDA(name) (&name)
#else
#define TESSERA_IF_CUDA(name) (nullptr)
#endif

/// Repeats declarations in the nested namespaces cpu and cuda.
#define TESSERA_BACKENDS(...) \
    namespace cpu {           \
    __VA_ARGS__               \
    }                         \
    namespace cuda {          \
    __VA_ARGS__               \
    }

namespace tessera {

[[noreturn]] void throw_cuda_not_built();

/// The function that runs on `context`: select(context, &cpu::f, TESSERA_IF_CUDA(cuda::f))(...).
template <class F>
F* select(const Context& context, F* cpu, std::type_identity_t<F*> cuda) {
    if (!context.on_gpu()) return cpu;
    if (cuda == nullptr) throw_cuda_not_built();
    return cuda;
}

/// Calls cpu::name or cuda::name of the current namespace, by the backend of the Context.
#define TESSERA_RUN(name, context, ...) \
    tessera::select(context, &cpu::name, TESSERA_IF_CUDA(cuda::name))(context, __VA_ARGS__)

}  // namespace tessera
