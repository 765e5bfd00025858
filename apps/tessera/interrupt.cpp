#include "interrupt.hpp"

namespace tessera::cli {

namespace {

volatile std::sig_atomic_t seen = 0;

}  // namespace

InterruptGuard::InterruptGuard() {
    struct sigaction action = {};
    action.sa_handler = [](int) { seen = 1; };
    action.sa_flags = int(SA_RESETHAND | SA_RESTART);
    sigaction(SIGINT, nullptr, &before_);
    if (before_.sa_handler != SIG_IGN) sigaction(SIGINT, &action, nullptr);
}

InterruptGuard::~InterruptGuard() { sigaction(SIGINT, &before_, nullptr); }

bool interrupted() { return seen != 0; }

}  // namespace tessera::cli
