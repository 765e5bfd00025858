#include "tessera/time_limit.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <limits>
#include <thread>

#include "base/check_time.hpp"
#include "base/checks.hpp"

namespace tessera {

namespace {

using Clock = std::chrono::steady_clock;

constexpr auto time_between_looks = std::chrono::milliseconds(20);
/// Longer limits are none, and fit no time point.
constexpr double endless = 1e8;

}  // namespace

constinit thread_local TimeLimit::State* time_limit_in_use = nullptr;

/// Workers read it while their caller waits for them.
struct TimeLimit::State {
    Clock::time_point end;
    bool is_endless;
    std::function<bool()> interrupted;
    TimeLimit::State* outer;
    std::thread::id owner = std::this_thread::get_id();
    Clock::time_point next_look = Clock::now();  ///< On the owner's thread.
    std::atomic<bool> was_interrupted{false};
    std::exception_ptr thrown = {};  ///< By `interrupted`; written before was_interrupted.

    /// Throws where this limit is over: on all threads what `interrupted` threw, if it did.
    void check(Clock::time_point now) {
        if (was_interrupted) end_interrupted();
        if (!is_endless && now >= end) throw Stopped(false);
        if (!interrupted || std::this_thread::get_id() != owner || now < next_look) return;
        next_look = now + time_between_looks;
        try {
            if (!interrupted()) return;
        } catch (...) {
            thrown = std::current_exception();
        }
        was_interrupted = true;
        end_interrupted();
    }
    [[noreturn]] void end_interrupted() const {
        if (thrown) std::rethrow_exception(thrown);
        throw Stopped(true);
    }
};

void look_at_time_limits() {
    const Clock::time_point now = Clock::now();
    for (auto* limit = time_limit_in_use; limit != nullptr; limit = limit->outer) limit->check(now);
}

Stopped::Stopped(bool interrupted)
    : Error(interrupted ? "interrupted" : "the time limit was reached"),
      interrupted_(interrupted) {}

TimeLimit::TimeLimit(double seconds, std::function<bool()> interrupted) {
    require(seconds >= 0, "TimeLimit: the seconds must be 0 or more");
    const bool is_endless = seconds >= endless;
    const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                        std::chrono::duration<double>(is_endless ? 0 : seconds));
    state_.reset(new State{end, is_endless, std::move(interrupted), time_limit_in_use});
    time_limit_in_use = state_.get();
}

TimeLimit::~TimeLimit() { time_limit_in_use = state_->outer; }

double TimeLimit::seconds_left() const {
    if (state_->is_endless) return std::numeric_limits<double>::infinity();
    return std::max(std::chrono::duration<double>(state_->end - Clock::now()).count(), 0.0);
}

}  // namespace tessera
