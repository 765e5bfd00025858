#include "base/rank_sums.hpp"

#include <utility>

namespace tessera {

namespace {

constinit thread_local const ContextState* state_in_use = nullptr;
constinit thread_local const RankSums* sums_in_use = nullptr;

}  // namespace

UseRankSums::UseRankSums(const Context& context, const RankSums* sums)
    : state_before_(std::exchange(state_in_use, &context.state())),
      sums_before_(std::exchange(sums_in_use, sums)) {}

UseRankSums::~UseRankSums() {
    state_in_use = state_before_;
    sums_in_use = sums_before_;
}

const RankSums* rank_sums(const Context& context) {
    return state_in_use == &context.state() ? sums_in_use : nullptr;
}

}  // namespace tessera
