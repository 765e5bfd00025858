#pragma once

#include <csignal>

namespace tessera::cli {

/// While one lives the first Ctrl-C asks the solve to stop, the second one kills. A SIGINT that the
/// shell made us ignore stays ignored.
class InterruptGuard {
  public:
    InterruptGuard();
    ~InterruptGuard();
    InterruptGuard(const InterruptGuard&) = delete;
    InterruptGuard& operator=(const InterruptGuard&) = delete;

  private:
    struct sigaction before_ = {};
};

/// Whether the first Ctrl-C has come.
bool interrupted();

}  // namespace tessera::cli
