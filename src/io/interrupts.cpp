#include "io/interrupts.hpp"

#include <utility>

#include "tessera/io.hpp"

namespace tessera::io {

namespace {

thread_local InterruptHandler* latest = nullptr;  // NOLINT

}  // namespace

InterruptHandler::InterruptHandler(std::function<void()> handler)
    : handler_(std::move(handler)), before_(std::exchange(latest, this)) {}

InterruptHandler::~InterruptHandler() { latest = before_; }

void handle_interrupt() {
    if (latest != nullptr) latest->handler_();
}

}  // namespace tessera::io
