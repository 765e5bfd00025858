#pragma once

#include "tessera/context.hpp"

/// The name of a CUDA entry where the CUDA backend is built, else a null pointer, so that
/// builds without it need nothing in its place.
#if TESSERA_WITH_CUDA
#define TESSERA_IF_CUDA(name) (&name)
#else
#define TESSERA_IF_CUDA(name) (nullptr)
#endif

/// The same declarations in the namespaces of both backends, cpu and cuda, of the enclosing one.
#define TESSERA_BACKENDS(...) \
    namespace cpu {           \
    __VA_ARGS__               \
    }                         \
    namespace cuda {          \
    __VA_ARGS__               \
    }

namespace tessera {

[[noreturn]] void throw_cuda_not_built();

/// The entry that runs on `context`: select(context, &cpu::f, TESSERA_IF_CUDA(cuda::f))(...).
template <class F>
F* select(const Context& context, F* cpu, std::type_identity_t<F*> cuda) {
    if (!context.on_gpu()) return cpu;
    if (cuda == nullptr) throw_cuda_not_built();
    return cuda;
}

/// Runs cpu::name or cuda::name, of the namespace that it stands in, by the Context.
#define TESSERA_RUN(name, context, ...) \
    tessera::select(context, &cpu::name, TESSERA_IF_CUDA(cuda::name))(context, __VA_ARGS__)

inline void require(bool holds, const char* message) {
    if (!holds) throw InvalidArgument(message);
}

}  // namespace tessera
