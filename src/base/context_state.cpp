#include "base/context_state.hpp"

#include <sys/mman.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/dispatch.hpp"
#include "base/host_memory/host_memory.hpp"
#include "base/parallel.hpp"
#include "base/phases.hpp"

namespace tessera {

namespace {

/// The largest number of threads of a Context.
constexpr int max_threads = 1024;

constexpr std::size_t huge_page = std::size_t(1) << 21;

InstructionSet choose_instruction_set() {
    const auto sets = instruction_sets();
    require(!sets.empty(), "this CPU lacks SSE4.2 and POPCNT (x86-64-v2), which Tessera needs");
    const char* requested = std::getenv("TESSERA_ISA");
    if (requested == nullptr || *requested == '\0') return sets.back();
    std::string message = std::string("TESSERA_ISA=") + requested + ": this CPU has";
    for (const InstructionSet set : sets) {
        if (std::strcmp(requested, to_string(set)) == 0) return set;
        message += std::string(" ") + to_string(set);
    }
    throw InvalidArgument(message);
}

}  // namespace

ContextState::ContextState(int threads_requested) {
    require(threads_requested >= 0 && threads_requested <= max_threads,
            "threads must be within 0 (all) and 1024");
    threads = threads_requested > 0 ? threads_requested : std::min(default_threads(), max_threads);
    instruction_set = choose_instruction_set();
    const char* wanted = std::getenv("TESSERA_POISON");
    poison = wanted != nullptr && std::strcmp(wanted, "1") == 0;
}

ContextState::~ContextState() { release_scratch(); }

/// Large arrays are in huge pages where the system has them, against misses of the TLB
/// (docs/decisions/sliced-formats.md), and each page is first touched by the thread that will
/// mostly use it.
void* ContextState::allocate(Offset bytes) {
    require_host_memory("an array", double(bytes));
    const bool large = std::size_t(bytes) >= 4 * huge_page;
    const std::size_t alignment = large ? huge_page : 64;
    std::unique_ptr<void, decltype(&std::free)> memory(
        std::aligned_alloc(alignment, (std::size_t(bytes) + alignment - 1) / alignment * alignment),
        &std::free);
    if (memory == nullptr) {
        throw OutOfMemory("out of memory: " + std::to_string(bytes >> 20) + " MiB requested");
    }
    if (large) madvise(memory.get(), std::size_t(bytes), MADV_HUGEPAGE);  // A hint only.
    if (!touch_arrays && !poison) return memory.release();
    char* const begin = static_cast<char*>(memory.get());
    const auto touch = [&](Offset first, Offset last) {
        if (poison) {
            std::memset(begin + first, 0xff, std::size_t(last - first));
        } else {
            for (Offset offset = first; offset < last; offset += 4096) begin[offset] = 0;
        }
    };
    // Touching 2 GB may take seconds.
    constexpr Offset piece = Offset(1) << 24;
    parallel_ranges(
        threads, bytes, [&](Offset first, Offset last) { in_pieces(first, last, piece, touch); },
        Offset(1) << 22);
    return memory.release();
}

void ContextState::release(void* memory, Offset) noexcept { std::free(memory); }

void ContextState::fill_bytes(void* memory, int byte, Offset bytes) {
    std::memset(memory, byte, std::size_t(bytes));
}

void ContextState::copy_bytes_and_wait(const void* from, void* to, Offset bytes) {
    if (bytes > 0) copy_bytes(from, to, bytes);
    synchronize();
}

void ContextState::copy_bytes(const void* from, void* to, Offset bytes) {
    parallel_ranges(
        threads, bytes,
        [&](Offset first, Offset last) {
            std::memcpy(static_cast<char*>(to) + first, static_cast<const char*>(from) + first,
                        std::size_t(last - first));
        },
        Offset(1) << 18);
}

Offset ContextState::free_memory() { return free_host_memory(); }

bool ContextState::reaches([[maybe_unused]] const void* memory) const {
#if TESSERA_WITH_CUDA
    return !cuda::is_device_memory(memory);
#else
    return true;
#endif
}

void ContextState::require_no_capture(const char* action) const {
    require(!recording(), action,
            " inside a capture of the stream: make what it needs, and run the work once, before");
}

void ContextState::release_scratch() noexcept {
    scratch_of_caller.clear();
    scratch.reset();
    for (const auto& [memory, bytes] : reductions) release(memory, bytes);
    reductions.clear();
}

void* reduction_scratch(const Context& context, Offset bytes) {
    ContextState& state = context.state();
    if (state.reductions.empty() || state.reductions.back().second < bytes) {
        state.require_no_capture("work space cannot be allocated");
        bytes = std::max<Offset>(2 * bytes, 65536);
        state.reductions.emplace_back(state.allocate(bytes), bytes);
        state.fill_bytes(state.reductions.back().first, 0, bytes);
        ++state.allocations;
    }
    return state.reductions.back().first;
}

void ContextState::add_phase(const char* name, PhaseStep step, double seconds, double bytes) {
    auto sum = std::ranges::find(phases, name, &PhaseRecord::name);
    if (sum == phases.end()) sum = phases.insert(sum, PhaseRecord{.name = name, .step = step});
    sum->calls += 1;
    sum->seconds += seconds;
    sum->bytes += bytes;
}

void ContextState::begin_phase(const char* name, PhaseStep step, double bytes) {
    open_step_ = step;
    open_name_ = timed ? name : nullptr;
    open_bytes_ = bytes;
    open_start_ = timed ? now() : 0;
}

void ContextState::end_phase() noexcept {
    if (open_name_ != nullptr) add_phase(open_name_, open_step_, now() - open_start_, open_bytes_);
}

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

Phase::Phase(const Context& context, const char* name, double bytes, PhaseStep step)
    : state_(context.state()) {
    outermost_ = state_.phase_depth == 0 && !(state_.timed && state_.recording());
    if (outermost_) state_.begin_phase(name, step, bytes);
    ++state_.phase_depth;
}

Phase::~Phase() {
    --state_.phase_depth;
    if (outermost_) state_.end_phase();
}

namespace detail {

Memory::Memory(const Context& context, Offset count, Offset bytes_each) : state_(context.state_) {
    check_time();  // All long operations on a GPU allocate now and then.
    require(count >= 0, "Buffer: negative size");
    if (__builtin_mul_overflow(count, bytes_each, &bytes_)) {
        throw OutOfMemory("out of memory: " + std::to_string(count) + " elements of " +
                          std::to_string(bytes_each) + " bytes requested");
    }
    allocated_ = bytes_;
    if (bytes_ > 0) data_ = state_->allocate(bytes_);
    ++state_->allocations;
    state_->memory_bytes += bytes_;
    state_->peak_memory_bytes = std::max(state_->peak_memory_bytes, state_->memory_bytes);
}

Memory::~Memory() {
    if (!state_) return;
    state_->memory_bytes -= allocated_;
    if (data_ != nullptr) state_->release(data_, allocated_);
}

void Memory::truncate(Offset count, Offset bytes_each) {
    require(count >= 0 && count <= bytes_ / bytes_each, "Buffer::truncate: the buffer is smaller");
    bytes_ = count * bytes_each;
}

void copy_bytes(const Context& context, const void* from, void* to, Offset bytes, bool wait) {
    require(bytes == 0 || from != nullptr, "copy: the array to copy from is null");
    require(bytes == 0 || to != nullptr, "copy: the array to copy to is null");
    if (wait) context.state().require_no_capture("a copy between host and GPU cannot wait");
    if (wait) return context.state().copy_bytes_and_wait(from, to, bytes);
    if (bytes > 0) context.state().copy_bytes(from, to, bytes);
}

}  // namespace detail

}  // namespace tessera
