#pragma once

#include <exception>
#include <span>

#include "tessera/context.hpp"

namespace tessera {

/// Thrown on a rank by what another one did: it ended with an error, or without taking part.
class RankError : public Error {
    using Error::Error;
};

/// Messages between ranks, each a thread or a process with a Context of its own. All functions are
/// collective: all ranks call them, in one order. Bytes are in the memory of the Context; work on
/// its stream before the call is seen by the message, and work after it sees the message. A rank
/// that ends with an error makes the calls of all others throw RankError; none waits for ever.
class Communicator {
  public:
    virtual ~Communicator() = default;
    virtual int rank() const = 0;
    virtual int size() const = 0;

    /// The bytes of every rank, as many on each, in the order of ranks.
    virtual void all_gather(const Context& context, std::span<const std::byte> mine,
                            std::span<std::byte> all) const = 0;

    struct Message {
        int peer;
        std::span<std::byte> bytes;
    };
    /// Begins to send and to receive; the k-th message to a rank is the k-th that it receives from
    /// this one, of as many bytes. Until `end` the bytes sent must not change, and those received
    /// must not be used. One exchange at a time.
    virtual void begin(const Context& context, std::span<const Message> send,
                       std::span<const Message> receive) const = 0;
    virtual void end(const Context& context) const = 0;

    /// Throws on all ranks if `error` is not null on some: there its own, elsewhere that of the
    /// first such rank or a RankError with its message.
    virtual void agree(std::exception_ptr error) const = 0;

    /// How long this rank's thread has waited for others so far.
    virtual double seconds_waited() const = 0;

    /// Whether the exchange and all_gather of numbers can be recorded in a CUDA graph.
    virtual bool can_be_captured() const = 0;
};

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

}  // namespace tessera
