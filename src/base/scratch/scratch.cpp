#include "base/scratch/scratch.hpp"

#include <algorithm>

#include "base/context_state.hpp"
#include "base/dispatch.hpp"

namespace tessera {

/// Owned memory of a Context's state, which outlives it: the state or one of its graphs owns it.
struct ScratchBlock {
    ScratchBlock(ContextState& owner, Offset size)
        : state(owner), memory(owner.allocate(size)), bytes(size) {
        ++state.allocations;
        state.memory_bytes += bytes;
        state.peak_memory_bytes = std::max(state.peak_memory_bytes, state.memory_bytes);
    }
    ~ScratchBlock() {
        state.memory_bytes -= bytes;
        state.release(memory, bytes);
    }
    ScratchBlock(const ScratchBlock&) = delete;
    ScratchBlock& operator=(const ScratchBlock&) = delete;

    ContextState& state;
    void* memory;
    Offset bytes;
};

namespace {

constexpr Offset alignment = 256;

/// Replaces a block of less than `bytes`. Objects that use the old one keep it.
void grow(ContextState& state, Offset bytes) {
    if (state.scratch && state.scratch->bytes >= bytes) return;
    state.require_no_capture("work space cannot be allocated");
    if (state.scratch_top == 0) state.scratch.reset();  // Frees before it allocates.
    state.scratch = std::make_shared<ScratchBlock>(state, bytes);
}

}  // namespace

Offset scratch_bytes(Offset bytes) { return (bytes + alignment - 1) / alignment * alignment; }

ScratchBytes::ScratchBytes(const Context& context, Offset bytes)
    : state_(context.state()), before_(state_.scratch_top) {
    if (bytes == 0) return;
    const Offset end = before_ + scratch_bytes(bytes);
    grow(state_, end);
    block_ = state_.scratch;
    data_ = static_cast<char*>(block_->memory) + before_;
    if (state_.poison) state_.fill_bytes(data_, 0xff, bytes);
    if (state_.recording()) {
        auto& kept = state_.capturing ? state_.captured_scratch : state_.scratch_of_caller;
        if (std::ranges::find(kept, block_) == kept.end()) kept.push_back(block_);
    }
    state_.scratch_top = end;  // Last: where something above failed there is no destructor.
}

ScratchBytes::~ScratchBytes() { state_.scratch_top = before_; }

void reserve_scratch(const Context& context, std::initializer_list<Offset> sizes) {
    Offset bytes = context.state().scratch_top;
    for (const Offset size : sizes) bytes += scratch_bytes(size);
    if (bytes > 0) grow(context.state(), bytes);
}

}  // namespace tessera
