#pragma once

#include <csignal>
#include <string>

namespace tessera::cli {

struct OnInterrupt;

/// While one lives the first Ctrl-C asks what is under way to stop, the second one kills. A SIGINT
/// that the shell made us ignore stays ignored.
class InterruptGuard {
  public:
    InterruptGuard();
    ~InterruptGuard();
    InterruptGuard(const InterruptGuard&) = delete;
    InterruptGuard& operator=(const InterruptGuard&) = delete;

    /// What the first Ctrl-C says on stderr from now on, behind "tessera: ", where what it waits
    /// for may take long.
    void promise(const std::string& text);

  private:
    struct sigaction before_ = {};
    const OnInterrupt* outer_ = nullptr;
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

  protected:
    InterruptNote(const std::string& doing, const std::string& unfinished);

  private:
    struct sigaction before_ = {};
    const OnInterrupt* outer_ = nullptr;
};

/// While a file is written: a Ctrl-C also removes PATH.part, in which the library collects what
/// takes the place of PATH when it is complete.
class WritingNote : public InterruptNote {
  public:
    explicit WritingNote(const std::string& path);
};

}  // namespace tessera::cli
