#include "paper_multiple.cuh"

template const void* tessera::bench::paper::multiple_kernel<float, 1, 22>(int);
