#pragma once

#include <cublas_v2.h>

#include "harness/shared_library.hpp"
#include "tessera/context.hpp"

namespace tessera::bench {

inline const SharedLibrary& cublas_library() {
    static const SharedLibrary library("cuBLAS", {"libcublas.so.13", "libcublas.so"});
    return library;
}

/// The types of the functions of cuBLAS for T.
template <class T>
struct Prototypes;
template <>
struct Prototypes<float> {
    static constexpr char letter = 'S';
    using Getrf = decltype(&cublasSgetrfBatched);
    using Getri = decltype(&cublasSgetriBatched);
    using Getrs = decltype(&cublasSgetrsBatched);
    using Matinv = decltype(&cublasSmatinvBatched);
    using Gemv = decltype(&cublasSgemvBatched);
    using GemvStrided = decltype(&cublasSgemvStridedBatched);
};
template <>
struct Prototypes<double> {
    static constexpr char letter = 'D';
    using Getrf = decltype(&cublasDgetrfBatched);
    using Getri = decltype(&cublasDgetriBatched);
    using Getrs = decltype(&cublasDgetrsBatched);
    using Matinv = decltype(&cublasDmatinvBatched);
    using Gemv = decltype(&cublasDgemvBatched);
    using GemvStrided = decltype(&cublasDgemvStridedBatched);
};

/// "getrfBatched" is cublasSgetrfBatched or cublasDgetrfBatched.
template <class T, class Function>
Function cublas_function(const std::string& name) {
    return cublas_library().symbol<Function>("cublas" + std::string(1, Prototypes<T>::letter) +
                                             name);
}

/// Throws DeviceError unless a call of cuBLAS or cuSOLVER succeeded.
inline void check(int status, const char* call) {
    if (status != 0) {
        throw DeviceError(std::string(call) + " returned status " + std::to_string(status));
    }
}

/// A handle of a library, whose functions are PREFIXCreateSUFFIX and so on, on the stream of a
/// Context.
template <class Handle, class Status>
class LibraryHandle {
  public:
    LibraryHandle(const SharedLibrary& library, const std::string& prefix,
                  const std::string& suffix, const Context& context)
        : destroy_(library.symbol<Status (*)(Handle)>(prefix + "Destroy" + suffix)) {
        const auto create = library.symbol<Status (*)(Handle*)>(prefix + "Create" + suffix);
        const auto set_stream =
            library.symbol<Status (*)(Handle, cudaStream_t)>(prefix + "SetStream" + suffix);
        check(create(&handle_), (prefix + "Create").c_str());
        check(set_stream(handle_, static_cast<cudaStream_t>(context.stream())),
              (prefix + "SetStream").c_str());
    }
    LibraryHandle(const LibraryHandle&) = delete;
    LibraryHandle& operator=(const LibraryHandle&) = delete;
    ~LibraryHandle() { destroy_(handle_); }

    operator Handle() const { return handle_; }

  private:
    Status (*destroy_)(Handle);
    Handle handle_ = nullptr;
};

struct CublasHandle : LibraryHandle<cublasHandle_t, cublasStatus_t> {
    explicit CublasHandle(const Context& context)
        : LibraryHandle(cublas_library(), "cublas", "_v2", context) {}
};

}  // namespace tessera::bench
