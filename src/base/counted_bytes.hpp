#pragma once

#include <algorithm>

#include "base/context_state.hpp"

namespace tessera {

/// Host memory of an object, outside Buffers, that counts as memory of a CPU Context.
class CountedBytes {
  public:
    explicit CountedBytes(const Context& context) : context_(context) {}
    ~CountedBytes() { set(0); }
    CountedBytes(const CountedBytes&) = delete;
    CountedBytes& operator=(const CountedBytes&) = delete;

    void set(Offset bytes) {
        ContextState& state = context_.state();
        state.memory_bytes += bytes - bytes_;
        state.peak_memory_bytes = std::max(state.peak_memory_bytes, state.memory_bytes);
        bytes_ = bytes;
    }

  private:
    Context context_;
    Offset bytes_ = 0;
};

}  // namespace tessera
