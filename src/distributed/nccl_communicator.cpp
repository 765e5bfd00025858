#include "tessera/nccl.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>

#include "base/checks.hpp"
#include "base/peers.hpp"
#include "distributed/communicator.hpp"

namespace tessera {

namespace {

/// Types and constants of nccl.h, which is not needed to build.
struct UniqueId {
    char bytes[128];
};
using NcclComm = void*;
constexpr int nccl_success = 0, nccl_int8 = 0;

/// The functions of libnccl.so.2 that are used.
struct Nccl {
    int (*get_unique_id)(UniqueId*);
    int (*init_rank)(NcclComm*, int ranks, UniqueId, int rank);
    int (*abort)(NcclComm);
    int (*group_start)();
    int (*group_end)();
    int (*send)(const void*, std::size_t count, int type, int peer, NcclComm, void* stream);
    int (*receive)(void*, std::size_t count, int type, int peer, NcclComm, void* stream);
    int (*all_gather)(const void*, void*, std::size_t count, int type, NcclComm, void* stream);
    const char* (*error_text)(int);

    void check(int code) const {
        if (code == nccl_success) return;
        throw DeviceError(concat("NCCL failed: ", error_text(code)));
    }
};

/// Stays loaded. Throws DeviceError where the library or one of its functions is missing.
const Nccl& nccl() {
    static std::mutex mutex;
    static Nccl functions;
    static bool is_loaded = false;
    const std::lock_guard lock(mutex);
    if (is_loaded) return functions;
    void* const library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        throw DeviceError(
            concat("messages between GPUs by NCCL need libnccl.so.2, which cannot be "
                   "loaded (",
                   dlerror(), "): name its folder in LD_LIBRARY_PATH"));
    }
    const auto find = [&]<class F>(const char* name, F*& function) {
        function = reinterpret_cast<F*>(dlsym(library, name));
        if (function == nullptr) throw DeviceError(concat("libnccl.so.2 has no function ", name));
    };
    find("ncclGetUniqueId", functions.get_unique_id);
    find("ncclCommInitRank", functions.init_rank);
    find("ncclCommAbort", functions.abort);
    find("ncclGroupStart", functions.group_start);
    find("ncclGroupEnd", functions.group_end);
    find("ncclSend", functions.send);
    find("ncclRecv", functions.receive);
    find("ncclAllGather", functions.all_gather);
    find("ncclGetErrorString", functions.error_text);
    is_loaded = true;
    return functions;
}

class NcclCommunicator final : public Communicator {
  public:
    NcclCommunicator(const Context& context, const Communicator& control) : control_(control) {
        on_all_ranks(control, [&] {
            require(context.on_gpu(), "NCCL sends messages between GPUs, not between CPUs");
            nccl_ = &nccl();
        });
        require_gpu_for_each(context);
        UniqueId id{};
        on_all_ranks(control, [&] {
            if (rank() == 0) nccl_->check(nccl_->get_unique_id(&id));
        });
        // The identifier of rank 0 is the one of all; the copy makes the GPU that of this thread.
        const auto all = gather_to_host<char>(control, context, id.bytes);
        std::copy_n(all.begin(), sizeof id.bytes, id.bytes);
        on_all_ranks(control, [&] { nccl_->check(nccl_->init_rank(&comm_, size(), id, rank())); });
    }
    /// Waits for no other rank.
    ~NcclCommunicator() override {
        if (comm_ != nullptr) nccl_->abort(comm_);
    }
    NcclCommunicator(const NcclCommunicator&) = delete;
    NcclCommunicator& operator=(const NcclCommunicator&) = delete;

    int rank() const override { return control_.rank(); }
    int size() const override { return control_.size(); }

    void all_gather(const Context& context, std::span<const std::byte> mine,
                    std::span<std::byte> all) const override {
        on_all_ranks(control_, [&] {
            require(all.size() == mine.size() * std::size_t(size()),
                    "all_gather: the result must have the bytes of ", size(), " ranks");
        });
        nccl_->check(nccl_->all_gather(mine.data(), all.data(), mine.size(), nccl_int8, comm_,
                                       context.stream()));
    }

    void begin(const Context& context, std::span<const Message> send,
               std::span<const Message> receive) const override {
        control_.agree(nullptr);
        nccl_->check(nccl_->group_start());
        int failed = nccl_success;
        const auto note = [&](int code) { failed = failed == nccl_success ? code : failed; };
        for (const Message& each : send) {
            note(nccl_->send(each.bytes.data(), each.bytes.size(), nccl_int8, each.peer, comm_,
                             context.stream()));
        }
        for (const Message& each : receive) {
            note(nccl_->receive(each.bytes.data(), each.bytes.size(), nccl_int8, each.peer, comm_,
                                context.stream()));
        }
        note(nccl_->group_end());
        nccl_->check(failed);
    }
    void end(const Context&) const override {}

    void agree(std::exception_ptr error) const override { control_.agree(error); }
    double seconds_waited() const override { return control_.seconds_waited(); }
    bool can_be_captured() const override { return false; }

  private:
    void require_gpu_for_each(const Context& context) const {
        std::array<std::byte, 16> own{};
        TESSERA_RUN(write_device_id, context, own.data());
        const auto all = gather_to_host<std::byte>(control_, context, own);
        for (int r = 0; r < size(); ++r) {
            for (int s = 0; s < r; ++s) {
                require(std::memcmp(&all[std::size_t(16 * r)], &all[std::size_t(16 * s)], 16) != 0,
                        "ranks ", s, " and ", r,
                        " are on one GPU, between which NCCL sends no messages: give each rank a "
                        "GPU of its own");
            }
        }
    }

    const Communicator& control_;
    const Nccl* nccl_ = nullptr;
    NcclComm comm_ = nullptr;
};

}  // namespace

std::unique_ptr<Communicator> nccl_communicator(const Context& context,
                                                const Communicator& control) {
    return std::make_unique<NcclCommunicator>(context, control);
}

}  // namespace tessera
