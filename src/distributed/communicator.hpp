#pragma once

#include <exception>
#include <span>

#include "tessera/ranks.hpp"

namespace tessera {

/// An exchange, which ends with the object at the latest: what it reads and writes must live as
/// long, also where an error ends the work beside it.
class PendingExchange {
  public:
    PendingExchange(const Communicator& communicator, const Context& context,
                    std::span<const Communicator::Message> send,
                    std::span<const Communicator::Message> receive)
        : communicator_(communicator), context_(context) {
        communicator.begin(context, send, receive);
    }
    ~PendingExchange() {
        if (is_over_) return;
        try {
            communicator_.end(context_);
        } catch (...) {  // Another one is on its way.
        }
    }
    PendingExchange(const PendingExchange&) = delete;
    PendingExchange& operator=(const PendingExchange&) = delete;
    void end() {
        is_over_ = true;
        communicator_.end(context_);
    }

  private:
    const Communicator& communicator_;
    const Context& context_;
    bool is_over_ = false;
};

/// Runs `work`, which sends no messages, on every rank; if it throws on some, throws on all.
template <class Work>
void on_all_ranks(const Communicator& communicator, Work&& work) {
    std::exception_ptr error;
    try {
        work();
    } catch (...) {
        error = std::current_exception();
    }
    communicator.agree(error);
}

template <class T>
std::span<std::byte> bytes_of(T* data, Offset count) {
    return {reinterpret_cast<std::byte*>(data), std::size_t(count) * sizeof(T)};
}
template <class T>
std::span<const std::byte> bytes_of(const T* data, Offset count) {
    return {reinterpret_cast<const std::byte*>(data), std::size_t(count) * sizeof(T)};
}

/// A number of each rank, in their order, on the host. Waits.
template <class T>
std::vector<T> gather_to_host(const Communicator& communicator, const Context& context,
                              std::span<const T> mine) {
    const auto count = Offset(mine.size());
    const Buffer<T> own = copy_to_buffer(context, mine);
    Buffer<T> all(context, count * communicator.size());
    communicator.all_gather(context, bytes_of(own.data(), count), bytes_of(all.data(), all.size()));
    return copy_to_host(context, all);
}
template <class T>
std::vector<T> gather_to_host(const Communicator& communicator, const Context& context, T mine) {
    return gather_to_host<T>(communicator, context, std::span<const T>(&mine, 1));
}

/// Where the items of each rank begin among those of all, and after them the number of all. Waits.
inline std::vector<Offset> starts_of_ranks(const Communicator& communicator, const Context& context,
                                           Offset own) {
    std::vector<Offset> starts{0};
    for (const Offset count : gather_to_host(communicator, context, own)) {
        starts.push_back(starts.back() + count);
    }
    return starts;
}

}  // namespace tessera
