#pragma once

#include <vector>

#include "tessera/types.hpp"

namespace tessera::cpu {

/// One bit per row, set where a supervariable starts; the end of the matrix counts as a start.
class StartMask {
  public:
    explicit StartMask(Index rows) : words_(std::size_t(rows) / 64 + 2) {}

    void set(Index row) { words_[std::size_t(row) / 64] |= std::uint64_t(1) << (row % 64); }

    /// Where a block that starts with row `row` may end: bit t stands for row + 1 + t. At the
    /// starts of supervariables, or after `bound` (1..64) rows if there is none among these.
    std::uint64_t ends(Index row, Index bound) const {
        const std::size_t word = std::size_t(row + 1) / 64;
        const int shift = (row + 1) % 64;
        std::uint64_t window = words_[word] >> shift;
        if (shift > 0) window |= words_[word + 1] << (64 - shift);
        window &= ~std::uint64_t(0) >> (64 - bound);
        return window != 0 ? window : std::uint64_t(1) << (bound - 1);
    }

  private:
    std::vector<std::uint64_t> words_;
};

}  // namespace tessera::cpu
