#pragma once

#include <csignal>
#include <string>

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

/// While one lives a Ctrl-C kills as it does by default, but says on stderr what it interrupted:
///   tessera: interrupted while DOING
/// They nest, the inner one counts; within an InterruptGuard there must be none.
class InterruptNote {
  public:
    explicit InterruptNote(const std::string& doing);
    ~InterruptNote();
    InterruptNote(const InterruptNote&) = delete;
    InterruptNote& operator=(const InterruptNote&) = delete;

  private:
    struct sigaction before_ = {};
    const std::string* outer_ = nullptr;
};

}  // namespace tessera::cli
