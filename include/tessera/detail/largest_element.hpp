#pragma once

#include <span>

#include "tessera/context.hpp"

namespace tessera {

/// max |v_i|, in the memory of `context`; 0 without elements. Waits.
template <class T>
TESSERA_API double largest_element(const Context& context, std::span<const T> v);

}  // namespace tessera
