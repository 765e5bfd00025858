#include "base/checks.hpp"
#include "batched/plan/kernels.hpp"

namespace tessera::batched {

Plan::Plan(const Context& context, Index count, const Index* sizes)
    : count_(count), begin_(std::size_t(largest_size) + 2) {
    require(count >= 0, "Plan: the number of matrices is negative");
    require(sizes != nullptr || count == 0, "Plan: the array of sizes is missing");
    if (count == 0) return;
    check_memory(context, "Plan", "the array of sizes", sizes);
    order_ = Buffer<Index>(context, count);
    const Index invalid =
        TESSERA_RUN(sort_by_size, context, count, sizes, begin_.data(), order_.data());
    if (invalid >= 0) {
        Index size = 0;
        copy_to_host(context, std::span<const Index>(sizes + invalid, 1),
                     std::span<Index>(&size, 1));
        throw InvalidArgument("Plan: matrix " + std::to_string(invalid) + " has " +
                              std::to_string(size) + " rows; a matrix of a batch has 0.." +
                              std::to_string(largest_size));
    }
    for (Index n = 0; n <= largest_size; ++n) {
        if (begin(n + 1) > begin(n)) largest_ = n;
    }
}

}  // namespace tessera::batched
