#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/detail/memory.hpp"
#include "tessera/error.hpp"
#include "tessera/export.hpp"
#include "tessera/types.hpp"

namespace tessera {

enum class Backend : std::uint8_t { cpu, cuda };

/// Vector instruction sets of the CPU kernels, in ascending order.
enum class InstructionSet : std::uint8_t { sse4, avx2, avx512 };

TESSERA_API const char* to_string(Backend backend);
TESSERA_API const char* to_string(InstructionSet set);

/// One timed kind of work. On a GPU the work inside replayed graphs is not timed, so `calls` and
/// `seconds` then stand for the calls that were (`sampled` is true).
struct PhaseRecord {
    std::string name;
    Offset calls = 0;
    double seconds = 0;
    double bytes = 0;  ///< Fewest bytes these calls must move through memory; 0: not known.
    bool sampled = false;
};

/// Bytes of one memory space.
struct MemoryUse {
    Offset current = 0;
    Offset peak = 0;
};

/// Work recorded by Context::capture, to be run again and again.
class TESSERA_API Graph {
  public:
    Graph() = default;
    /// Runs the recorded work once more; returns before it is done on a GPU.
    void launch() const;

    struct State;
    explicit Graph(std::shared_ptr<State> state) : state_(std::move(state)) {}

  private:
    std::shared_ptr<State> state_;
};

struct ContextState;

/// Where work runs: a backend, a device, one stream, a memory pool, a number of threads and an
/// instruction set. The first argument of everything. Copies share one state. A Context belongs to
/// one host thread at a time; nothing in Tessera is global. Functions that take a Context return
/// before their work is done on a GPU, unless their comment says otherwise: what one Context wrote
/// may be used through another once the first was waited for (synchronize).
class TESSERA_API Context {
  public:
    /// The CPU backend. `threads` 0: what OMP_NUM_THREADS or the process affinity allows.
    /// Throws InvalidArgument when the CPU lacks SSE4.2 or TESSERA_ISA asks for what it lacks.
    static Context cpu(int threads = 0);

    /// The CUDA backend on `device`, with a stream of its own. Throws NotBuilt when this build has
    /// none, DeviceError (with the reason) when no such device can be used.
    static Context cuda(int device = 0, int threads = 0);

    /// "auto", "cpu", "cuda" or "cuda:K". "auto" takes the CUDA backend when it can be used, else
    /// the CPU; `why_not_cuda`, when given, then receives the reason.
    static Context from_name(std::string_view device, int threads = 0,
                             std::string* why_not_cuda = nullptr);

    Backend backend() const;
    bool on_gpu() const { return backend() == Backend::cuda; }
    int device() const;
    int threads() const;
    InstructionSet instruction_set() const;
    /// The CUDA stream (cudaStream_t) of this Context; nullptr on the CPU.
    void* stream() const;
    /// For people: "NVIDIA H200" or "CPU, 2 threads, AVX-512".
    std::string description() const;

    /// Waits until all work given to this Context is done; reports asynchronous device errors.
    void synchronize() const;

    /// Records the work that `work` gives to this Context and returns it as a graph. On the CPU the
    /// graph just calls `work`. `work` must not allocate, free, copy to the host or synchronize,
    /// and is not run by capture itself.
    Graph capture(std::function<void()> work) const;

    /// Whether phases are timed from here on; at first they are not. On a GPU this takes some five
    /// microseconds a call, and keeps the kernels of one call from starting while those of the call
    /// before it end.
    void time_phases(bool timed = true) const;

    /// The phases timed so far, in the order of their first call. Waits for the GPU.
    std::vector<PhaseRecord> phases() const;
    void reset_phases() const;

    /// Memory held by Buffers of this Context (in its own memory space), now and at most.
    MemoryUse memory() const;

    /// Free bytes of this Context's memory space.
    Offset free_memory() const;

    /// Bytes a second (read plus written) of a large copy in this Context's memory; measured at
    /// the first call (about 50 ms), waits.
    double copy_rate() const;

    ContextState& state() const { return *state_; }

  private:
    friend class detail::Memory;
    explicit Context(std::shared_ptr<ContextState> state) : state_(std::move(state)) {}
    std::shared_ptr<ContextState> state_;
};

/// One CUDA device, or the reason why there is none.
struct DeviceDescription {
    std::string name;
    Offset memory_bytes = 0;
    int compute_capability = 0;  ///< 90 means 9.0.
    int multiprocessors = 0;
};

/// The CUDA devices of this machine. Empty, with `reason` set when given, if none can be used.
TESSERA_API std::vector<DeviceDescription> cuda_devices(std::string* reason = nullptr);

/// The instruction sets this CPU has and Tessera has kernels for.
TESSERA_API std::vector<InstructionSet> instruction_sets();

/// An owned array in the memory of a Context (host memory on the CPU, device memory on a GPU).
/// Move-only; freed in stream order. Contents are undefined until written; with TESSERA_POISON=1 in
/// the environment they are all ones (NaN, -1), so that reading them shows.
template <class T>
class Buffer {
  public:
    Buffer() = default;
    Buffer(const Context& context, Offset size) : memory_(context, size * Offset(sizeof(T))) {}

    T* data() { return static_cast<T*>(memory_.data()); }
    const T* data() const { return static_cast<const T*>(memory_.data()); }
    Offset size() const { return memory_.bytes() / Offset(sizeof(T)); }
    bool empty() const { return size() == 0; }
    /// Keeps the first `size` elements; the memory of the others is freed with that of these.
    void truncate(Offset size) { memory_.truncate(size * Offset(sizeof(T))); }
    std::span<T> view() { return {data(), static_cast<std::size_t>(size())}; }
    std::span<const T> view() const { return {data(), static_cast<std::size_t>(size())}; }

  private:
    detail::Memory memory_;
};

/// A vector that is read. Another argument decides T, so that views of a Buffer, const or not, and
/// std::vector are taken as they are.
template <class T>
using Input = std::span<const std::type_identity_t<T>>;

/// Copies within the memory of `context`; sizes must agree; no overlap.
template <class T>
void copy(const Context& context, Input<T> from, std::span<T> to) {
    if (from.size() != to.size()) throw InvalidArgument("copy: sizes differ");
    detail::copy_bytes(context, from.data(), to.data(), Offset(from.size_bytes()));
}

/// Copies from the memory of `context` to the host; waits until that, and all work before it, is
/// done.
template <class T>
void copy_to_host(const Context& context, Input<T> from, std::span<T> to) {
    if (from.size() != to.size()) throw InvalidArgument("copy_to_host: sizes differ");
    detail::copy_bytes_to_host(context, from.data(), to.data(), Offset(from.size_bytes()));
}

/// Copies from the host to the memory of `context`; `from` may be changed on return.
template <class T>
void copy_from_host(const Context& context, Input<T> from, std::span<T> to) {
    if (from.size() != to.size()) throw InvalidArgument("copy_from_host: sizes differ");
    detail::copy_bytes_from_host(context, from.data(), to.data(), Offset(from.size_bytes()));
}

/// The host's copy of a Buffer; waits.
template <class T>
std::vector<T> copy_to_host(const Context& context, const Buffer<T>& buffer) {
    std::vector<T> host(static_cast<std::size_t>(buffer.size()));
    copy_to_host(context, buffer.view(), std::span<T>(host));
    return host;
}

/// A new Buffer with the contents of a host array.
template <class T>
Buffer<T> copy_to_buffer(const Context& context, std::span<const T> host) {
    Buffer<T> buffer(context, Offset(host.size()));
    copy_from_host(context, host, buffer.view());
    return buffer;
}
template <class T>
Buffer<T> copy_to_buffer(const Context& context, const std::vector<T>& host) {
    return copy_to_buffer(context, std::span<const T>(host));
}

}  // namespace tessera
