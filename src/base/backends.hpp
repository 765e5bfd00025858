#pragma once

/// The same declarations in the namespaces of both backends, cpu and cuda, of the enclosing one.
#define TESSERA_BACKENDS(...) \
    namespace cpu {           \
    __VA_ARGS__               \
    }                         \
    namespace cuda {          \
    __VA_ARGS__               \
    }
