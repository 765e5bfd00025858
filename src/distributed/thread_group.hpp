#pragma once

#include <functional>
#include <limits>
#include <memory>

#include "distributed/communicator.hpp"

namespace tessera {

/// Threads of this process that are ranks, for one work after another. The thread that calls `run`
/// is rank 0; the others live as long as the group, and the child of a fork starts new ones. Each
/// rank has a Context of its own, on the CPU or on a GPU, which may be the same for some. A rank
/// that waits for others for longer than `max_wait_seconds`, or for a rank that has returned, ends
/// with a RankError, and with it all others.
class ThreadGroup {
  public:
    explicit ThreadGroup(int size,
                         double max_wait_seconds = std::numeric_limits<double>::infinity());
    ~ThreadGroup();
    ThreadGroup(const ThreadGroup&) = delete;
    ThreadGroup& operator=(const ThreadGroup&) = delete;

    /// Runs f(communicator) on all ranks, and throws the error of the first that ended with one of
    /// its own. Communicators are those of earlier works; after errors, too, there may be others.
    /// TimeLimits of the caller hold on all threads.
    void run(const std::function<void(const Communicator&)>& f);
    /// Whether in the latest work all ranks that waited for others met them, so that what they
    /// share is as all of them think, even if they ended with an error that they agreed on.
    bool is_consistent() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

/// Runs f(communicator) on a ThreadGroup of its own.
void run_ranks(int size, const std::function<void(const Communicator&)>& f,
               double max_wait_seconds = std::numeric_limits<double>::infinity());

}  // namespace tessera
