#pragma once

#include <utility>

#include "tessera/context.hpp"

namespace tessera {

struct ScratchBlock;

/// The state that copies of a Context share. The virtual functions are those of the CPU;
/// runtime_cuda.cpp overrides them.
struct ContextState {
    /// Throws InvalidArgument for a bad number of threads or instruction set.
    explicit ContextState(int threads_requested);
    ContextState(const ContextState&) = delete;
    ContextState& operator=(const ContextState&) = delete;
    virtual ~ContextState();

    int device = -1;  ///< CUDA device; -1: the CPU.
    Offset device_memory_bytes = 0;
    int threads = 1;
    InstructionSet instruction_set{};
    void* stream = nullptr;
    bool poison = false;
    bool touch_arrays = true;  ///< All pages of new arrays are mapped at once (LaterTouched).
    std::string description;
    double copy_bandwidth = 0;

    Offset memory_bytes = 0;
    Offset peak_memory_bytes = 0;
    Offset allocations = 0;  ///< Number of calls that allocated; tests watch it.

    /// Throws OutOfMemory.
    virtual void* allocate(Offset bytes);
    virtual void release(void* memory, Offset bytes) noexcept;
    virtual void fill_bytes(void* memory, int byte, Offset bytes);
    /// Copies between any two memory spaces; on a GPU it need not wait, but does for long copies.
    virtual void copy_bytes(const void* from, void* to, Offset bytes);
    /// Waits for all work.
    virtual void copy_bytes_and_wait(const void* from, void* to, Offset bytes);
    virtual void synchronize() {}
    virtual Offset free_memory();
    /// Whether kernels of this Context can read memory at this address.
    virtual bool reaches(const void* memory) const;
    virtual std::function<void()> capture(std::function<void()> work) { return work; }
    /// Whether the caller records the work of the stream in a graph of its own.
    virtual bool captured_by_caller() const { return false; }
    /// Whether work is recorded in a graph, by capture() or by the caller.
    bool recording() const { return capturing || captured_by_caller(); }
    /// Throws InvalidArgument while work is recorded, of which `action` cannot be a part.
    void require_no_capture(const char* action) const;

    /// Partial sums of reductions: the last is the largest and in use. Smaller ones stay, because
    /// captured graphs may point to them.
    std::vector<std::pair<void*, Offset>> reductions;
    void release_scratch() noexcept;  ///< These and `scratch`.
    /// Work space of calls (scratch/scratch.hpp): one block, taken from its start to `scratch_top`.
    std::shared_ptr<ScratchBlock> scratch;
    Offset scratch_top = 0;
    /// Blocks that the graph being captured points to; the graph keeps them.
    std::vector<std::shared_ptr<ScratchBlock>> captured_scratch;
    /// Those that graphs of the caller point to; the state keeps them.
    std::vector<std::shared_ptr<ScratchBlock>> scratch_of_caller;

    /// Time breakdown (phases.hpp).
    bool timed = false;
    bool capturing = false;
    bool replayed = false;  ///< A graph was launched: the phases of a GPU are samples.
    int phase_depth = 0;
    std::vector<PhaseRecord> phases;
    void add_phase(const char* name, PhaseStep step, double seconds, double bytes);
    virtual void begin_phase(const char* name, PhaseStep step, double bytes);
    virtual void end_phase() noexcept;
    virtual void finish_phases() {}  ///< Waits for phases that are not in `phases` yet.

  private:
    const char* open_name_ = nullptr;  ///< Name of the phase being timed.
    PhaseStep open_step_ = PhaseStep::solve;
    double open_bytes_ = 0;
    double open_start_ = 0;
};

/// While it exists, pages of new arrays of a CPU are mapped where they are first written: for
/// arrays of which much may never be used, or whose parts several loops share among the threads.
class LaterTouched {
  public:
    explicit LaterTouched(ContextState& state)
        : state_(state), before_(std::exchange(state.touch_arrays, false)) {}
    ~LaterTouched() { state_.touch_arrays = before_; }
    LaterTouched(const LaterTouched&) = delete;
    LaterTouched& operator=(const LaterTouched&) = delete;

  private:
    ContextState& state_;
    const bool before_;
};

/// The caller's stream and memory for a Context.
struct CallerStream {
    CUstream_st* stream = nullptr;
    DeviceAllocator allocator;
    std::shared_ptr<void> owner;
};

/// Functions of the CUDA backend, where it is built.
namespace cuda {
std::vector<DeviceDescription> devices(std::string* reason);
/// Whether an address is one of GPU memory that the host cannot read; false, without asking CUDA,
/// before the first CUDA Context of the process.
bool is_device_memory(const void* memory);
/// `caller` nullptr: with a stream and a memory pool of its own.
std::shared_ptr<ContextState> make_state(int device, int threads, const CallerStream* caller);
}  // namespace cuda

/// Memory for the partial sums of reductions, at least `bytes`, zeroed when it is new. Reused by
/// every reduction in stream order; must not grow inside a capture.
void* reduction_scratch(const Context& context, Offset bytes);

}  // namespace tessera
