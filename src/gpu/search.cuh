#pragma once

#include <cuda_runtime.h>

#include "tessera/types.hpp"

namespace tessera::cuda {

/// First position in begin..end of ascending `columns` whose column is not below `column`.
__device__ inline Offset lower_bound(const Index* columns, Offset begin, Offset end, Index column) {
    while (begin < end) {
        const Offset middle = begin + (end - begin) / 2;
        if (__ldg(columns + middle) < column) {
            begin = middle + 1;
        } else {
            end = middle;
        }
    }
    return begin;
}

}  // namespace tessera::cuda
