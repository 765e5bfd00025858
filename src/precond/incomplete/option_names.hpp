#pragma once

#include <optional>

#include "tessera/detail/ordering.hpp"

// Words of options that are not set: auto.

namespace tessera::incomplete {

inline const char* ordering_name(const std::optional<OrderingMethod>& ordering) {
    return ordering ? to_string(*ordering) : "auto";
}

inline const char* on_or_off(const std::optional<bool>& choice) {
    return !choice ? "auto" : *choice ? "on" : "off";
}

}  // namespace tessera::incomplete
