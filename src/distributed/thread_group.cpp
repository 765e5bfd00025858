#include "distributed/thread_group.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "base/check_time.hpp"
#include "base/checks.hpp"
#include "base/peers.hpp"
#include "base/phases.hpp"

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
    std::shared_ptr<void> ready;  ///< Event: the bytes are complete.
    std::shared_ptr<void> done;   ///< Event: this rank has copied from the others.
};

/// Where the threads meet.
class Meeting {
  public:
    Meeting(int size, double max_wait_seconds)
        : shown_(std::size_t(size)),
          max_wait_seconds_(max_wait_seconds),
          spins_(unsigned(size) <= std::thread::hardware_concurrency() ? 1000 : 0) {}

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
        if (spins_ > 0) {
            lock.unlock();
            for (int k = 0; k < spins_ && round_ == round; ++k) std::this_thread::yield();
            lock.lock();
        }
        const auto over = [&] { return round_ != round || failed_; };
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
    void leave(int rank, const std::exception_ptr& error) noexcept {
        const std::lock_guard lock(mutex_);
        ++ended_;
        if (!error && come_ == 0) return;
        try {
            fail(error ? concat("rank ", rank, " of ", size(),
                                " ended with an error: ", message_of(error))
                       : concat("rank ", rank, " of ", size(),
                                " has returned while others wait for it"));
        } catch (...) {  // There is no memory for a message.
            fail({});
        }
    }

  private:
    void fail(std::string failure) noexcept {
        if (!failed_) failure_ = std::move(failure);
        failed_ = true;
        changed_.notify_all();
    }
    void require_nobody_failed() const {
        if (failed_) throw RankError(failure_.empty() ? "a rank ended with an error" : failure_);
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<Shown> shown_;
    const double max_wait_seconds_;
    const int spins_;  ///< Times that a thread looks before it sleeps, where each has a core.
    int come_ = 0, ended_ = 0;
    std::atomic<Offset> round_{0};
    bool failed_ = false;
    std::string failure_;  ///< Why; may be empty.
};

/// Shows addresses, meets, copies from the others, and meets again, so that these may go on. On
/// GPUs the streams wait for each other, the host does not.
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
        const auto everyone = [](int) { return true; };
        copy_between_meetings(context, everyone, [&](int r, const Shown& other) {
            require(other.bytes.size() == mine.size(), "all_gather: ranks ", rank_, " and ", r,
                    " give ", mine.size(), " and ", other.bytes.size(), " bytes");
            copy_from(context, other, other.bytes,
                      all.subspan(std::size_t(r) * mine.size(), mine.size()));
        });
    }

    void begin(const Context& context, std::span<const Message> send,
               std::span<const Message> receive) const override {
        show(context).messages.assign(send.begin(), send.end());
        const auto takes_part = [&](int r) {
            const auto is_with = [r](const Message& message) { return message.peer == r; };
            return std::ranges::any_of(send, is_with) || std::ranges::any_of(receive, is_with);
        };
        copy_between_meetings(context, takes_part, [&](int r, const Shown& other) {
            auto sent = other.messages.begin();
            for (const Message& message : receive) {
                if (message.peer != r) continue;
                sent = std::find_if(sent, other.messages.end(),
                                    [&](const Message& each) { return each.peer == rank_; });
                const bool found = sent != other.messages.end();
                require(found && sent->bytes.size() == message.bytes.size(), "exchange: rank ", r,
                        " sends rank ", rank_, " ", found ? sent->bytes.size() : 0, " bytes, not ",
                        message.bytes.size());
                copy_from(context, other, sent->bytes, message.bytes);
                ++sent;
            }
        });
    }

    void end(const Context&) const override {}

    void agree(std::exception_ptr error) const override {
        meeting_.shown(rank_).error = error;
        meet();
        std::exception_ptr first = error;
        for (int r = size(); r-- > 0 && !error;) {
            if (meeting_.shown(r).error) first = meeting_.shown(r).error;
        }
        meet();
        if (first) std::rethrow_exception(first);
    }

    double seconds_waited() const override { return seconds_waited_; }
    bool can_be_captured() const override { return false; }

  private:
    void meet() const {
        const double start = now();
        meeting_.meet(rank_);
        seconds_waited_ += now() - start;
    }

    /// What this rank will show, after its work so far.
    Shown& show(const Context& context) const {
        Shown& mine = meeting_.shown(rank_);
        if (!knows_devices_) {
            mine.device = context.device();
            meet();
            for (int r = 0; r < size(); ++r) {
                const int device = meeting_.shown(r).device;
                require(context.on_gpu() == (device >= 0),
                        "the ranks of a group are all on the CPU or all on GPUs");
                if (device == mine.device) continue;
                TESSERA_RUN(share_with_device, context, device);
            }
            knows_devices_ = true;
        }
        TESSERA_RUN(record_event, context, mine.ready);
        return mine;
    }

    /// copy(r, what rank r shows) for the ranks that take part. No rank goes on, to change what it
    /// shows or to end with an error, before all others have copied.
    template <class TakesPart, class Copy>
    void copy_between_meetings(const Context& context, TakesPart&& takes_part, Copy&& copy) const {
        meet();
        std::exception_ptr error;
        try {
            for (int r = 0; r < size(); ++r) {
                if (!takes_part(r)) continue;
                const Shown& other = meeting_.shown(r);
                if (r != rank_) TESSERA_RUN(wait_for_event, context, other.ready);
                copy(r, other);
            }
            TESSERA_RUN(record_event, context, meeting_.shown(rank_).done);
        } catch (...) {
            error = std::current_exception();
        }
        meet();
        if (error) std::rethrow_exception(error);
        for (int r = 0; r < size(); ++r) {
            const std::shared_ptr<void>& done = meeting_.shown(r).done;
            if (r == rank_ || !takes_part(r) || (context.on_gpu() && !done)) continue;
            TESSERA_RUN(wait_for_event, context, done);
        }
    }

    static void copy_from(const Context& context, const Shown& other,
                          std::span<const std::byte> from, std::span<std::byte> to) {
        if (to.empty()) return;
        TESSERA_RUN(copy_from_peer, context, from.data(), other.device, to.data(),
                    Offset(to.size()));
    }

    Meeting& meeting_;
    const int rank_;
    mutable bool knows_devices_ = false;
    mutable double seconds_waited_ = 0;
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
        threads.reserve(std::size_t(size) - 1);
        try {
            for (int rank = 1; rank < size; ++rank) threads.emplace_back(run, rank);
        } catch (...) {  // The system gives no more threads: those that run must not wait for them.
            meeting.leave(int(threads.size()) + 1, std::current_exception());
            throw;
        }
        run(0);
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
