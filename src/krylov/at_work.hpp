#pragma once

#include "base/dispatch.hpp"

namespace tessera {

/// While one exists, its flag says that a solver is at work, so that it is not called from its own
/// observer.
class AtWork {
  public:
    explicit AtWork(bool& flag) : flag_(flag) {
        check(flag);
        flag_ = true;
    }
    ~AtWork() { flag_ = false; }
    AtWork(const AtWork&) = delete;
    AtWork& operator=(const AtWork&) = delete;

    static void check(bool flag) {
        require(!flag, "the solver is already running; do not call it from its callback");
    }

  private:
    bool& flag_;
};

}  // namespace tessera
