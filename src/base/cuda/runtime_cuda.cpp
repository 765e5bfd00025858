#include <nvtx3/nvToolsExt.h>

#include <atomic>
#include <cstring>

#include "base/check_cuda.hpp"
#include "base/concat.hpp"
#include "base/context_state.hpp"
#include "base/cuda/event.hpp"
#include "base/cuda/page_locked.hpp"
#include "base/peers.hpp"
#include "base/threads/thread_team.hpp"

namespace tessera::cuda {

namespace {

/// A likely cause of errors in the child of a process that had used CUDA before the fork.
const char* fork_hint() {
    static const int forks_at_first_use = forks_above();
    return forks_above() == forks_at_first_use
               ? ""
               : "; CUDA cannot be used in the child of a fork whose parent has used it: fork "
                 "before that, or start a program in the child";
}

}  // namespace

void throw_device_error(cudaError_t error, const char* call, const char* file, int line) {
    const std::string path(file);
    const std::string text = std::string(cudaGetErrorName(error)) + " (" +
                             cudaGetErrorString(error) + ") from " + call + " at " +
                             path.substr(path.rfind("/src/") + 1) + ":" + std::to_string(line);
    cudaGetLastError();
    if (error == cudaErrorMemoryAllocation) throw OutOfMemory("out of GPU memory: " + text);
    throw DeviceError(text + fork_hint());
}

std::vector<DeviceDescription> devices(std::string* reason) {
    int count = 0;
    const char* const hint = fork_hint();  // Before the first use of CUDA.
    const cudaError_t error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess || count == 0) {
        if (reason != nullptr) {
            *reason = error == cudaSuccess || error == cudaErrorNoDevice ? "no NVIDIA GPU was found"
                      : error == cudaErrorInsufficientDriver
                          ? "no NVIDIA driver, or one older than this build needs (CUDA 13)"
                          : concat(cudaGetErrorName(error), ": ", cudaGetErrorString(error), hint);
        }
        cudaGetLastError();
        return {};
    }
    std::vector<DeviceDescription> found;
    for (int device = 0; device < count; ++device) {
        cudaDeviceProp properties{};
        TESSERA_CUDA(cudaGetDeviceProperties(&properties, device));
        found.push_back({properties.name, Offset(properties.totalGlobalMem),
                         10 * properties.major + properties.minor, properties.multiProcessorCount});
    }
    return found;
}

namespace {

/// Set by the first Context; CUDA is not initialised only to look at an address.
std::atomic<bool> used{false};

struct CudaState final : ContextState, std::enable_shared_from_this<CudaState> {
    CudaState(int chosen_device, int threads_requested, const CallerStream* caller)
        : ContextState(threads_requested), owns_stream_(caller == nullptr) {
        device = chosen_device;
        TESSERA_CUDA(cudaSetDevice(device));
        if (caller != nullptr) {
            stream_ = caller->stream;
            owner_ = caller->owner;
            allocator_ = caller->allocator;
            check_device_of_stream();
        } else {
            TESSERA_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
        }
        stream = stream_;
        used = true;
    }

    /// The device of a stream in a capture cannot be queried; launches fail there if it is another.
    void check_device_of_stream() const {
        int device_of_stream = device;
        if (stream_ != nullptr && !captured_by_caller()) {
            TESSERA_CUDA(cudaStreamGetDevice(stream_, &device_of_stream));
        }
        require(device_of_stream == device, "Context::cuda: the stream belongs to device ",
                device_of_stream, ", not to ", device);
    }

    /// Made when it is first needed: a Context may be made while its stream, or another one, is
    /// captured.
    void make_pool() {
        if (pool_ != nullptr || allocator_.allocate != nullptr) return;
        cudaMemPoolProps properties{};
        properties.allocType = cudaMemAllocationTypePinned;
        properties.location = {cudaMemLocationTypeDevice, device};
        TESSERA_CUDA(cudaMemPoolCreate(&pool_, &properties));
        std::uint64_t keep_all = ~std::uint64_t(0);
        TESSERA_CUDA(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &keep_all));
    }

    ~CudaState() override {
        cudaSetDevice(device);
        release_scratch();
        release_kept();
        // A pool that is destroyed while its memory is being freed on the default stream crashes
        // other threads that wait for that stream (driver 580).
        bool captured = true;
        try {
            captured = captured_by_caller();
        } catch (...) {  // The device fails: there is nothing to wait for.
        }
        if (!captured) cudaStreamSynchronize(stream_);
        if (owns_stream_) cudaStreamDestroy(stream_);
        if (capture_stream_ != nullptr) cudaStreamDestroy(capture_stream_);
        if (pool_ != nullptr) cudaMemPoolDestroy(pool_);
        if (few_ != nullptr) page_locked_blocks().give_back(few_);
    }

    bool captured_by_caller() const override {
        // The default stream cannot be captured.
        if (owns_stream_ || capturing || stream_ == nullptr || stream_ == cudaStreamLegacy) {
            return false;
        }
        cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
        TESSERA_CUDA(cudaStreamIsCapturing(stream_, &status));
        return status != cudaStreamCaptureStatusNone;
    }

    void* allocate(Offset bytes) override {
        require_no_capture("memory cannot be allocated");
        release_kept();
        TESSERA_CUDA(cudaSetDevice(device));
        void* memory = nullptr;
        cudaError_t error = cudaSuccess;
        if (allocator_.allocate != nullptr) {
            memory = allocator_.allocate(bytes, stream_, allocator_.data);
            if (memory == nullptr) error = cudaErrorMemoryAllocation;
        } else {
            make_pool();
            error = cudaMallocFromPoolAsync(&memory, std::size_t(bytes), pool_, stream_);
        }
        if (error == cudaErrorMemoryAllocation) {
            cudaGetLastError();
            throw OutOfMemory("out of GPU memory: " + std::to_string(bytes >> 20) +
                              " MiB requested, " + std::to_string(free_memory() >> 20) +
                              " MiB free; use a smaller matrix, or the CPU");
        }
        check(error, "cudaMallocFromPoolAsync", __FILE__, __LINE__);
        if (poison) fill_bytes(memory, 0xff, bytes);
        return memory;
    }

    /// Inside a capture of the stream memory cannot be freed: it is kept until a later call.
    void release(void* memory, Offset bytes) noexcept override {
        try {
            if (recording()) return kept_.emplace_back(memory, bytes), void();
        } catch (...) {  // Memory of the host ran out, or the device fails: never freed.
            return;
        }
        free_now(memory, bytes);
    }

    void free_now(void* memory, Offset bytes) noexcept {
        cudaSetDevice(device);
        if (allocator_.release != nullptr) {
            allocator_.release(memory, bytes, stream_, allocator_.data);
        } else {
            cudaFreeAsync(memory, stream_);
        }
    }

    void release_kept() noexcept {
        for (const auto& [memory, bytes] : kept_) free_now(memory, bytes);
        kept_.clear();
    }

    void fill_bytes(void* memory, int byte, Offset bytes) override {
        TESSERA_CUDA(cudaSetDevice(device));
        TESSERA_CUDA(cudaMemsetAsync(memory, byte, std::size_t(bytes), stream_));
    }

    void copy_bytes(const void* from, void* to, Offset bytes) override {
        TESSERA_CUDA(cudaSetDevice(device));
        if (bytes >= min_staged_bytes && !recording() &&
            copy_in_stages(from, to, bytes, threads, stream_)) {
            return;
        }
        TESSERA_CUDA(cudaMemcpyAsync(to, from, std::size_t(bytes), cudaMemcpyDefault, stream_));
    }

    /// Few bytes come through page-locked memory, in half the time: setups read many numbers.
    void copy_bytes_and_wait(const void* from, void* to, Offset bytes) override {
        if (bytes == 0 || bytes > PageLockedBlocks::block_bytes || !is_device_memory(from) ||
            is_device_memory(to)) {
            return ContextState::copy_bytes_and_wait(from, to, bytes);
        }
        require_no_capture("the host cannot wait");
        TESSERA_CUDA(cudaSetDevice(device));
        if (few_ == nullptr) few_ = page_locked_blocks().take();
        copy_bytes(from, few_, bytes);
        synchronize();
        std::memcpy(to, few_, std::size_t(bytes));
    }

    /// The pool alone is shared: memory of a caller's allocator is copied through the host.
    bool share_with_device(int other) {
        if (other == device) return true;
        make_pool();
        int can_access = 0;
        TESSERA_CUDA(cudaDeviceCanAccessPeer(&can_access, other, device));
        if (pool_ == nullptr || can_access == 0) return false;
        cudaMemAccessDesc access{};
        access.location = {cudaMemLocationTypeDevice, other};
        access.flags = cudaMemAccessFlagsProtReadWrite;
        TESSERA_CUDA(cudaMemPoolSetAccess(pool_, &access, 1));
        return true;
    }

    void synchronize() override {
        require_no_capture("the host cannot wait");
        TESSERA_CUDA(cudaSetDevice(device));
        TESSERA_CUDA(cudaStreamSynchronize(stream_));
    }

    Offset free_memory() override {
        synchronize();
        std::size_t free = 0;
        std::size_t total = 0;
        TESSERA_CUDA(cudaMemGetInfo(&free, &total));
        if (allocator_.ready != nullptr) free += allocator_.ready(stream_, allocator_.data);
        if (pool_ == nullptr) return Offset(free);
        std::uint64_t reserved = 0;
        std::uint64_t in_use = 0;
        TESSERA_CUDA(cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrReservedMemCurrent, &reserved));
        TESSERA_CUDA(cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrUsedMemCurrent, &in_use));
        return Offset(free) + Offset(reserved - in_use);
    }

    bool reaches(const void* memory) const override {
        cudaPointerAttributes found{};
        TESSERA_CUDA(cudaPointerGetAttributes(&found, memory));
        if (found.type == cudaMemoryTypeDevice) return found.device == device;
        if (found.type != cudaMemoryTypeUnregistered) return true;
        int all_host_memory = 0;
        TESSERA_CUDA(
            cudaDeviceGetAttribute(&all_host_memory, cudaDevAttrPageableMemoryAccess, device));
        return all_host_memory != 0;
    }

    std::function<void()> capture(std::function<void()> work) override {
        require_no_capture("another capture cannot begin");
        TESSERA_CUDA(cudaSetDevice(device));
        // The default stream cannot be captured.
        const bool elsewhere = stream_ == nullptr || stream_ == cudaStreamLegacy;
        if (elsewhere && capture_stream_ == nullptr) {
            TESSERA_CUDA(cudaStreamCreateWithFlags(&capture_stream_, cudaStreamNonBlocking));
        }
        const cudaStream_t captured_stream = elsewhere ? capture_stream_ : stream_;
        TESSERA_CUDA(cudaStreamBeginCapture(captured_stream, cudaStreamCaptureModeThreadLocal));
        const cudaStream_t launch_stream = std::exchange(stream_, captured_stream);
        stream = stream_;
        capturing = true;
        std::exception_ptr failure;
        try {
            work();
        } catch (...) {
            failure = std::current_exception();
        }
        capturing = false;
        stream = stream_ = launch_stream;
        auto scratch_of_graph = std::exchange(captured_scratch, {});
        cudaGraph_t graph = nullptr;
        const cudaError_t captured = cudaStreamEndCapture(captured_stream, &graph);
        const std::unique_ptr<CUgraph_st, decltype(&cudaGraphDestroy)> owner(graph,
                                                                             &cudaGraphDestroy);
        if (failure) {
            cudaGetLastError();
            std::rethrow_exception(failure);
        }
        check(captured, "cudaStreamEndCapture", __FILE__, __LINE__);
        cudaGraphExec_t executable = nullptr;
        TESSERA_CUDA(cudaGraphInstantiate(&executable, graph, 0));
        // The graph keeps the work, and so the memory that it owns, alive.
        return [graph = CapturedGraph{shared_from_this(),
                                      std::move(scratch_of_graph),
                                      {executable, &cudaGraphExecDestroy}},
                work = std::move(work)] {
            graph.state->replayed = true;
            TESSERA_CUDA(cudaSetDevice(graph.state->device));
            TESSERA_CUDA(cudaGraphLaunch(graph.executable.get(), graph.state->stream_));
        };
    }

    void begin_phase(const char* name, PhaseStep step, double bytes) override {
        nvtxRangePushA(name);
        phase_open_ = timed;
        if (!timed) return;
        if (pending_.size() >= 4096) finish_phases();
        pending_.push_back({name, step, bytes, make_event(), make_event()});
        TESSERA_CUDA(cudaEventRecord(pending_.back().begin.get(), stream_));
    }

    /// A failing device shows at the next synchronisation.
    void end_phase() noexcept override {
        nvtxRangePop();
        if (phase_open_) cudaEventRecord(pending_.back().end.get(), stream_);
    }

    void finish_phases() override {
        for (const PendingPhase& phase : std::exchange(pending_, {})) {
            TESSERA_CUDA(cudaEventSynchronize(phase.end.get()));
            float milliseconds = 0;
            TESSERA_CUDA(cudaEventElapsedTime(&milliseconds, phase.begin.get(), phase.end.get()));
            add_phase(phase.name, phase.step, 1e-3 * double(milliseconds), phase.bytes);
        }
    }

  private:
    /// Members are destroyed in reverse order.
    struct CapturedGraph {
        std::shared_ptr<CudaState> state;
        std::vector<std::shared_ptr<ScratchBlock>> scratch;
        std::shared_ptr<CUgraphExec_st> executable;
    };
    struct PendingPhase {
        const char* name;
        PhaseStep step;
        double bytes;
        Event begin;
        Event end;
    };
    std::vector<PendingPhase> pending_;  ///< Events that have not been read yet.
    bool phase_open_ = false;
    const bool owns_stream_;
    cudaStream_t stream_ = nullptr;          ///< While work is captured the stream for that.
    std::shared_ptr<void> owner_;            ///< An owner of the caller; released last.
    cudaStream_t capture_stream_ = nullptr;  ///< Captures, where stream_ is the default stream.
    cudaMemPool_t pool_ = nullptr;           ///< Null: memory comes from allocator_.
    DeviceAllocator allocator_;
    void* few_ = nullptr;  ///< A block of page_locked_blocks, when it is needed.
    std::vector<std::pair<void*, Offset>> kept_;  ///< Released while the stream was captured.
};

}  // namespace

bool is_device_memory(const void* memory) {
    if (!used) return false;
    cudaPointerAttributes found{};
    if (cudaPointerGetAttributes(&found, memory) == cudaSuccess) {
        return found.type == cudaMemoryTypeDevice;
    }
    cudaGetLastError();
    return false;
}

bool share_with_device(const Context& context, int device) {
    return static_cast<CudaState&>(context.state()).share_with_device(device);
}

std::shared_ptr<ContextState> make_state(int device, int threads, const CallerStream* caller) {
    return std::make_shared<CudaState>(device, threads, caller);
}

}  // namespace tessera::cuda
