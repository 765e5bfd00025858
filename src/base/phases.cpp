#include "base/phases.hpp"

#include <cstring>

#include "base/context_state.hpp"
#include "base/runtime_cuda.hpp"

namespace tessera {

using cuda::with_cuda;

ContextState::PhaseSum& ContextState::phase(const char* name) {
    for (PhaseSum& sum : phases) {
        if (sum.name == name || std::strcmp(sum.name, name) == 0) return sum;
    }
    phases.push_back({name});
    return phases.back();
}

void ContextState::resolve_pending() {
    if constexpr (with_cuda) {
        std::vector<PendingPhase> waiting;
        waiting.swap(pending);
        for (const PendingPhase& event : waiting) {
            free_events.push_back(event.begin);
            free_events.push_back(event.end);
        }
        for (const PendingPhase& event : waiting) {
            const double seconds = cuda::seconds_between(event.begin, event.end);
            PhaseSum& sum = phase(event.name);
            sum.calls += 1;
            sum.bytes += event.bytes;
            sum.seconds += seconds;
        }
    }
}

std::vector<PhaseRecord> Context::phases() const {
    ContextState& state = *state_;
    state.resolve_pending();
    std::vector<PhaseRecord> records;
    for (const auto& sum : state.phases) {
        records.push_back({sum.name, sum.calls, sum.seconds, sum.bytes, state.replayed});
    }
    return records;
}

void Context::time_phases(bool timed) const { state_->timed = timed; }

void Context::reset_phases() const {
    state_->resolve_pending();
    state_->phases.clear();
    state_->replayed = false;
}

Phase::Phase(const Context& context, const char* name, double bytes)
    : state_(context.state()), name_(name), bytes_(bytes) {
    outermost_ = state_.phase_depth++ == 0;
    if (!outermost_ || state_.capturing) return;
    if (state_.backend == Backend::cpu) {
        if (state_.timed) start_ = now();
        return;
    }
    if constexpr (with_cuda) {
        cuda::range_push(name);
        in_range_ = true;
        if (!state_.timed) return;
        if (state_.pending.size() >= 4096) state_.resolve_pending();
        const auto event = [&] {
            if (state_.free_events.empty()) return cuda::create_event(state_.device);
            void* reused = state_.free_events.back();
            state_.free_events.pop_back();
            return reused;
        };
        void* begin = event();
        event_ = int(state_.pending.size());
        state_.pending.push_back({name, bytes, begin, event()});
        cuda::record_event(begin, state_.stream);
    }
}

Phase::~Phase() {
    --state_.phase_depth;
    if (state_.backend == Backend::cpu) {
        if (start_ == 0) return;
        ContextState::PhaseSum& sum = state_.phase(name_);
        sum.calls += 1;
        sum.seconds += now() - start_;
        sum.bytes += bytes_;
        return;
    }
    if constexpr (with_cuda) {
        if (in_range_) cuda::range_pop();
        if (event_ < 0) return;
        try {
            cuda::record_event(state_.pending[std::size_t(event_)].end, state_.stream);
        } catch (const Error&) {
            // A failing device shows at the next synchronisation, with its reason.
        }
    }
}

}  // namespace tessera
