#pragma once

#include <atomic>

#include "tessera/types.hpp"

namespace tessera {

/// Exclusive use of a solver by one call. While the object exists its flag is set; a call of
/// another thread, or of the observer of the solve, throws InUse.
class AtWork {
  public:
    explicit AtWork(bool& flag) : flag_(flag) {
        if (flag_.exchange(true))
            throw InUse("the solver is in use by another call; do not call it from its observer");
    }
    ~AtWork() { flag_.store(false); }
    AtWork(const AtWork&) = delete;
    AtWork& operator=(const AtWork&) = delete;

  private:
    std::atomic_ref<bool> flag_;
};

}  // namespace tessera
