#include "tessera/nccl.hpp"

#include "distributed/test_ranks.hpp"
#include "support/messages.hpp"

namespace tessera::test {

namespace {

/// What each rank ends with where it makes a communicator; "" for none.
std::vector<std::string> endings(int size, const std::function<Context(int)>& context_of) {
    std::vector<std::string> messages(static_cast<std::size_t>(size));
    run_ranks(
        size,
        [&](const Communicator& control) {
            try {
                static_cast<void>(nccl_communicator(context_of(control.rank()), control));
            } catch (const Error& error) {
                messages[std::size_t(control.rank())] = error.what();
            }
        },
        watchdog);
    return messages;
}

/// Whether NCCL can be used; a test that it cannot says why.
bool nccl_is_there(std::string& reason) {
    if (!context().on_gpu() || cuda_devices().size() < 2) {
        reason = "NCCL needs two GPUs";
        return false;
    }
    reason = endings(2, [](int rank) { return Context::cuda(rank); }).front();
    return reason.empty();
}

}  // namespace

TEST(nccl_communicator, says_what_is_not_possible_on_all_ranks) {
    for (const std::string& message : endings(2, [](int) { return Context::cpu(1); })) {
        EXPECT_NE(message.find("between GPUs, not between CPUs"), std::string::npos) << message;
    }
    if (!context().on_gpu()) return;
    for (const std::string& message : endings(2, [](int) { return Context::cuda(0); })) {
        const bool missing =
                       message.find("libnccl.so.2, which cannot be loaded") != std::string::npos,
                   shared = message.find("ranks 0 and 1 are on one GPU") != std::string::npos;
        EXPECT_TRUE(missing || shared) << message;
    }
}

TEST(nccl_communicator, messages_are_those_of_threads) {
    std::string reason;
    if (!nccl_is_there(reason)) GTEST_SKIP() << reason;
    auto random = generator();
    const auto matrix = problems::generate<double>(host(), Spec("elasticity3d:9")).matrix;
    const auto x = random_vector<double>(random, std::size_t(matrix.rows()));
    const int size = int(cuda_devices().size());
    const auto starts = equal_parts(matrix.rows() / 3, size);
    std::vector<double> by_threads(x.size()), by_nccl(x.size());
    on_ranks(size, [&](const Communicator& control, const Context& own) {
        const auto nccl = nccl_communicator(own, control);
        const int rank = control.rank();
        const std::vector<int> expected = gather_to_host<int>(control, own, 10 + rank);
        EXPECT_EQ(gather_to_host<int>(*nccl, own, 10 + rank), expected);
        const auto multiply = [&](const Communicator& communicator, std::vector<double>& y) {
            const auto [halo, rows] = distribute(own, communicator, starts, matrix.view(), 3);
            const DistributedMatrix<double> a(own, rows.view(), halo.get(), ValueFormat::working);
            const Buffer<double> from = copy_to_buffer(own, own_part(x, starts, rank, 3));
            Buffer<double> to(own, from.size());
            a.apply(own, from.view(), to.view());
            put_part(own, to, starts, rank, 3, y);
        };
        multiply(control, by_threads);
        multiply(*nccl, by_nccl);
    });
    EXPECT_EQ(by_threads, by_nccl);
}

TEST(nccl_communicator, an_error_of_one_rank_ends_all) {
    std::string reason;
    if (!nccl_is_there(reason)) GTEST_SKIP() << reason;
    EXPECT_THROW(on_ranks(2,
                          [&](const Communicator& control, const Context& own) {
                              const auto nccl = nccl_communicator(own, control);
                              if (control.rank() == 1) throw OutOfMemory("no memory here");
                              static_cast<void>(gather_to_host<int>(*nccl, own, 1));
                          }),
                 OutOfMemory);
}

}  // namespace tessera::test
