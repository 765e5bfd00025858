#pragma once

#include "harness/shared_library.hpp"

namespace tessera::bench {

inline const SharedLibrary& cublas_library() {
    static const SharedLibrary library("cuBLAS", {"libcublas.so.13", "libcublas.so"});
    return library;
}

}  // namespace tessera::bench
