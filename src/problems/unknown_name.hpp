#pragma once

#include "base/concat.hpp"
#include "tessera/spec.hpp"

namespace tessera {

/// "'lft'; did you mean 'left'? It has left, right", for a name that a mesh does not have.
inline std::string unknown_name(const std::string& name, const std::vector<std::string>& names) {
    const std::string nearest = nearest_word(name, names);
    return concat("'", name, "'; ",
                  nearest.empty() ? "it has " : concat("did you mean '", nearest, "'? It has "),
                  list_of(names));
}

}  // namespace tessera
