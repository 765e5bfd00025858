#include "run/interrupt.hpp"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <deque>
#include <filesystem>

namespace tessera::cli {

/// Effect of a Ctrl-C: prints a text, and removes a file unless its name is empty.
struct InterruptAction {
    std::string text;
    std::string unfinished;
};

namespace {

volatile std::sig_atomic_t interrupt_received = 0;

/// Signal handlers in any thread may read it, so no action is ever freed.
std::atomic<const InterruptAction*> note = nullptr;
static_assert(std::atomic<const InterruptAction*>::is_always_lock_free);

const InterruptAction* store_action(const std::string& text, const std::string& unfinished) {
    static auto& notes = *new std::deque<InterruptAction>;
    return &notes.emplace_back("tessera: " + text + "\n", unfinished);
}

/// Signal handlers: they call async-signal-safe functions only.
void print_action() {
    const InterruptAction* const now = note.load();
    if (now == nullptr) return;
    if (!now->unfinished.empty()) ::unlink(now->unfinished.c_str());
    [[maybe_unused]] const auto written =
        ::write(STDERR_FILENO, now->text.data(), now->text.size());
}

void request_stop(int) {
    const int error = errno;  // errno of the interrupted code.
    interrupt_received = 1;
    print_action();
    errno = error;
}

void print_and_kill(int signal) {
    print_action();
    ::raise(signal);  // The handler is reset: on return this terminates the process.
}

/// Installs a handler unless the signal is ignored; returns the previous action.
struct sigaction handle(void (*handler)(int)) {
    struct sigaction before = {};
    struct sigaction action = {};
    action.sa_handler = handler;
    action.sa_flags = int(SA_RESETHAND | SA_RESTART);
    sigaction(SIGINT, nullptr, &before);
    if (before.sa_handler != SIG_IGN) sigaction(SIGINT, &action, nullptr);
    return before;
}

/// Whether the library writes PATH through PATH.part: not if it is a device, a pipe or a link.
bool uses_temporary_file(const std::string& path) {
    std::error_code error;
    const auto status = std::filesystem::symlink_status(path, error);
    return !std::filesystem::exists(status) || std::filesystem::is_regular_file(status);
}

}  // namespace

InterruptGuard::InterruptGuard() : outer_(note.exchange(nullptr)) {
    before_ = handle(request_stop);
}

InterruptGuard::~InterruptGuard() {
    sigaction(SIGINT, &before_, nullptr);
    note.store(outer_);
}

void InterruptGuard::announce(const std::string& text) { note.store(store_action(text, "")); }

bool interrupted() { return interrupt_received != 0; }

InterruptNote::InterruptNote(const std::string& doing) : InterruptNote(doing, "") {}

InterruptNote::InterruptNote(const std::string& doing, const std::string& unfinished)
    : outer_(note.exchange(store_action("interrupted while " + doing, unfinished))) {
    before_ = handle(print_and_kill);
}

InterruptNote::~InterruptNote() {
    note.store(outer_);
    sigaction(SIGINT, &before_, nullptr);
}

WritingNote::WritingNote(const std::string& path)
    : InterruptNote(
          "writing " + path + (uses_temporary_file(path) ? ", which was not touched" : ""),
          uses_temporary_file(path) ? path + ".part" : "") {}

}  // namespace tessera::cli
