#include <algorithm>
#include <numeric>

#include "support/messages.hpp"

namespace tessera::test {

namespace {

std::vector<Index> random_sizes(std::mt19937_64& random, std::size_t count, Index largest) {
    std::vector<Index> sizes(count);
    for (Index& n : sizes) n = Index(random() % std::uint64_t(largest + 1));
    return sizes;
}

std::vector<Index> order_of(const Context& context, const batched::Plan& plan) {
    std::vector<Index> order(std::size_t(plan.count()));
    if (!order.empty()) {
        copy_to_host(context, std::span<const Index>(plan.order(), order.size()),
                     std::span<Index>(order));
    }
    return order;
}

void expect_sorted(const Context& context, const std::vector<Index>& sizes) {
    const Buffer<Index> device_sizes = copy_to_buffer(context, sizes);
    const batched::Plan plan(context, Index(sizes.size()), device_sizes.data());
    std::vector<Index> expected(sizes.size());
    std::iota(expected.begin(), expected.end(), 0);
    std::stable_sort(expected.begin(), expected.end(), [&](Index a, Index b) {
        return sizes[std::size_t(a)] < sizes[std::size_t(b)];
    });
    EXPECT_EQ(plan.count(), Index(sizes.size()));
    EXPECT_EQ(order_of(context, plan), expected);
    EXPECT_EQ(plan.largest(), sizes.empty() ? 0 : *std::max_element(sizes.begin(), sizes.end()));
    for (Index n = 0; n <= batched::largest_size + 1; ++n) {
        const auto smaller = [&](Index size) { return size < n; };
        ASSERT_EQ(plan.begin(n), std::count_if(sizes.begin(), sizes.end(), smaller)) << n;
    }
}

}  // namespace

TEST(plan, sorts_stably_and_counts) {
    auto random = generator();
    expect_sorted(context(), {});
    expect_sorted(context(), {0});
    expect_sorted(context(), {128});
    expect_sorted(context(), {3, 0, 3, 2, 0, 128, 2, 3});
    expect_sorted(context(), std::vector<Index>(70001, 5));
    for (const std::size_t count : {31, 32, 33, 1000, 1023, 1025, 4097, 70000, 300001}) {
        expect_sorted(context(), random_sizes(random, count, batched::largest_size));
        expect_sorted(context(), random_sizes(random, count, 4));
    }
}

TEST(plan, does_not_depend_on_threads) {
    auto random = generator();
    const std::vector<Index> sizes = random_sizes(random, 200000, 32);
    const batched::Plan one(host(1), Index(sizes.size()), sizes.data());
    const batched::Plan seven(host(7), Index(sizes.size()), sizes.data());
    EXPECT_EQ(order_of(host(), one), order_of(host(), seven));
}

TEST(plan, a_plan_made_without_matrices_is_empty) {
    const batched::Plan plan;
    EXPECT_EQ(plan.count(), 0);
    EXPECT_EQ(plan.largest(), 0);
}

TEST(plan, names_the_first_wrong_size) {
    for (const Index wrong :
         {-1, 129, std::numeric_limits<Index>::min(), std::numeric_limits<Index>::max()}) {
        std::vector<Index> sizes(100000, 7);
        for (const std::size_t b : {99999, 60001, 60000}) {
            sizes[b] = wrong;
            const Buffer<Index> device = copy_to_buffer(context(), sizes);
            const std::string message = message_of(
                [&] { const batched::Plan plan(context(), Index(sizes.size()), device.data()); });
            expect_contains(
                message, "matrix " + std::to_string(b) + " has " + std::to_string(wrong) + " rows");
        }
    }
}

TEST(plan, rejects_what_is_missing) {
    const Index size = 1;
    EXPECT_THROW(batched::Plan(context(), -1, &size), InvalidArgument);
    EXPECT_THROW(batched::Plan(context(), 1, nullptr), InvalidArgument);
}

}  // namespace tessera::test
