#include "run/interrupt.hpp"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <deque>
#include <exception>
#include <new>

#include "commands/commands.hpp"
#include "tessera/io.hpp"

namespace tessera::cli {

/// What a Ctrl-C prints.
struct InterruptNotice {
    std::string text;
    std::string if_removed;  ///< Printed next if a temporary file was removed.
};

namespace {

// What signal handlers share with the program.
volatile std::sig_atomic_t stop_requested = 0;
std::atomic<bool> can_stop = false;  ///< An InterruptGuard exists.
std::atomic<const InterruptNotice*> notice = nullptr;
static_assert(std::atomic<const InterruptNotice*>::is_always_lock_free);

/// Signal handlers in any thread may read it, so none is ever freed.
const InterruptNotice* store_notice(const std::string& text, const std::string& if_removed) {
    static auto& notices = *new std::deque<InterruptNotice>;
    notices.push_back({"tessera: " + io::printable(text), io::printable(if_removed)});
    return &notices.back();
}

// Signal handlers: they call async-signal-safe functions only.

void print(std::string_view text) {
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
}

void print_notice(bool removed) {
    const InterruptNotice* const now = notice.load();
    if (now == nullptr) return;
    print(now->text);
    if (removed) print(now->if_removed);
    print("\n");
}

/// Ends the process by the signal, once the handler returns.
void end_by(int signal) {
    const bool removed = io::remove_temporary_files() > 0;
    if (signal == SIGINT && !can_stop) print_notice(removed);
    std::signal(signal, SIG_DFL);
    ::raise(signal);
}

void handle(int signal) {
    const int error = errno;  // Restored for the interrupted code.
    if (signal == SIGINT && can_stop && stop_requested == 0) {
        print_notice(false);
        stop_requested = 1;
    } else {
        end_by(signal);
    }
    errno = error;
}

std::terminate_handler terminate_before = nullptr;

/// For exceptions that nothing may catch, such as those of a destructor.
void end_without_memory() {
    try {
        if (const auto error = std::current_exception()) std::rethrow_exception(error);
    } catch (const std::bad_alloc&) {
        io::remove_temporary_files();
        print("tessera: out of memory\n");
        _exit(exit_out_of_memory);
    } catch (...) {
    }
    terminate_before();
}

}  // namespace

void handle_signals() {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXCPU, SIGALRM, SIGVTALRM,
                             SIGUSR1, SIGUSR2}) {
        struct sigaction before = {};
        sigaction(signal, nullptr, &before);
        if (before.sa_handler != SIG_DFL) continue;
        struct sigaction action = {};
        action.sa_handler = handle;
        action.sa_flags = SA_RESTART;
        sigaction(signal, &action, nullptr);
    }
    std::signal(SIGXFSZ, SIG_IGN);
    terminate_before = std::set_terminate(end_without_memory);
}

InterruptGuard::InterruptGuard() : outer_(notice.exchange(nullptr)) { can_stop = true; }

InterruptGuard::~InterruptGuard() {
    can_stop = false;
    notice = outer_;
}

void InterruptGuard::announce(const std::string& text) { notice = store_notice(text, ""); }

bool interrupted() { return stop_requested != 0; }

InterruptNote::InterruptNote(const std::string& doing, const std::string& if_removed)
    : outer_(notice.exchange(store_notice("interrupted while " + doing, if_removed))) {}

InterruptNote::~InterruptNote() { notice = outer_; }

}  // namespace tessera::cli
