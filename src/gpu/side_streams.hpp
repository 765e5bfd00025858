#pragma once

#include <cuda_runtime.h>

#include <algorithm>

#include "base/check_cuda.hpp"
#include "base/context_state.hpp"

namespace tessera::cuda {

/// Streams for launches that may run side by side, so that the ends of some overlap the starts of
/// others. All come after the work given to the Context before, and the work given to it after this
/// object's end comes after them all; that holds in captured graphs too.
class SideStreams {
  public:
    /// `several`: more than one launch is to come; a single one is not worth a fork.
    SideStreams(const Context& context, bool several)
        : state_(context.state()), main_(static_cast<cudaStream_t>(context.stream())) {
        TESSERA_CUDA(cudaSetDevice(context.device()));
        streams_ = several ? state_.side_streams.size() + 1 : 1;
        if (several) TESSERA_CUDA(cudaEventRecord(static_cast<cudaEvent_t>(state_.forked), main_));
    }
    ~SideStreams() {
        for (std::size_t k = 0; k < std::min(launches_, streams_) - 1 && launches_ > 0; ++k) {
            const ContextState::SideStream& side = state_.side_streams[k];
            const auto done = static_cast<cudaEvent_t>(side.done);
            cudaEventRecord(done, static_cast<cudaStream_t>(side.stream));
            cudaStreamWaitEvent(main_, done);
        }
    }
    SideStreams(const SideStreams&) = delete;
    SideStreams& operator=(const SideStreams&) = delete;

    /// For the next launch.
    cudaStream_t next() {
        const std::size_t k = launches_++ % streams_;
        if (k == 0) return main_;
        const auto stream = static_cast<cudaStream_t>(state_.side_streams[k - 1].stream);
        if (launches_ <= streams_) {
            TESSERA_CUDA(cudaStreamWaitEvent(stream, static_cast<cudaEvent_t>(state_.forked)));
        }
        return stream;
    }

  private:
    ContextState& state_;
    cudaStream_t main_;
    std::size_t streams_;
    std::size_t launches_ = 0;
};

}  // namespace tessera::cuda
