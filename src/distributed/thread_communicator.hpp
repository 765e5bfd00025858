#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/peers.hpp"
#include "distributed/communicator.hpp"

// How threads of one process send messages to each other.
namespace tessera {

/// What a rank shows to the others in a round of messages.
struct Shown {
    int device = -1;         ///< Where its memory is; -1: the host.
    bool is_shared = false;  ///< Kernels of all devices of the group can read it.
    std::span<const std::byte> bytes;
    std::vector<Communicator::Message> messages;
    std::exception_ptr error;
    std::shared_ptr<void> ready;  ///< Event: the bytes are complete.
    std::shared_ptr<void> done;   ///< Event: this rank has copied from the others.
};

/// Where the threads meet, in one work after another. All take part in all rounds: in each a rank
/// writes what it shows, reads what others show, and waits until all have read before it goes on.
class Meeting {
  public:
    Meeting(int size, double max_wait_seconds);

    int size() const { return int(ranks_.size()); }
    Shown& shown(int rank) { return ranks_[std::size_t(rank)].shown; }

    /// Says that `rank` shows what belongs to a round, and waits until all do.
    void show(int rank, Offset round);
    /// Says that it has read what others show.
    void have_read(int rank, Offset round);
    /// Waits until all have.
    void wait_for_readers(int rank, Offset round);
    /// To be called when a rank has done its work; `error`: not null if it ended with one. Ranks
    /// that wait for it then, or later, end with a RankError; others do not.
    void leave(int rank, const std::exception_ptr& error) noexcept;
    /// To be called between two works. Returns false if ranks have failed to meet in the last one:
    /// then rounds begin again from 1.
    bool begin_again();

  private:
    struct alignas(64) Rank {
        std::atomic<Offset> shows{0}, has_read{0};  ///< The latest rounds.
        std::atomic<bool> has_left{false};
        std::string why_left;  ///< May be empty.
        Shown shown;
    };
    using Rounds = std::atomic<Offset> Rank::*;
    void reach(int rank, Rounds rounds, Offset round);
    void wait_for_all(int rank, Rounds rounds, Offset round);
    bool have_all(Rounds rounds, Offset round) const;
    void require_no_failure(Rounds rounds, Offset round);
    void fail(const std::string& failure) noexcept;

    std::vector<Rank> ranks_;
    const double max_wait_seconds_;
    const int spins_;  ///< Times that a thread looks before it sleeps, where each has a core.
    std::mutex mutex_;
    std::condition_variable changed_;
    std::atomic<int> sleepers_{0};
    std::atomic<bool> failed_{false};
    std::string failure_;  ///< Why; may be empty. Guarded by the mutex.
};

/// Shows addresses and copies from the others. On GPUs the streams wait for each other, the host
/// waits for the threads of the others alone; the copies of an exchange are on a stream of their
/// own, beside what the Context does until `end`.
class ThreadCommunicator final : public Communicator {
  public:
    ThreadCommunicator(Meeting& meeting, int rank) : meeting_(meeting), rank_(rank) {}

    int rank() const override { return rank_; }
    int size() const override { return meeting_.size(); }
    void all_gather(const Context& context, std::span<const std::byte> mine,
                    std::span<std::byte> all) const override;
    void begin(const Context& context, std::span<const Message> send,
               std::span<const Message> receive) const override;
    void end(const Context& context) const override;
    void agree(std::exception_ptr error) const override;
    double seconds_waited() const override { return seconds_waited_; }
    bool can_be_captured() const override { return false; }

    /// After ranks have failed to meet: rounds begin again, and ranks show their devices.
    void begin_again();

  private:
    Shown& prepare(const Context& context) const;
    void tell_devices(const Context& context) const;
    void show() const;
    void wait_for_readers() const;
    void copy_from_others(const Context& context, void* stream,
                          const std::function<void()>& list_copies) const;
    void add_copy(int from, std::span<const std::byte> bytes, std::span<std::byte> to) const;
    void wait_for_copies(const Context& context) const;

    Meeting& meeting_;
    const int rank_;
    mutable Offset round_ = 0;
    mutable bool knows_devices_ = false;
    mutable double seconds_waited_ = 0;
    mutable std::shared_ptr<void> copy_stream_;
    mutable std::vector<int> partners_;  ///< In the round of messages that has begun.
    mutable std::vector<PeerCopy> copies_;
    mutable bool has_begun_ = false;
};

}  // namespace tessera
