#include "interrupt.hpp"

#include <unistd.h>

#include <atomic>
#include <deque>

namespace tessera::cli {

namespace {

volatile std::sig_atomic_t seen = 0;

/// What a signal handler in any thread may be reading: no text is ever freed.
std::atomic<const std::string*> note = nullptr;
static_assert(std::atomic<const std::string*>::is_always_lock_free);

const std::string* keep(std::string text) {
    static auto& texts = *new std::deque<std::string>;
    return &texts.emplace_back(std::move(text));
}

/// Calls nothing but what is safe in signal handlers.
void say_and_die(int signal) {
    const std::string* const text = note.load();
    if (text != nullptr) {
        [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text->data(), text->size());
    }
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

}  // namespace

InterruptGuard::InterruptGuard() : before_(handle([](int) { seen = 1; })) {}

InterruptGuard::~InterruptGuard() { sigaction(SIGINT, &before_, nullptr); }

bool interrupted() { return seen != 0; }

InterruptNote::InterruptNote(const std::string& doing)
    : outer_(note.exchange(keep("tessera: interrupted while " + doing + "\n"))) {
    before_ = handle(say_and_die);
}

InterruptNote::~InterruptNote() {
    note.store(outer_);
    sigaction(SIGINT, &before_, nullptr);
}

}  // namespace tessera::cli
