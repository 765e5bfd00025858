#pragma once

#include "harness/shared_library.hpp"

namespace tessera::bench {

/// OpenBLAS with one thread: the loops over matrices are parallel.
inline const SharedLibrary& openblas() {
    static const SharedLibrary library = [] {
        SharedLibrary found("LAPACK (OpenBLAS)", {"libopenblas.so.0", "libopenblas.so"});
        if (found.found()) found.symbol<void (*)(int)>("openblas_set_num_threads")(1);
        return found;
    }();
    return library;
}

/// A Fortran function of OpenBLAS for T, such as "getrf": every argument is an address; strings
/// have a hidden length.
template <class T, class Function>
Function openblas_function(const std::string& name) {
    return openblas().symbol<Function>((sizeof(T) == 4 ? "s" : "d") + name + "_");
}

template <class T>
using Getrf = void (*)(const int* m, const int* n, T* a, const int* ld, int* pivots, int* info);

}  // namespace tessera::bench
