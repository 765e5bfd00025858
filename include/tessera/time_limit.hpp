#pragma once

#include <functional>
#include <memory>

#include "tessera/types.hpp"

namespace tessera {

/// Thrown where a TimeLimit ends the work of its thread.
class TESSERA_API Stopped : public Error {
  public:
    explicit Stopped(bool interrupted);
    /// Whether the caller asked for the end; else the time was over.
    bool interrupted() const noexcept { return interrupted_; }

  private:
    bool interrupted_;
};

/// While it exists, functions of the library that this thread calls end early: setups, updates,
/// products of matrices and batches throw Stopped soon after `seconds` have passed or `interrupted`
/// has returned true, and leave their objects as after other exceptions. Loops on a CPU look every
/// few milliseconds, a GPU's work is looked at between kernels. The iterations of a solve end by
/// SolveOptions::max_seconds and its observer instead. Limits may be nested: all hold.
class TESSERA_API TimeLimit {
  public:
    /// `seconds` from now, which may be infinite. `interrupted`, if given, is called on this thread
    /// some fifty times a second; what it throws passes through.
    explicit TimeLimit(double seconds, std::function<bool()> interrupted = {});
    ~TimeLimit();
    TimeLimit(const TimeLimit&) = delete;
    TimeLimit& operator=(const TimeLimit&) = delete;

    /// Seconds that are left, 0 at least.
    double seconds_left() const;

    struct State;

  private:
    std::unique_ptr<State> state_;
};

}  // namespace tessera
