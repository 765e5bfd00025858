#include "mpi_communicator.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <tessera/amg.hpp>
#include <utility>

namespace tessera::petsc {

namespace {

constexpr int data_tag = 1, notice_tag = 2;
/// Counts of MPI are of 32 bits: longer messages are sent in parts.
constexpr std::size_t max_part = std::size_t(1) << 30;

void check(int code, const char* what) {
    if (code == MPI_SUCCESS) return;
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(code, text, &length);
    throw Error(std::string(what) + " failed: " + text);
}

/// Copies between the memory of a Context and a stage, one for all messages that follow each other.
template <class Copy>
void copy_messages(std::span<const Communicator::Message> messages, std::byte* stage, Copy&& copy) {
    for (std::size_t k = 0; k < messages.size();) {
        std::byte* const first = messages[k].bytes.data();
        std::size_t bytes = 0;
        for (; k < messages.size() && messages[k].bytes.data() == first + bytes; ++k) {
            bytes += messages[k].bytes.size();
        }
        if (bytes > 0) copy(std::span(first, bytes), std::span(stage, bytes));
        stage += bytes;
    }
}

std::size_t total(std::span<const Communicator::Message> messages) {
    std::size_t bytes = 0;
    for (const auto& message : messages) bytes += message.bytes.size();
    return bytes;
}

}  // namespace

MpiCommunicator::MpiCommunicator(MPI_Comm comm, bool device_pointers)
    : device_pointers_(device_pointers) {
    check(MPI_Comm_dup(comm, &comm_), "MPI_Comm_dup");
    MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &size_);
    sent_.resize(std::size_t(size_));
    received_.resize(std::size_t(size_));
    counts_.resize(4 * std::size_t(size_));
    notices_.resize(std::size_t(size_));
}

MpiCommunicator::~MpiCommunicator() { MPI_Comm_free(&comm_); }

/// Doubled whenever it is too small, as it is expensive to allocate.
std::byte* MpiCommunicator::Stage::of_size(const Context& context, std::size_t needed) {
    if (needed > bytes) {
        const std::size_t larger = std::max({needed, 2 * bytes, std::size_t(1) << 16});
        context.synchronize();  // Copies from and to it may be at work.
        memory = page_locked_memory(context, Offset(larger));
        bytes = larger;
    }
    return memory.get();
}

MpiCommunicator::Notice MpiCommunicator::notice_of(const std::exception_ptr& error) noexcept {
    Notice notice;
    if (!error) return notice;
    notice.kind = Notice::other;
    const auto set = [&](const char* text) {
        std::strncpy(notice.text, text, sizeof notice.text - 1);
    };
    try {
        std::rethrow_exception(error);
    } catch (const NotPositiveDefinite& caught) {
        notice.kind = Notice::not_positive_definite;
        set(caught.what());
    } catch (const std::exception& caught) {
        set(caught.what());
    } catch (...) {
        set("an error that it has reported");
    }
    return notice;
}

void MpiCommunicator::throw_notice(const Notice& notice, int rank) {
    if (notice.kind == Notice::not_positive_definite) throw NotPositiveDefinite(notice.text);
    throw RankError("rank " + std::to_string(rank) + " ended with an error: " + notice.text);
}

/// Begins to send and to receive.
void MpiCommunicator::post(std::span<const Wire> send, std::span<const Wire> receive) const {
    requests_.clear();
    receive_.clear();
    for (const Wire& whole : receive) {
        for (std::size_t first = 0; first < whole.bytes; first += max_part) {
            receive_.push_back(
                {whole.peer, whole.data + first, std::min(max_part, whole.bytes - first)});
        }
    }
    std::size_t parts = receive_.size();
    for (const Wire& whole : send) parts += (whole.bytes + max_part - 1) / max_part;
    // Later allocations could fail on this rank after it has sent.
    requests_.reserve(parts);
    statuses_.resize(parts);
    for (const Wire& part : receive_) {
        MPI_Request request = MPI_REQUEST_NULL;
        check(MPI_Irecv(part.data, int(part.bytes), MPI_BYTE, part.peer, data_tag, comm_, &request),
              "MPI_Irecv");
        requests_.push_back(request);
    }
    for (const Wire& whole : send) {
        for (std::size_t first = 0; first < whole.bytes; first += max_part) {
            MPI_Request request = MPI_REQUEST_NULL;
            check(MPI_Isend(whole.data + first, int(std::min(max_part, whole.bytes - first)),
                            MPI_BYTE, whole.peer, data_tag, comm_, &request),
                  "MPI_Isend");
            requests_.push_back(request);
            ++sent_[std::size_t(whole.peer)];
        }
    }
}

/// Waits for what was posted, or throws what a notice of another rank says.
void MpiCommunicator::wait() const {
    const double start = MPI_Wtime();
    for (unsigned tries = 1;; ++tries) {
        int done = 0;
        check(MPI_Testall(int(requests_.size()), requests_.data(), &done, statuses_.data()),
              "an exchange by MPI");
        if (done) break;
        // Whether a rank that waits gives its core away is for MPI to know.
        if (tries % 8 == 0 && look_for_notice()) {
            const int first = recover();
            throw_notice(notices_[std::size_t(first)], first);
        }
    }
    seconds_waited_ += MPI_Wtime() - start;
    for (const Wire& part : receive_) ++received_[std::size_t(part.peer)];
    check_sizes();
    receive_.clear();
    requests_.clear();
}

/// Whether a rank has ended this run with an error. One that has come further may have ended a
/// later one, which this rank will learn when it comes there.
bool MpiCommunicator::look_for_notice() const {
    MPI_Status status{};
    int found = 0;
    check(MPI_Iprobe(MPI_ANY_SOURCE, notice_tag, comm_, &found, &status), "MPI_Iprobe");
    if (found) {
        check(MPI_Recv(&notices_[std::size_t(status.MPI_SOURCE)], sizeof(Notice), MPI_BYTE,
                       status.MPI_SOURCE, notice_tag, comm_, MPI_STATUS_IGNORE),
              "MPI_Recv");
    }
    return std::ranges::any_of(notices_, [this](const Notice& notice) {
        return notice.kind != Notice::none && notice.run == run_;
    });
}

void MpiCommunicator::check_sizes() const {
    for (std::size_t k = 0; k < receive_.size(); ++k) {
        int bytes = 0;
        MPI_Get_count(&statuses_[k], MPI_BYTE, &bytes);
        if (std::size_t(bytes) == receive_[k].bytes) continue;
        const std::string message = "rank " + std::to_string(receive_[k].peer) + " sends rank " +
                                    std::to_string(rank_) + " " + std::to_string(bytes) +
                                    " bytes, not " + std::to_string(receive_[k].bytes);
        receive_.clear();
        requests_.clear();
        throw Error(message);
    }
}

/// Bruck's algorithm: after each step a rank has the parts of twice as many ranks, its own first.
void MpiCommunicator::gather(const std::byte* mine, std::size_t bytes, std::byte* all) const {
    const auto ranks = std::size_t(size_);
    gathered_.resize(std::max(gathered_.size(), ranks * bytes));
    std::byte* const parts = gathered_.data();
    std::memcpy(parts, mine, bytes);
    for (int step = 1; step < size_; step *= 2) {
        const std::size_t count = std::size_t(std::min(step, size_ - step)) * bytes;
        const Wire send{(rank_ - step + size_) % size_, parts, count},
            receive{(rank_ + step) % size_, parts + std::size_t(step) * bytes, count};
        post({&send, 1}, {&receive, 1});
        wait();
    }
    for (std::size_t k = 0; k < ranks; ++k) {
        std::memcpy(all + (std::size_t(rank_) + k) % ranks * bytes, parts + k * bytes, bytes);
    }
}

void MpiCommunicator::all_gather(const Context& context, std::span<const std::byte> mine,
                                 std::span<std::byte> all) const {
    if (all.size() != mine.size() * std::size_t(size_)) {
        throw InvalidArgument("all_gather: the result must have the bytes of all ranks");
    }
    if (mine.empty()) return;
    if (!context.on_gpu()) return gather(mine.data(), mine.size(), all.data());
    // Few bytes: the host waits for them anyway, and gathers.
    std::byte* const stage = send_stage_.of_size(context, mine.size() + all.size());
    const std::span<std::byte> own(stage, mine.size()), whole(stage + mine.size(), all.size());
    copy<std::byte>(context, mine, own);
    context.synchronize();
    gather(own.data(), own.size(), whole.data());
    copy<std::byte>(context, whole, all);
}

/// Messages are in the stages while they are on their way, so that what an error frees is not used.
void MpiCommunicator::begin(const Context& context, std::span<const Message> send,
                            std::span<const Message> receive) const {
    const bool staged = !(context.on_gpu() && device_pointers_);
    std::byte *from = nullptr, *to = nullptr;
    if (staged) {
        from = send_stage_.of_size(context, total(send));
        copy_messages(send, from, [&](std::span<std::byte> memory, std::span<std::byte> stage) {
            copy<std::byte>(context, memory, stage);
        });
        to = receive_stage_.of_size(context, total(receive));
        into_.assign(receive.begin(), receive.end());
    }
    context.synchronize();
    const auto wires = [staged](std::span<const Message> messages, std::byte* stage) {
        std::vector<Wire> made;
        made.reserve(messages.size());
        for (const Message& message : messages) {
            made.push_back(
                {message.peer, staged ? stage : message.bytes.data(), message.bytes.size()});
            if (staged) stage += message.bytes.size();
        }
        return made;
    };
    post(wires(send, from), wires(receive, to));
}

void MpiCommunicator::end(const Context& context) const {
    wait();
    if (context.on_gpu() && device_pointers_) return;
    copy_messages(into_, receive_stage_.memory.get(),
                  [&](std::span<std::byte> memory, std::span<std::byte> stage) {
                      copy<std::byte>(context, stage, memory);
                  });
}

void MpiCommunicator::agree(std::exception_ptr error) const {
    const int mine = error ? 1 : 0;
    std::vector<int> all(std::size_t(size_), 0);
    gather(reinterpret_cast<const std::byte*>(&mine), sizeof mine,
           reinterpret_cast<std::byte*>(all.data()));
    const auto first = std::ranges::find(all, 1) - all.begin();
    if (first == size_) return;
    std::vector<Notice> notices(all.size());
    const Notice own = notice_of(error);
    gather(reinterpret_cast<const std::byte*>(&own), sizeof own,
           reinterpret_cast<std::byte*>(notices.data()));
    ended_ = true;
    if (error) std::rethrow_exception(error);
    throw_notice(notices[std::size_t(first)], int(first));
}

/// Ends on all ranks what this one ends with an error, unless they know of it.
void MpiCommunicator::end_with(const std::exception_ptr& error) const noexcept {
    if (std::exchange(ended_, true) || size_ == 1) return;
    mine_ = notice_of(error);
    mine_.run = run_;
    recover();
    mine_ = {};
}

/// Where all ranks meet after an error: sends the notice of this rank, if it has one, and receives
/// those of others and all messages that are on their way. Returns the first rank with a notice.
int MpiCommunicator::recover() const noexcept {
    ended_ = true;
    const bool failed = mine_.kind != Notice::none;
    std::vector<MPI_Request> sending;
    int first = size_;
    try {
        for (int r = 0; r < size_ && failed; ++r) {
            if (r == rank_) continue;
            sending.emplace_back();
            check(MPI_Isend(&mine_, sizeof mine_, MPI_BYTE, r, notice_tag, comm_, &sending.back()),
                  "MPI_Isend");
        }
        for (std::size_t k = 0; k < receive_.size() && k < requests_.size(); ++k) {
            int cancelled = 0;
            MPI_Status status{};
            if (requests_[k] != MPI_REQUEST_NULL) {
                MPI_Cancel(&requests_[k]);
                check(MPI_Wait(&requests_[k], &status), "MPI_Wait");
                MPI_Test_cancelled(&status, &cancelled);
            }
            if (!cancelled) ++received_[std::size_t(receive_[k].peer)];
        }
        int* const mine = counts_.data();
        int* const theirs = mine + 2 * size_;
        for (int r = 0; r < size_; ++r) {
            mine[2 * r] = sent_[std::size_t(r)];
            mine[2 * r + 1] = failed && r != rank_;
        }
        check(MPI_Alltoall(mine, 2, MPI_INT, theirs, 2, MPI_INT, comm_), "MPI_Alltoall");
        for (int r = 0; r < size_; ++r) {
            receive_rest(r, theirs[2 * r]);
            Notice& notice = notices_[std::size_t(r)];
            if (theirs[2 * r + 1] == 0) continue;
            if (notice.kind == Notice::none || notice.run != run_) {
                check(MPI_Recv(&notice, sizeof notice, MPI_BYTE, r, notice_tag, comm_,
                               MPI_STATUS_IGNORE),
                      "MPI_Recv");
            }
            first = std::min(first, r);
        }
        check(MPI_Waitall(int(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE),
              "MPI_Waitall");
        check(MPI_Waitall(int(sending.size()), sending.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
    } catch (...) {  // No notice can be sent any more.
        MPI_Abort(comm_, 1);
    }
    receive_.clear();
    requests_.clear();
    std::ranges::fill(sent_, 0);
    std::ranges::fill(received_, 0);
    return first;
}

/// Drops the messages of a rank that nobody waits for, of `sent` in all.
void MpiCommunicator::receive_rest(int peer, int sent) const {
    std::vector<std::byte> dropped;
    for (int k = received_[std::size_t(peer)]; k < sent; ++k) {
        MPI_Status status{};
        int bytes = 0;
        check(MPI_Probe(peer, data_tag, comm_, &status), "MPI_Probe");
        MPI_Get_count(&status, MPI_BYTE, &bytes);
        dropped.resize(std::size_t(bytes));
        check(MPI_Recv(dropped.data(), bytes, MPI_BYTE, peer, data_tag, comm_, MPI_STATUS_IGNORE),
              "MPI_Recv");
    }
}

}  // namespace tessera::petsc
