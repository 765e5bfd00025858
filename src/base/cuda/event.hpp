#pragma once

#include <memory>

#include "base/check_cuda.hpp"

namespace tessera::cuda {

struct DestroyEvent {
    void operator()(cudaEvent_t event) const { cudaEventDestroy(event); }
};
using Event = std::unique_ptr<CUevent_st, DestroyEvent>;

inline Event make_event(unsigned flags = cudaEventDefault) {
    cudaEvent_t event = nullptr;
    TESSERA_CUDA(cudaEventCreateWithFlags(&event, flags));
    return Event(event);
}

}  // namespace tessera::cuda
