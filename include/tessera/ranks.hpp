#pragma once

#include <exception>
#include <memory>
#include <span>
#include <vector>

#include "tessera/csr.hpp"

// What a program with messages of its own, such as those of MPI, gives to work over ranks.
namespace tessera {

/// Thrown on a rank by what another one did: it ended with an error, or without taking part.
class TESSERA_API RankError : public Error {
    using Error::Error;
};

/// Messages between ranks, each a thread or a process with a Context of its own. All functions are
/// collective: all ranks call them, in one order. Bytes are in the memory of the Context; work on
/// its stream before the call is seen by the message, and work after it sees the message. A rank
/// that ends with an error makes the calls of all others throw RankError; none waits for ever.
class TESSERA_API Communicator {
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

/// Page-locked memory of the host, from and to which copies of the GPU of a Context do not wait;
/// on the CPU any memory. It is expensive to allocate.
TESSERA_API std::shared_ptr<std::byte> page_locked_memory(const Context& context, Offset bytes);

/// The rows that a rank owns of a square matrix over ranks, as MPI codes have them: their columns
/// of own rows, and those of rows of other ranks in a matrix of its own. The rows of a rank follow
/// those of the rank before. `own` and `others` are in the memory of a Context.
struct RowsOfRank {
    CsrView<double> own;     ///< Square.
    CsrView<double> others;  ///< As many rows; without nonzeros its arrays are not read.
    /// Column j of `others` is column columns_of_others[j] of the matrix; ascending, in host
    /// memory.
    std::vector<Offset> columns_of_others;
};

}  // namespace tessera
