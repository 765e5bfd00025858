#include "run/interrupt.hpp"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <deque>
#include <filesystem>

namespace tessera::cli {

/// What a Ctrl-C does besides: says something, and removes a file unless its name is empty.
struct OnInterrupt {
    std::string text;
    std::string unfinished;
};

namespace {

volatile std::sig_atomic_t seen = 0;

/// What a signal handler in any thread may be reading: no note is ever freed.
std::atomic<const OnInterrupt*> note = nullptr;
static_assert(std::atomic<const OnInterrupt*>::is_always_lock_free);

const OnInterrupt* keep(const std::string& text, const std::string& unfinished) {
    static auto& notes = *new std::deque<OnInterrupt>;
    return &notes.emplace_back("tessera: " + text + "\n", unfinished);
}

/// This and the handlers call nothing but what is safe there.
void say() {
    const OnInterrupt* const now = note.load();
    if (now == nullptr) return;
    if (!now->unfinished.empty()) ::unlink(now->unfinished.c_str());
    [[maybe_unused]] const auto written =
        ::write(STDERR_FILENO, now->text.data(), now->text.size());
}

void say_and_stop(int) {
    const int error = errno;  // Of what goes on behind this.
    seen = 1;
    say();
    errno = error;
}

void say_and_die(int signal) {
    say();
    ::raise(signal);  // The handler is reset: on return this kills.
}

/// Unless the signal is ignored. Returns what was there before.
struct sigaction handle(void (*handler)(int)) {
    struct sigaction before = {};
    struct sigaction action = {};
    action.sa_handler = handler;
    action.sa_flags = int(SA_RESETHAND | SA_RESTART);
    sigaction(SIGINT, nullptr, &before);
    if (before.sa_handler != SIG_IGN) sigaction(SIGINT, &action, nullptr);
    return before;
}

/// Whether the library writes PATH by way of PATH.part: not what is a device, a pipe or a link.
bool is_collected(const std::string& path) {
    std::error_code error;
    const auto status = std::filesystem::symlink_status(path, error);
    return !std::filesystem::exists(status) || std::filesystem::is_regular_file(status);
}

}  // namespace

InterruptGuard::InterruptGuard() : outer_(note.exchange(nullptr)) {
    before_ = handle(say_and_stop);
}

InterruptGuard::~InterruptGuard() {
    sigaction(SIGINT, &before_, nullptr);
    note.store(outer_);
}

void InterruptGuard::promise(const std::string& text) { note.store(keep(text, "")); }

bool interrupted() { return seen != 0; }

InterruptNote::InterruptNote(const std::string& doing) : InterruptNote(doing, "") {}

InterruptNote::InterruptNote(const std::string& doing, const std::string& unfinished)
    : outer_(note.exchange(keep("interrupted while " + doing, unfinished))) {
    before_ = handle(say_and_die);
}

InterruptNote::~InterruptNote() {
    note.store(outer_);
    sigaction(SIGINT, &before_, nullptr);
}

WritingNote::WritingNote(const std::string& path)
    : InterruptNote("writing " + path + (is_collected(path) ? ", which was not touched" : ""),
                    is_collected(path) ? path + ".part" : "") {}

}  // namespace tessera::cli
