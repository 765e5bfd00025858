#pragma once

#include <algorithm>
#include <array>

#include "tessera/types.hpp"

namespace tessera {

/// The number of iterations that the host enqueues between two convergence checks on a GPU. A check
/// costs about as much as an iteration of a small system, and so does each iteration beyond the
/// last one. Solves that follow one another often need similar numbers: the length changes where
/// another would have made the latest four (after the first ones: two, three) cheaper by an eighth,
/// as the graph is then mostly recorded anew.
class BatchLength {
  public:
    int length() const { return length_; }

    /// To be called after a solve that converged.
    void solve_ended(Offset iterations) {
        std::rotate(latest_.begin(), latest_.begin() + 1, latest_.end());
        latest_.back() = iterations;
        if (expensive_ || latest_[latest_.size() - 2] <= 0) return;
        int best = length_;
        for (const Offset solve : latest_) {
            const int candidate = solve > 0 ? ending_with(solve) : usual;
            if (cost(candidate) < cost(best)) best = candidate;
        }
        if (8 * cost(best) < 7 * cost(length_)) length_ = best;
    }

    /// Iterations take so long that waits do not matter.
    void shorten(int length) {
        expensive_ = true;
        length_ = length;
    }

    static constexpr int usual = 16;

  private:
    static constexpr Offset longest = 32;

    /// The length of equal batches that end with the last iteration.
    static int ending_with(Offset iterations) {
        const Offset batches = (iterations + longest - 1) / longest;
        return int((iterations + batches - 1) / batches);
    }
    /// Iterations and checks of the latest solves.
    Offset cost(int length) const {
        Offset sum = 0;
        for (const Offset iterations : latest_) {
            sum += (iterations + length - 1) / length * (length + 1);
        }
        return sum;
    }

    int length_ = usual;
    bool expensive_ = false;
    std::array<Offset, 4> latest_{};  ///< Iterations of the latest solves; 0: none.
};

}  // namespace tessera
