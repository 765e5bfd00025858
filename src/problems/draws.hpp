#pragma once

#include <cmath>
#include <limits>
#include <numbers>

#include "base/philox.hpp"
#include "tessera/spec.hpp"

namespace tessera::problems {

/// Random numbers of one thing (a row, a block, a point): they depend on the seed, its number and
/// their position.
class Draws {
  public:
    Draws(std::uint64_t seed, Offset stream) : seed_(seed), stream_(std::uint64_t(stream)) {}

    /// Uniform in [-1, 1).
    double symmetric() {
        const philox::Words next = philox::words(seed_, stream_, at_++);
        return 2 * philox::unit_interval<double>(next.words[0], next.words[1]) - 1;
    }

    /// Uniform in [0, 1).
    double uniform() {
        const philox::Words next = philox::words(seed_, stream_, at_++);
        return philox::unit_interval<double>(next.words[0], next.words[1]);
    }

    /// 10^u, u uniform in [-range, range).
    double power_of_ten(double range) { return std::pow(10, range * symmetric()); }

    /// Standard normal (Box and Muller).
    double normal() {
        const double radius = std::sqrt(-2 * std::log(1 - uniform()));
        return radius * std::cos(2 * std::numbers::pi * uniform());
    }

    /// Uniform in low..high.
    Index integer(Index low, Index high) {
        const std::uint64_t choices = std::uint64_t(high - low) + 1;
        return low + Index((choices * philox::words(seed_, stream_, at_++).words[0]) >> 32);
    }

  private:
    std::uint64_t seed_;
    std::uint64_t stream_;
    std::uint64_t at_ = 0;
};

inline std::uint64_t seed_of(Spec& spec) {
    return std::uint64_t(spec.integer("seed", 1, 0, std::numeric_limits<Offset>::max()));
}

}  // namespace tessera::problems
