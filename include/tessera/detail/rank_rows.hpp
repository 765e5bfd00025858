#pragma once

#include "tessera/spectrum.hpp"

namespace tessera {

/// The rows of this rank among those of all ranks.
struct RankRows {
    Offset first = 0;
    Offset all = 0;
};

/// Elements first, first + 1, ... of the sequence of fill_normal.
template <class T>
TESSERA_API void fill_normal_from(const Context& context, std::uint64_t seed, Offset first,
                                  std::span<T> x);

/// lanczos for the rows of this rank of a matrix over ranks (base/rank_sums.hpp), from the vector
/// that one rank with all rows would begin with.
template <class T>
TESSERA_API RitzValues lanczos(const Context& context, const Operator<T>& matrix,
                               const RankRows& rows, int steps = 10, std::uint64_t seed = 1);

}  // namespace tessera
