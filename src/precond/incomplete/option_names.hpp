#pragma once

#include <optional>

#include "tessera/detail/ordering.hpp"
#include "tessera/factor.hpp"
#include "tessera/spec.hpp"

// Words of options; auto: not set.

namespace tessera::incomplete {

inline const char* ordering_name(const std::optional<OrderingMethod>& ordering) {
    return ordering ? to_string(*ordering) : "auto";
}

inline const char* on_or_off(const std::optional<bool>& choice) {
    return !choice ? "auto" : *choice ? "on" : "off";
}

inline bool on(Spec& spec, const char* key, bool otherwise) {
    const std::string word = spec.word(key, on_or_off(otherwise), {"on", "off", "true", "false"});
    return word == "on" || word == "true";
}

/// As to_string, but `full` is the paper's "complete".
inline const char* pivoting_name(batched::Pivoting pivoting) {
    return pivoting == batched::Pivoting::full ? "complete" : batched::to_string(pivoting);
}

}  // namespace tessera::incomplete
