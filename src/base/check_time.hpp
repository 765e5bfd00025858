#pragma once

#include "tessera/time_limit.hpp"

namespace tessera {

/// The innermost TimeLimit of this thread, or that of the thread which it works for; null: none.
extern constinit thread_local TimeLimit::State* time_limit_in_use;

/// Throws Stopped where a TimeLimit of this thread is over.
void look_at_time_limits();

/// Called by loops that may take long, every millisecond or so.
inline void check_time() {
    if (time_limit_in_use != nullptr) look_at_time_limits();
}

/// While it exists, the thread works under other limits: those of the thread that it works for, or
/// none.
class UseTimeLimit {
  public:
    explicit UseTimeLimit(TimeLimit::State* limit) : before_(time_limit_in_use) {
        time_limit_in_use = limit;
    }
    ~UseTimeLimit() { time_limit_in_use = before_; }
    UseTimeLimit(const UseTimeLimit&) = delete;
    UseTimeLimit& operator=(const UseTimeLimit&) = delete;

    /// The limits that held before.
    TimeLimit::State* before() const { return before_; }

  private:
    TimeLimit::State* const before_;
};

}  // namespace tessera
