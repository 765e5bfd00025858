#pragma once

#include "base/rank_sums.hpp"
#include "distributed/communicator.hpp"

namespace tessera {

/// Sums over the ranks of a communicator, which must outlive it: all gather all numbers, and add
/// them in the order of ranks.
class SumsOver final : public RankSums {
  public:
    explicit SumsOver(const Communicator& communicator) : communicator_(communicator) {}
    void add(const Context& context, float* first, Offset count, Offset stride) const override;
    void add(const Context& context, double* first, Offset count, Offset stride) const override;

  private:
    const Communicator& communicator_;
};

}  // namespace tessera
