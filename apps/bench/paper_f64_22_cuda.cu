#include "paper_multiple.cuh"

template const void* tessera::bench::paper::multiple_kernel<double, 1, 22>(int);
