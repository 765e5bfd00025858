#include "distributed/thread_communicator.hpp"

#include <algorithm>
#include <numeric>
#include <thread>

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

void copy_from(const Context& context, const Shown& other, std::span<const std::byte> from,
               std::span<std::byte> to, void* stream) {
    if (to.empty()) return;
    TESSERA_RUN(copy_from_peer, context, from.data(), other.device, to.data(), Offset(to.size()),
                stream);
}

/// An exchange in which a rank receives fewer bytes is no longer than the product beside it and two
/// waits between streams: it is on the stream of the Context.
constexpr std::size_t min_bytes_beside = 1 << 16;

}  // namespace

Meeting::Meeting(int size, double max_wait_seconds)
    : shown_(std::size_t(size)),
      max_wait_seconds_(max_wait_seconds),
      spins_(unsigned(size) <= std::thread::hardware_concurrency() ? 1000 : 0) {}

void Meeting::meet(int rank) {
    std::unique_lock lock(mutex_);
    if (ended_ > 0) fail(why_ended_);
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

void Meeting::leave(int rank, const std::exception_ptr& error) noexcept {
    const std::lock_guard lock(mutex_);
    ++ended_;
    try {
        if (error && !ended_with_error_) {
            ended_with_error_ = true;
            why_ended_ =
                concat("rank ", rank, " of ", size(), " ended with an error: ", message_of(error));
        } else if (why_ended_.empty()) {
            why_ended_ =
                concat("rank ", rank, " of ", size(), " has returned while others wait for it");
        }
    } catch (...) {  // There is no memory for a message.
    }
    if (come_ > 0) fail(why_ended_);
}

bool Meeting::begin_again() {
    const std::lock_guard lock(mutex_);
    const bool met = !failed_;
    come_ = ended_ = 0;
    failed_ = ended_with_error_ = false;
    failure_ = why_ended_ = {};
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

void Meeting::require_nobody_failed() const {
    if (failed_) throw RankError(failure_.empty() ? "a rank ended with an error" : failure_);
}

void ThreadCommunicator::all_gather(const Context& context, std::span<const std::byte> mine,
                                    std::span<std::byte> all) const {
    require(all.size() == mine.size() * std::size_t(size()),
            "all_gather: the result must have the bytes of ", size(), " ranks");
    show(context).bytes = mine;
    partners_.resize(std::size_t(size()));
    std::iota(partners_.begin(), partners_.end(), 0);
    copy_between_meetings(
        context, partners_,
        [&](int r, const Shown& other) {
            require(other.bytes.size() == mine.size(), "all_gather: ranks ", rank_, " and ", r,
                    " give ", mine.size(), " and ", other.bytes.size(), " bytes");
            copy_from(context, other, other.bytes,
                      all.subspan(std::size_t(r) * mine.size(), mine.size()), nullptr);
        },
        nullptr);
    wait_for_copies(context);
}

void ThreadCommunicator::begin(const Context& context, std::span<const Message> send,
                               std::span<const Message> receive) const {
    show(context).messages.assign(send.begin(), send.end());
    partners_.clear();
    std::size_t bytes = 0;
    for (const Message& message : send) partners_.push_back(message.peer);
    for (const Message& message : receive) {
        partners_.push_back(message.peer);
        bytes += message.bytes.size();
    }
    std::ranges::sort(partners_);
    partners_.erase(std::ranges::unique(partners_).begin(), partners_.end());
    if (!copy_stream_) {
        copy_stream_ = select(context, &cpu::make_copy_stream,
                              TESSERA_IF_CUDA(cuda::make_copy_stream))(context);
    }
    void* const stream = bytes < min_bytes_beside ? nullptr : copy_stream_.get();
    has_begun_ = true;
    copy_between_meetings(
        context, partners_,
        [&](int r, const Shown& other) {
            auto sent = other.messages.begin();
            for (const Message& message : receive) {
                if (message.peer != r) continue;
                sent = std::find_if(sent, other.messages.end(),
                                    [&](const Message& each) { return each.peer == rank_; });
                const bool found = sent != other.messages.end();
                require(found && sent->bytes.size() == message.bytes.size(), "exchange: rank ", r,
                        " sends rank ", rank_, " ", found ? sent->bytes.size() : 0, " bytes, not ",
                        message.bytes.size());
                copy_from(context, other, sent->bytes, message.bytes, stream);
                ++sent;
            }
        },
        stream);
}

void ThreadCommunicator::end(const Context& context) const {
    has_begun_ = false;
    wait_for_copies(context);
}

void ThreadCommunicator::agree(std::exception_ptr error) const {
    meeting_.shown(rank_).error = error;
    meet();
    std::exception_ptr first = error;
    for (int r = size(); r-- > 0 && !error;) {
        if (meeting_.shown(r).error) first = meeting_.shown(r).error;
    }
    meet();
    if (first) std::rethrow_exception(first);
}

void ThreadCommunicator::meet() const {
    const double start = now();
    meeting_.meet(rank_);
    seconds_waited_ += now() - start;
}

/// What this rank will show, after its work so far.
Shown& ThreadCommunicator::show(const Context& context) const {
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
    if (has_begun_) end(context);  // An exchange that an error ended.
    TESSERA_RUN(record_event, context, mine.ready, nullptr);
    return mine;
}

/// copy(r, what rank r shows) for the partners, on a stream. No rank goes on, to change what it
/// shows or to end with an error, before all others have copied.
void ThreadCommunicator::copy_between_meetings(const Context& context,
                                               const std::vector<int>& partners,
                                               const std::function<void(int, const Shown&)>& copy,
                                               void* stream) const {
    meet();
    std::exception_ptr error;
    Shown& mine = meeting_.shown(rank_);
    try {
        // What is written has been read before.
        if (stream != nullptr) TESSERA_RUN(wait_for_event, context, mine.ready, stream);
        for (const int r : partners) {
            const Shown& other = meeting_.shown(r);
            if (r != rank_) TESSERA_RUN(wait_for_event, context, other.ready, stream);
            copy(r, other);
        }
        TESSERA_RUN(record_event, context, mine.done, stream);
    } catch (...) {
        error = std::current_exception();
    }
    meet();
    if (error) std::rethrow_exception(error);
}

/// Later work of the Context follows the copies of all partners, and its own.
void ThreadCommunicator::wait_for_copies(const Context& context) const {
    for (const int r : partners_) {
        const std::shared_ptr<void>& done = meeting_.shown(r).done;
        if (r == rank_ || (context.on_gpu() && !done)) continue;
        TESSERA_RUN(wait_for_event, context, done, nullptr);
    }
    const std::shared_ptr<void>& done = meeting_.shown(rank_).done;
    if (done) TESSERA_RUN(wait_for_event, context, done, nullptr);
}

}  // namespace tessera
