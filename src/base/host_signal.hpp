#pragma once

#include "base/context_state.hpp"

/// The word of host_scratch with which a kernel tells that its result there is complete: the host
/// sees it some microseconds before it sees the end of the kernel.
namespace tessera {

inline constexpr Offset host_result_bytes = host_scratch_bytes - Offset(sizeof(unsigned));

/// The word, cleared, before the kernel is launched.
unsigned* expect_signal(const Context& context);

/// Until the word is set, or all work of the Context has ended.
void wait_for_signal(const Context& context);

}  // namespace tessera
