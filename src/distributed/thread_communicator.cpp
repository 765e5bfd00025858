#include "distributed/thread_communicator.hpp"

#include <algorithm>
#include <numeric>
#include <thread>

#include "base/checks.hpp"
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

}  // namespace

Meeting::Meeting(int size, double max_wait_seconds)
    : ranks_(std::size_t(size)),
      max_wait_seconds_(max_wait_seconds),
      spins_(unsigned(size) <= std::thread::hardware_concurrency() ? 2000 : 0) {}

void Meeting::show(int rank, Offset round) {
    reach(rank, &Rank::shows, round);
    wait_for_all(rank, &Rank::shows, round);
}

void Meeting::have_read(int rank, Offset round) { reach(rank, &Rank::has_read, round); }

void Meeting::wait_for_readers(int rank, Offset round) {
    wait_for_all(rank, &Rank::has_read, round);
}

void Meeting::reach(int rank, Rounds rounds, Offset round) {
    (ranks_[std::size_t(rank)].*rounds).store(round);
    if (sleepers_ == 0) return;
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
}

bool Meeting::have_all(Rounds rounds, Offset round) const {
    return std::ranges::all_of(ranks_, [&](const Rank& each) { return each.*rounds >= round; });
}

void Meeting::wait_for_all(int rank, Rounds rounds, Offset round) {
    for (int k = 0; k < spins_; ++k) {
        if (have_all(rounds, round)) return;
        std::this_thread::yield();
    }
    std::unique_lock lock(mutex_);
    ++sleepers_;
    const auto will_not_come = [&](const Rank& each) {
        return each.has_left && each.*rounds < round;
    };
    const auto is_over = [&] {
        return failed_ || have_all(rounds, round) || std::ranges::any_of(ranks_, will_not_come);
    };
    if (max_wait_seconds_ < 1e8) {
        if (!changed_.wait_for(lock, std::chrono::duration<double>(max_wait_seconds_), is_over)) {
            fail(concat("rank ", rank, " of ", size(), " has waited ", max_wait_seconds_,
                        " s for other ranks"));
        }
    } else {
        changed_.wait(lock, is_over);
    }
    --sleepers_;
    if (!have_all(rounds, round)) require_no_failure(rounds, round);
}

/// Throws where a rank will not come: it has left, or all have failed. With the mutex.
void Meeting::require_no_failure(Rounds rounds, Offset round) {
    for (const Rank& each : ranks_) {
        if (each.has_left && each.*rounds < round) fail(each.why_left);
    }
    if (failed_) throw RankError(failure_.empty() ? "a rank ended with an error" : failure_);
}

void Meeting::leave(int rank, const std::exception_ptr& error) noexcept {
    const std::lock_guard lock(mutex_);
    Rank& own = ranks_[std::size_t(rank)];
    try {
        own.why_left =
            error
                ? concat("rank ", rank, " of ", size(), " ended with an error: ", message_of(error))
                : concat("rank ", rank, " of ", size(), " has returned while others wait for it");
    } catch (...) {  // There is no memory for a message.
    }
    own.has_left = true;
    changed_.notify_all();
}

bool Meeting::begin_again() {
    const std::lock_guard lock(mutex_);
    const bool met = !failed_;
    for (Rank& each : ranks_) {
        each.has_left = false;
        each.why_left = {};
        if (met) continue;
        each.shows = each.has_read = 0;
        each.shown = {};
    }
    failed_ = false;
    failure_ = {};
    return met;
}

void Meeting::fail(const std::string& failure) noexcept {
    try {
        if (!failed_) failure_ = failure;
    } catch (...) {  // There is no memory for a message.
    }
    failed_ = true;
    changed_.notify_all();
}

void ThreadCommunicator::all_gather(const Context& context, std::span<const std::byte> mine,
                                    std::span<std::byte> all) const {
    require(all.size() == mine.size() * std::size_t(size()),
            "all_gather: the result must have the bytes of ", size(), " ranks");
    prepare(context).bytes = mine;
    partners_.resize(std::size_t(size()));
    std::iota(partners_.begin(), partners_.end(), 0);
    copy_from_others(context, nullptr, [&] {
        for (int r = 0; r < size(); ++r) {
            const std::span<const std::byte> bytes = meeting_.shown(r).bytes;
            require(bytes.size() == mine.size(), "all_gather: ranks ", rank_, " and ", r, " give ",
                    mine.size(), " and ", bytes.size(), " bytes");
            add_copy(r, bytes, all.subspan(std::size_t(r) * mine.size(), mine.size()));
        }
    });
    end(context);
}

void ThreadCommunicator::begin(const Context& context, std::span<const Message> send,
                               std::span<const Message> receive) const {
    prepare(context).messages.assign(send.begin(), send.end());
    partners_.clear();
    for (const Message& message : send) partners_.push_back(message.peer);
    for (const Message& message : receive) partners_.push_back(message.peer);
    std::ranges::sort(partners_);
    partners_.erase(std::ranges::unique(partners_).begin(), partners_.end());
    if (!copy_stream_) {
        copy_stream_ = select(context, &cpu::make_copy_stream,
                              TESSERA_IF_CUDA(cuda::make_copy_stream))(context);
    }
    copy_from_others(context, copy_stream_.get(), [&] {
        for (const int r : partners_) {
            const std::vector<Message>& messages = meeting_.shown(r).messages;
            auto sent = messages.begin();
            for (const Message& message : receive) {
                if (message.peer != r) continue;
                sent = std::find_if(sent, messages.end(),
                                    [&](const Message& each) { return each.peer == rank_; });
                const bool found = sent != messages.end();
                require(found && sent->bytes.size() == message.bytes.size(), "exchange: rank ", r,
                        " sends rank ", rank_, " ", found ? sent->bytes.size() : 0, " bytes, not ",
                        message.bytes.size());
                add_copy(r, sent->bytes, message.bytes);
                ++sent;
            }
        }
    });
}

void ThreadCommunicator::end(const Context& context) const {
    wait_for_readers();
    has_begun_ = false;
    wait_for_copies(context);
}

void ThreadCommunicator::agree(std::exception_ptr error) const {
    ++round_;
    meeting_.shown(rank_).error = error;
    show();
    std::exception_ptr first = error;
    for (int r = size(); r-- > 0 && !error;) {
        if (meeting_.shown(r).error) first = meeting_.shown(r).error;
    }
    meeting_.have_read(rank_, round_);
    wait_for_readers();
    if (first) std::rethrow_exception(first);
}

void ThreadCommunicator::begin_again() {
    round_ = 0;
    knows_devices_ = has_begun_ = false;
}

void ThreadCommunicator::show() const {
    const double start = now();
    meeting_.show(rank_, round_);
    seconds_waited_ += now() - start;
}

void ThreadCommunicator::wait_for_readers() const {
    const double start = now();
    meeting_.wait_for_readers(rank_, round_);
    seconds_waited_ += now() - start;
}

/// What this rank will show in a new round, after its work so far.
Shown& ThreadCommunicator::prepare(const Context& context) const {
    if (has_begun_) end(context);  // An exchange that an error ended.
    if (!knows_devices_) tell_devices(context);
    Shown& mine = meeting_.shown(rank_);
    TESSERA_RUN(record_event, context, mine.ready, nullptr);
    ++round_;  // Not where the event fails: rounds of all ranks are equal.
    return mine;
}

/// Shows the device, and then whether the memory on it can be read by those of all others.
void ThreadCommunicator::tell_devices(const Context& context) const {
    Shown& mine = meeting_.shown(rank_);
    mine.device = context.device();
    agree(nullptr);
    bool is_shared = true;
    for (int r = 0; r < size(); ++r) {
        const int device = meeting_.shown(r).device;
        require(context.on_gpu() == (device >= 0),
                "the ranks of a group are all on the CPU or all on GPUs");
        if (device != mine.device) {
            is_shared = TESSERA_RUN(share_with_device, context, device) && is_shared;
        }
    }
    mine.is_shared = is_shared;
    agree(nullptr);
    knows_devices_ = true;
}

void ThreadCommunicator::add_copy(int from, std::span<const std::byte> bytes,
                                  std::span<std::byte> to) const {
    if (to.empty()) return;
    const Shown& other = meeting_.shown(from);
    copies_.push_back({bytes.data(), other.device, other.is_shared, to.data(), Offset(to.size())});
}

/// Shows what is prepared, and copies what is listed from the partners, on a stream.
void ThreadCommunicator::copy_from_others(const Context& context, void* stream,
                                          const std::function<void()>& list_copies) const {
    show();
    has_begun_ = true;
    std::exception_ptr error;
    Shown& mine = meeting_.shown(rank_);
    copies_.clear();
    try {
        list_copies();
        // What is written has been read before.
        if (stream != nullptr) TESSERA_RUN(wait_for_event, context, mine.ready, stream);
        for (const int r : partners_) {
            if (r == rank_) continue;
            TESSERA_RUN(wait_for_event, context, meeting_.shown(r).ready, stream);
        }
        TESSERA_RUN(copy_from_peers, context, copies_, stream);
        TESSERA_RUN(record_event, context, mine.done, stream);
    } catch (...) {
        error = std::current_exception();
    }
    meeting_.have_read(rank_, round_);
    if (!error) return;
    // Others may still read what this rank shows, which the error would end.
    end(context);
    std::rethrow_exception(error);
}

/// Later work of the Context follows the copies of all partners, and its own.
void ThreadCommunicator::wait_for_copies(const Context& context) const {
    for (const int r : partners_) {
        const std::shared_ptr<void>& done = meeting_.shown(r).done;
        if (context.on_gpu() && !done) continue;
        TESSERA_RUN(wait_for_event, context, done, nullptr);
    }
    const std::shared_ptr<void>& done = meeting_.shown(rank_).done;
    if (done) TESSERA_RUN(wait_for_event, context, done, nullptr);
}

}  // namespace tessera
