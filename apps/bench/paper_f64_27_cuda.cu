#include "paper_multiple.cuh"

template const void* tessera::bench::paper::multiple_kernel<double, 23, 27>(int);
