#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "distributed/communicator.hpp"

// How threads of one process send messages to each other.
namespace tessera {

/// What a rank shows to the others between two meetings.
struct Shown {
    int device = -1;  ///< Where its memory is; -1: the host.
    std::span<const std::byte> bytes;
    std::vector<Communicator::Message> messages;
    std::exception_ptr error;
    std::shared_ptr<void> ready;  ///< Event: the bytes are complete.
    std::shared_ptr<void> done;   ///< Event: this rank has copied from the others.
};

/// Where the threads meet, in one work after another.
class Meeting {
  public:
    Meeting(int size, double max_wait_seconds);

    int size() const { return int(shown_.size()); }
    /// Each rank writes its own before a meeting, and reads those of others between two.
    Shown& shown(int rank) { return shown_[std::size_t(rank)]; }

    /// Waits until all ranks have come.
    void meet(int rank);
    /// To be called when a rank has done its work; `error`: not null if it ended with one. Ranks
    /// that wait for it then, or come to meet, end with a RankError; others do not.
    void leave(int rank, const std::exception_ptr& error) noexcept;
    /// To be called between two works. Returns false if ranks have failed to meet in the last one.
    bool begin_again();

  private:
    void fail(const std::string& failure) noexcept;
    void require_nobody_failed() const;

    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<Shown> shown_;
    const double max_wait_seconds_;
    const int spins_;  ///< Times that a thread looks before it sleeps, where each has a core.
    int come_ = 0, ended_ = 0;
    std::atomic<Offset> round_{0};
    bool failed_ = false, ended_with_error_ = false;
    std::string failure_;    ///< Why; may be empty.
    std::string why_ended_;  ///< What a rank has ended with, likewise.
};

/// Shows addresses, meets, copies from the others, and meets again, so that these may go on. On
/// GPUs the streams wait for each other, the host does not; the copies of an exchange are on a
/// stream of their own, beside what the Context does until `end`.
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

    /// After ranks have failed to meet: they show their devices again.
    void begin_again() { knows_devices_ = false; }

  private:
    void meet() const;
    Shown& show(const Context& context) const;
    void copy_between_meetings(const Context& context, const std::vector<int>& partners,
                               const std::function<void(int, const Shown&)>& copy,
                               void* stream) const;
    void wait_for_copies(const Context& context) const;

    Meeting& meeting_;
    const int rank_;
    mutable bool knows_devices_ = false;
    mutable double seconds_waited_ = 0;
    mutable std::shared_ptr<void> copy_stream_;
    mutable std::vector<int> partners_;  ///< In the exchange that has begun.
    mutable bool has_begun_ = false;
};

}  // namespace tessera
