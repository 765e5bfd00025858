#include "paper_multiple.cuh"

template const void* tessera::bench::paper::multiple_kernel<float, 23, 27>(int);
