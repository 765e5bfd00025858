#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "tessera/context.hpp"

namespace tessera {

/// Memory that reductions keep between calls.
struct Scratch {
    void* memory = nullptr;
    Offset bytes = 0;
};

/// What the copies of a Context share.
struct ContextState {
    Backend backend = Backend::cpu;
    int device = 0;
    int threads = 1;
    InstructionSet instruction_set = InstructionSet::sse4;
    void* stream = nullptr;
    void* pool = nullptr;  ///< Of device memory.
    bool poison = false;
    std::string description;

    bool capturing = false;
    bool timed = false;     ///< Phases are.
    bool replayed = false;  ///< A graph was launched: GPU phases are samples from here on.
    MemoryUse memory;
    Offset allocations = 0;  ///< Calls that took memory so far; tests watch it.
    int phase_depth = 0;
    double copy_rate = 0;
    /// Partial sums of reductions: the last is the largest and in use. Smaller ones stay, because
    /// captured graphs may point to them.
    std::vector<Scratch> reductions;
    void* host_scratch = nullptr;

    struct PhaseSum {
        const char* name;
        Offset calls = 0;
        double seconds = 0;
        double bytes = 0;
    };
    std::vector<PhaseSum> phases;
    struct PendingPhase {
        const char* name;
        double bytes;
        void* begin;
        void* end;
    };
    std::vector<PendingPhase> pending;  ///< GPU phases whose events are not read yet.
    std::vector<void*> free_events;

    PhaseSum& phase(const char* name);
    void resolve_pending();  ///< Waits for the pending events.

    ~ContextState();
};

/// Memory for the partial sums of reductions, at least `bytes`, zeroed when it is new. Reused by
/// every reduction in stream order; must not grow inside a capture.
void* reduction_scratch(const Context& context, Offset bytes);

/// Page-locked host memory of a GPU's Context: what kernels write there can be read as soon as the
/// Context has been waited for, without a copy. For results that are read at once; the next user
/// overwrites them.
void* host_scratch(const Context& context);
inline constexpr Offset host_scratch_bytes = 64;

}  // namespace tessera
