#include "distributed/thread_group.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "base/check_time.hpp"
#include "base/checks.hpp"
#include "base/peer_copy.hpp"

namespace tessera {

namespace {

std::string message_of(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const std::exception& caught) {
        return caught.what();
    } catch (...) {
        return "an unknown error";
    }
}

/// What a rank shows to the others between two meetings.
struct Shown {
    int device = -1;  ///< Where its memory is; -1: the host.
    std::span<const std::byte> bytes;
    std::vector<Communicator::Message> messages;
    std::exception_ptr error;
};

/// Where the threads meet.
class Meeting {
  public:
    Meeting(int size, double max_wait_seconds)
        : shown_(std::size_t(size)), max_wait_seconds_(max_wait_seconds) {}

    int size() const { return int(shown_.size()); }
    /// Each rank writes its own before a meeting, and reads those of others between two.
    Shown& shown(int rank) { return shown_[std::size_t(rank)]; }

    /// Waits until all ranks have come.
    void meet(int rank) {
        std::unique_lock lock(mutex_);
        if (ended_ > 0) {
            fail(concat("rank ", rank, " of ", size(), " waits for ranks of which ", ended_,
                        " have returned"));
        }
        require_nobody_failed();
        const Offset round = round_;
        if (++come_ == size()) {
            come_ = 0;
            ++round_;
            changed_.notify_all();
            return;
        }
        const auto over = [&] { return round_ != round || !failure_.empty(); };
        if (max_wait_seconds_ < 1e8) {
            if (!changed_.wait_for(lock, std::chrono::duration<double>(max_wait_seconds_), over)) {
                fail(concat("rank ", rank, " of ", size(), " has waited ", max_wait_seconds_,
                            " s for other ranks"));
            }
        } else {
            changed_.wait(lock, over);
        }
        if (round_ == round) require_nobody_failed();
    }

    /// To be called at the end of a rank; `error`: not null if it ended with one.
    void leave(int rank, const std::exception_ptr& error) {
        const std::lock_guard lock(mutex_);
        ++ended_;
        if (error) {
            fail(
                concat("rank ", rank, " of ", size(), " ended with an error: ", message_of(error)));
        } else if (come_ > 0) {
            fail(concat("rank ", rank, " of ", size(), " has returned while others wait for it"));
        }
    }

  private:
    void fail(std::string failure) {
        if (failure_.empty()) failure_ = std::move(failure);
        changed_.notify_all();
    }
    void require_nobody_failed() const {
        if (!failure_.empty()) throw RankError(failure_);
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<Shown> shown_;
    const double max_wait_seconds_;
    int come_ = 0, ended_ = 0;
    Offset round_ = 0;
    std::string failure_;  ///< Empty: none.
};

/// Shows addresses, meets, copies from the others, and meets again, so that these may go on.
class ThreadCommunicator final : public Communicator {
  public:
    ThreadCommunicator(Meeting& meeting, int rank) : meeting_(meeting), rank_(rank) {}

    int rank() const override { return rank_; }
    int size() const override { return meeting_.size(); }

    void all_gather(const Context& context, std::span<const std::byte> mine,
                    std::span<std::byte> all) const override {
        require(all.size() == mine.size() * std::size_t(size()),
                "all_gather: the result must have the bytes of ", size(), " ranks");
        show(context).bytes = mine;
        copy_between_meetings(context, [&] {
            for (int r = 0; r < size(); ++r) {
                const Shown& other = meeting_.shown(r);
                require(other.bytes.size() == mine.size(), "all_gather: ranks ", rank_, " and ", r,
                        " give ", mine.size(), " and ", other.bytes.size(), " bytes");
                copy_from(context, other.device, other.bytes,
                          all.subspan(std::size_t(r) * mine.size(), mine.size()));
            }
        });
    }

    void begin(const Context& context, std::span<const Message> send,
               std::span<const Message> receive) const override {
        show(context).messages.assign(send.begin(), send.end());
        copy_between_meetings(context, [&] {
            std::vector<int> seen(std::size_t(size()), 0);  // Messages from each rank.
            for (const Message& message : receive) {
                const Shown& other = meeting_.shown(message.peer);
                int left = seen[std::size_t(message.peer)]++;
                const Message* found = nullptr;
                for (const Message& sent : other.messages) {
                    if (sent.peer == rank_ && left-- == 0) found = &sent;
                }
                require(found != nullptr && found->bytes.size() == message.bytes.size(),
                        "exchange: rank ", message.peer, " sends rank ", rank_, " ",
                        found == nullptr ? 0 : found->bytes.size(), " bytes, not ",
                        message.bytes.size());
                copy_from(context, other.device, found->bytes, message.bytes);
            }
        });
    }

    void end(const Context&) const override {}

    void agree(std::exception_ptr error) const override {
        meeting_.shown(rank_).error = error;
        meeting_.meet(rank_);
        std::exception_ptr first = error;
        for (int r = size(); r-- > 0 && !error;) {
            if (meeting_.shown(r).error) first = meeting_.shown(r).error;
        }
        meeting_.meet(rank_);
        if (first) std::rethrow_exception(first);
    }

    bool can_be_captured() const override { return false; }

  private:
    /// What this rank will show; its work so far is complete.
    Shown& show(const Context& context) const {
        context.synchronize();
        Shown& mine = meeting_.shown(rank_);
        mine.device = context.device();
        return mine;
    }
    /// No rank goes on, to change what it shows or to end with an error, before all have copied.
    template <class Copy>
    void copy_between_meetings(const Context& context, Copy&& copy) const {
        meeting_.meet(rank_);
        std::exception_ptr error;
        try {
            copy();
            context.synchronize();
        } catch (...) {
            error = std::current_exception();
        }
        meeting_.meet(rank_);
        if (error) std::rethrow_exception(error);
    }
    static void copy_from(const Context& context, int device, std::span<const std::byte> from,
                          std::span<std::byte> to) {
        require(context.on_gpu() == (device >= 0),
                "the ranks of a group are all on the CPU or all on GPUs");
        if (to.empty()) return;
        TESSERA_RUN(copy_from_peer, context, from.data(), device, to.data(), Offset(to.size()));
    }

    Meeting& meeting_;
    const int rank_;
};

}  // namespace

void run_ranks(int size, const std::function<void(const Communicator&)>& f,
               double max_wait_seconds) {
    require(size >= 1, "run_ranks: there must be one rank or more");
    Meeting meeting(size, max_wait_seconds);
    std::vector<std::exception_ptr> errors(std::size_t(size), nullptr);
    TimeLimit::State* const limit = time_limit_in_use;
    const auto run = [&](int rank) {
        const UseTimeLimit use(limit);
        try {
            const ThreadCommunicator communicator(meeting, rank);
            f(communicator);
        } catch (...) {
            errors[std::size_t(rank)] = std::current_exception();
        }
        meeting.leave(rank, errors[std::size_t(rank)]);
    };
    {
        std::vector<std::jthread> threads;
        threads.reserve(std::size_t(size));
        try {
            for (int rank = 0; rank < size; ++rank) threads.emplace_back(run, rank);
        } catch (...) {  // The system gives no more threads: those that run must not wait for them.
            meeting.leave(int(threads.size()), std::current_exception());
            throw;
        }
    }
    std::exception_ptr of_others;
    for (const std::exception_ptr& error : errors) {
        if (!error) continue;
        try {
            std::rethrow_exception(error);
        } catch (const RankError&) {
            if (!of_others) of_others = error;
        }
    }
    if (of_others) std::rethrow_exception(of_others);
}

}  // namespace tessera
