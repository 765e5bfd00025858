#pragma once

#include <mpi.h>

#include <tessera/ranks.hpp>

namespace tessera::petsc {

/// Messages of MPI between ranks, on a duplicate of their communicator. They go through memory of
/// the communicator, page-locked for a GPU, unless MPI reads and writes that of the GPU itself.
///
/// A rank that ends with an error sends a notice to all others, which look for notices while they
/// wait. All then meet, cancel what they wait for and receive what is on its way, so that messages
/// can be sent again later.
class MpiCommunicator final : public Communicator {
  public:
    /// Collective, as its end.
    MpiCommunicator(MPI_Comm comm, bool device_pointers);
    ~MpiCommunicator() override;
    MpiCommunicator(const MpiCommunicator&) = delete;
    MpiCommunicator& operator=(const MpiCommunicator&) = delete;

    int rank() const override { return rank_; }
    int size() const override { return size_; }
    void all_gather(const Context& context, std::span<const std::byte> mine,
                    std::span<std::byte> all) const override;
    void begin(const Context& context, std::span<const Message> send,
               std::span<const Message> receive) const override;
    void end(const Context& context) const override;
    void agree(std::exception_ptr error) const override;
    double seconds_waited() const override { return seconds_waited_; }
    bool can_be_captured() const override { return false; }

    /// Runs work that sends messages; throws on all ranks if it throws on some, the error of a rank
    /// there, elsewhere a RankError or NotPositiveDefinite with its message. Collective.
    template <class Work>
    void run(Work&& work) const {
        ended_ = false;
        ++run_;
        try {
            work();
            agree({});
        } catch (...) {
            end_with(std::current_exception());
            throw;
        }
    }

  private:
    /// How a rank ended.
    struct Notice {
        enum Kind : int { none, not_positive_definite, other };
        Kind kind = none;
        int run = 0;  ///< The number of the `run`.
        char text[504] = "";
    };
    /// Bytes of a message in the memory that MPI reads or writes.
    struct Wire {
        int peer;
        std::byte* data;
        std::size_t bytes;
    };
    /// Memory of the host that messages go through.
    struct Stage {
        std::shared_ptr<std::byte> memory;
        std::size_t bytes = 0;
        std::byte* of_size(const Context& context, std::size_t needed);
    };

    static Notice notice_of(const std::exception_ptr& error) noexcept;
    [[noreturn]] static void throw_notice(const Notice& notice, int rank);
    void gather(const std::byte* mine, std::size_t bytes, std::byte* all) const;
    void post(std::span<const Wire> send, std::span<const Wire> receive) const;
    void wait() const;
    bool look_for_notice() const;
    void check_sizes() const;
    void end_with(const std::exception_ptr& error) const noexcept;
    int recover() const noexcept;
    void receive_rest(int peer, int sent) const;

    MPI_Comm comm_ = MPI_COMM_NULL;
    const bool device_pointers_;
    int rank_ = 0, size_ = 0;
    mutable bool ended_ = false;  ///< All ranks know that `run` ends with an error.
    mutable double seconds_waited_ = 0;
    mutable std::vector<Wire> receive_;          ///< Those at work;
    mutable std::vector<Message> into_;          ///< where they go from the stage.
    mutable std::vector<MPI_Request> requests_;  ///< For receive_, then for what is sent.
    mutable std::vector<MPI_Status> statuses_;
    mutable std::vector<int> sent_, received_;  ///< Messages to and from each rank.
    mutable std::vector<int> counts_;           ///< Space for `recover`.
    mutable std::vector<std::byte> gathered_;
    mutable Stage send_stage_, receive_stage_;
    mutable int run_ = 0;
    mutable Notice mine_;                  ///< What this rank sends to others.
    mutable std::vector<Notice> notices_;  ///< Received from each rank.
};

}  // namespace tessera::petsc
