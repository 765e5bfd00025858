#pragma once

#include <csignal>
#include <string>

namespace tessera::cli {

struct InterruptAction;

/// While one exists, the first Ctrl-C requests a stop (see interrupted), the second one terminates
/// the process. If the shell ignores SIGINT for this process, it stays ignored.
class InterruptGuard {
  public:
    InterruptGuard();
    ~InterruptGuard();
    InterruptGuard(const InterruptGuard&) = delete;
    InterruptGuard& operator=(const InterruptGuard&) = delete;

    /// From now on the first Ctrl-C prints "tessera: TEXT" on stderr: for steps that may run long
    /// before they stop.
    void announce(const std::string& text);

  private:
    struct sigaction before_ = {};
    const InterruptAction* outer_ = nullptr;
};

/// Whether a Ctrl-C has been received.
bool interrupted();

/// While one exists, a Ctrl-C terminates the process as by default, but prints on stderr:
///   tessera: interrupted while DOING
/// They can be nested: the inner one is used. Not allowed within an InterruptGuard.
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
    const InterruptAction* outer_ = nullptr;
};

/// While a file is written: a Ctrl-C also removes PATH.part, the temporary file that the library
/// renames to PATH when it is complete.
class WritingNote : public InterruptNote {
  public:
    explicit WritingNote(const std::string& path);
};

}  // namespace tessera::cli
