#pragma once

/// Marks a function that both compilers may see: host and device code under nvcc, plain elsewhere.
#ifdef __CUDACC__
#define TESSERA_HOST_DEVICE __host__ __device__
#else
#define TESSERA_HOST_DEVICE
#endif
