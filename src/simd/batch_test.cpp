#include "simd/batch.hpp"

#include <limits>

#include "base/check_time.hpp"
#include "support/test.hpp"
#include "tessera/batched.hpp"

namespace tessera::test {
namespace {

/// A limit that is over after the first set ends the part before the second one.
TEST(batch, a_time_limit_ends_it_between_two_sets) {
    const auto matrices = batched::BatchView<const double>::uniform(
        Index(10 * max_set_size), 4, static_cast<const double*>(nullptr));
    const batched::Plan* const plan = nullptr;
    int sets = 0;
    const TimeLimit limit(std::numeric_limits<double>::infinity(), [&] { return sets == 1; });
    const auto work = [&](auto&& for_sets) {
        for_sets([&](const BatchSet&) {
            ++sets;
            try {
                while (sets == 1) check_time();
            } catch (const Stopped&) {  // Stopped as soon as the limit is looked at again.
            }
        });
    };
    EXPECT_THROW(for_batch_parts(
                     Context::cpu(1), matrices, plan, [](Index) { return 1e6; }, work),
                 Stopped);
    EXPECT_EQ(sets, 1);
}

}  // namespace
}  // namespace tessera::test
