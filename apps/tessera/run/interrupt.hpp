#pragma once

#include <string>

namespace tessera::cli {

struct InterruptNotice;

/// To be called first: from then on SIGINT (Ctrl-C), SIGTERM, SIGHUP and others that can be caught
/// remove the temporary files of unfinished output before they end the process. Writing beyond a
/// limit of file sizes becomes an error instead of SIGXFSZ. A signal that is ignored, as under
/// nohup, stays ignored. Memory that is exhausted where no exception may be thrown ends the process
/// with its exit code.
void handle_signals();

/// While one exists, the first Ctrl-C requests a stop (see interrupted), the second one terminates
/// the process.
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
    const InterruptNotice* outer_;
};

/// Whether a Ctrl-C has requested a stop.
bool interrupted();

/// While one exists, a Ctrl-C that terminates the process prints on stderr:
///   tessera: interrupted while DOING
/// followed by `if_removed` if it removed the temporary file of unfinished output. They can be
/// nested: the inner one is used. Not allowed within an InterruptGuard.
class InterruptNote {
  public:
    explicit InterruptNote(const std::string& doing, const std::string& if_removed = "");
    ~InterruptNote();
    InterruptNote(const InterruptNote&) = delete;
    InterruptNote& operator=(const InterruptNote&) = delete;

  private:
    const InterruptNotice* outer_;
};

}  // namespace tessera::cli
