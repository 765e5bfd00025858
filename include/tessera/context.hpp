#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/detail/memory.hpp"
#include "tessera/detail/owners.hpp"

/// A stream of CUDA: cudaStream_t is a pointer to one.
struct CUstream_st;

namespace tessera {

/// Stream-ordered GPU memory from the caller's pool. If empty, the Context makes its own pool.
struct DeviceAllocator {
    /// Returns at least `bytes`, aligned to 256; nullptr if there is no memory left.
    void* (*allocate)(Offset bytes, CUstream_st* stream, void* data) = nullptr;
    void (*release)(void* memory, Offset bytes, CUstream_st* stream, void* data) = nullptr;
    void* data = nullptr;  ///< Passed to all functions.
    /// Optional: free bytes of the pool that the device does not count as free.
    Offset (*ready)(CUstream_st* stream, void* data) = nullptr;
};

/// Vector instruction sets of the CPU kernels: those of x86-64 in ascending order, that of AArch64.
enum class InstructionSet : std::uint8_t { sse4, avx2, avx512, neon };

TESSERA_API const char* to_string(InstructionSet set);

/// The instruction sets that this CPU has and Tessera has kernels for.
TESSERA_API std::vector<InstructionSet> instruction_sets();

/// The step of a solve that timed work belongs to.
enum class PhaseStep : std::uint8_t { find_blocks, setup, solve };

/// One timed kind of work. On a GPU the work inside replayed graphs is not timed: `calls` and
/// `seconds` are those of the other calls, and `sampled` is true.
struct PhaseRecord {
    std::string name;
    PhaseStep step = PhaseStep::solve;
    Offset calls = 0;
    double seconds = 0;
    double bytes = 0;  ///< Minimum memory traffic of these calls; 0: not known.
    bool sampled = false;
};

/// An execution context: a backend, a device, one stream, a memory pool, a number of threads and an
/// instruction set. The first argument of all operations. Copies share one state. A Context belongs
/// to one host thread at a time; nothing in Tessera is global. Matrices, preconditioners, plans and
/// partitions may be shared: threads that each have a Context of their own, on the device of the
/// object, may call its const functions, and pass it as a const argument, at the same time. On a
/// GPU, functions that take a Context return before their work is complete unless their comment
/// says that they block; synchronize a Context before another one uses its results.
class TESSERA_API Context {
  public:
    /// The CPU backend. `threads` = 0: as many as OMP_NUM_THREADS or the process affinity allow;
    /// fewer if the system cannot start them (see threads() and description()).
    /// TESSERA_ISA=sse4|avx2|avx512 (AArch64: neon) in the environment chooses the instruction set.
    /// Throws InvalidArgument when the CPU lacks that, or on x86-64 SSE4.2.
    static Context cpu(int threads = 0);

    /// The CUDA backend on `device`, with a stream of its own. Throws DeviceError (with the reason)
    /// when this build has no CUDA backend, or no such device can be used.
    static Context cuda(int device = 0);

    /// The CUDA backend with the caller's stream (nullptr: the default one) on `device`: the work
    /// of a call is in order with what the caller enqueues on the stream before and after it. The
    /// stream is never destroyed, and only functions that block and the end of the Context
    /// synchronise it; it must outlive the Context and all that was made with it, and so must the
    /// allocator. `owner`, which may hold both, is released after all of these. While the caller
    /// captures the stream, work that neither allocates nor blocks (products, Operator::apply,
    /// batched functions with a Plan) is recorded, once it has run before; what cannot be recorded
    /// throws InvalidArgument. All objects used must outlive such a graph, which is to be launched
    /// in order with other work of the Context and recorded anew after an update or recover of an
    /// operator. `device` stays current on the calling thread. Throws InvalidArgument for a stream
    /// of another device and half an allocator; otherwise as above.
    static Context cuda(int device, CUstream_st* stream, const DeviceAllocator& allocator = {},
                        int threads = 0, std::shared_ptr<void> owner = nullptr);

    /// "auto", "cpu", "cuda" or "cuda:K". "auto" uses CUDA where possible, else the CPU;
    /// `why_not_cuda`, when given, then receives the reason.
    static Context from_name(std::string_view device, int threads = 0,
                             std::string* why_not_cuda = nullptr);

    bool on_gpu() const;
    int device() const;
    int threads() const;
    InstructionSet instruction_set() const;
    /// The CUDA stream (cudaStream_t) of this Context, while work is captured that of the capture;
    /// nullptr on the CPU.
    void* stream() const;
    /// Readable: "NVIDIA H200" or "CPU, 2 threads, AVX-512".
    std::string description() const;

    /// Blocks until all work of this Context is complete; throws asynchronous device errors.
    void synchronize() const;

    /// Records the work that `work` enqueues on this Context; each call of the returned function
    /// runs it once. On a GPU that is a CUDA graph: `work` must not allocate, free, copy to the
    /// host or block (InvalidArgument). On the CPU the function is `work` itself. Capturing runs
    /// nothing. After an update of an operator in it the work must be captured anew.
    std::function<void()> capture(std::function<void()> work) const;

    /// Turns the timing of phases on or off (initially off). On a GPU it costs some five
    /// microseconds per call, and keeps the kernels of consecutive calls from overlapping.
    void time_phases(bool timed = true) const;
    /// The phases timed so far, in the order of their first call. Blocks until the work is
    /// complete.
    std::vector<PhaseRecord> phases() const;
    void reset_phases() const;

    /// Bytes held by Buffers of this Context, as work space of its calls and as exact factors, in
    /// its own memory space: current and peak.
    Offset memory_bytes() const;
    Offset peak_memory_bytes() const;
    /// Free bytes of the memory space of this Context; for host memory the minimum of the available
    /// memory of the system and what the limits of its control groups and of this process leave.
    Offset free_memory() const;

    /// Bytes per second (read plus written) of a large copy in this Context's memory. The first
    /// call measures it (about 50 ms). Blocks until the work is complete.
    double copy_bandwidth() const;

    ContextState& state() const { return *state_; }

    /// A moved-from Context is still usable: moves are copies.
    Context(const Context&) = default;
    Context& operator=(const Context&) = default;
    ~Context() = default;

  private:
    friend class detail::Memory;
    explicit Context(std::shared_ptr<ContextState> state) : state_(std::move(state)) {}
    std::shared_ptr<ContextState> state_;
};

/// A CUDA device.
struct DeviceDescription {
    std::string name;
    Offset memory_bytes = 0;
    int compute_capability = 0;  ///< 90 means 9.0.
    int multiprocessors = 0;
};

/// The CUDA devices of this machine. Empty if none can be used; `reason`, if given, receives why.
TESSERA_API std::vector<DeviceDescription> cuda_devices(std::string* reason = nullptr);

/// An owned array in the memory of a Context (host memory on the CPU, device memory on a GPU).
/// Move-only; freed in stream order. Contents are undefined until written; with TESSERA_POISON=1 in
/// the environment all bits are 1 (NaN, -1), so that uses of undefined values show.
template <class T>
class Buffer {
  public:
    Buffer() = default;
    Buffer(const Context& context, Offset size) : memory_(context, size, Offset(sizeof(T))) {}

    T* data() { return static_cast<T*>(memory_.data()); }
    const T* data() const { return static_cast<const T*>(memory_.data()); }
    Offset size() const { return memory_.bytes() / Offset(sizeof(T)); }
    bool empty() const { return size() == 0; }
    /// Shortens to the first `size` elements; the memory of the rest is freed with the Buffer.
    void truncate(Offset size) { memory_.truncate(size, Offset(sizeof(T))); }
    std::span<T> view() { return {data(), static_cast<std::size_t>(size())}; }
    std::span<const T> view() const { return {data(), static_cast<std::size_t>(size())}; }
    operator std::span<T>() { return view(); }              // NOLINT: implicit
    operator std::span<const T>() const { return view(); }  // NOLINT: implicit

  private:
    detail::Memory memory_;
};

/// A read-only vector as parameter: T is deduced from another argument, so that a Buffer, a
/// std::vector and views of them, const or not, are accepted.
template <class T>
using Input = std::span<const std::type_identity_t<T>>;

/// `count` vectors of `size` elements as the columns of a column-major array: vector j begins at
/// data + j * leading, leading >= size.
template <class T>
struct Vectors {
    T* data = nullptr;
    Offset size = 0;
    int count = 0;
    Offset leading = 0;

    Vectors() = default;
    Vectors(T* first, Offset elements, int vectors, Offset leading_dimension)
        : data(first), size(elements), count(vectors), leading(leading_dimension) {}
    std::span<T> operator[](int j) const { return {data + j * leading, std::size_t(size)}; }
    /// `number` of them from vector `first` on.
    Vectors part(int first, int number) const {
        return {data + first * leading, size, number, leading};
    }
    /// To Vectors<const T>.
    template <class U>
    requires(!std::is_const_v<T> && std::is_same_v<U, const T>) operator Vectors<U>()
        const {  // NOLINT(google-explicit-constructor)
        return {data, size, count, leading};
    }
};

/// One vector as Vectors.
template <class T>
Vectors<T> one_vector(std::span<T> vector) {
    return {vector.data(), Offset(vector.size()), 1, Offset(vector.size())};
}

namespace detail {
/// Throws InvalidArgument unless all have the same number of vectors, which begin far enough apart.
template <class T>
void check_same_count(std::initializer_list<Vectors<const T>> all) {
    for (const Vectors<const T>& each : all) {
        if (each.count != all.begin()->count || (each.count > 1 && each.leading < each.size)) {
            throw InvalidArgument(
                "the numbers of vectors differ, or a leading dimension is below their size");
        }
    }
}

template <class T>
void copy(const Context& context, Input<T> from, std::span<T> to, bool wait) {
    if (from.size() != to.size()) throw InvalidArgument("copy: sizes differ");
    copy_bytes(context, from.data(), to.data(), Offset(from.size_bytes()), wait);
}
}  // namespace detail

/// Copies within the memory of `context`; sizes must agree; no overlap.
template <class T>
void copy(const Context& context, Input<T> from, std::span<T> to) {
    detail::copy(context, from, to, false);
}
TESSERA_ACCEPT_OWNERS(copy)

/// Copies from the memory of `context` to the host. Blocks until the work is complete.
template <class T>
void copy_to_host(const Context& context, Input<T> from, std::span<T> to) {
    detail::copy(context, from, to, true);
}

/// Copies from the host to the memory of `context`. Blocks until the work is complete.
template <class T>
void copy_from_host(const Context& context, Input<T> from, std::span<T> to) {
    detail::copy(context, from, to, true);
}
TESSERA_ACCEPT_OWNERS(copy_from_host)

/// A copy of a Buffer in host memory. Blocks until the work is complete.
template <class T>
std::vector<T> copy_to_host(const Context& context, const Buffer<T>& buffer) {
    std::vector<T> host(static_cast<std::size_t>(buffer.size()));
    copy_to_host(context, buffer.view(), std::span<T>(host));
    return host;
}

/// A new Buffer with the contents of a std::vector or std::span in host memory. Blocks until the
/// work is complete.
template <class Range, class T = std::remove_const_t<typename Range::value_type>>
Buffer<T> copy_to_buffer(const Context& context, const Range& host) {
    Buffer<T> buffer(context, Offset(host.size()));
    copy_from_host<T>(context, host, buffer.view());
    return buffer;
}
template <class T>
Buffer<T> copy_to_buffer(const Context& context, std::initializer_list<T> host) {
    return copy_to_buffer(context, std::span(host.begin(), host.size()));
}

}  // namespace tessera
