#pragma once

#include <span>

#include "tessera/context.hpp"

namespace tessera {

/// ||v||, also where squares leave the range of T, in work space of the Context. Waits.
template <class T>
TESSERA_API double norm(const Context& context, std::span<const T> v);

}  // namespace tessera
