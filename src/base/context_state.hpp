#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "tessera/context.hpp"

namespace tessera {

/// Device memory and the like that a primitive keeps between calls, by size.
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
    bool poison = false;
    std::string description;

    bool capturing = false;
    bool replayed = false;  ///< A graph was launched: GPU phases are samples from here on.
    MemoryUse memory;
    double copy_rate = 0;
    Scratch reduction;  ///< Partial sums of dots.

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

/// The partial sums that reductions of this Context use, at least `bytes`. Grows outside captures
/// only; reused by every reduction in stream order.
void* reduction_scratch(const Context& context, Offset bytes);

}  // namespace tessera
