#pragma once

#include "tessera/context.hpp"

namespace tessera {

/// Times the work that is given to a Context while this object lives (CPU clock, or GPU events),
/// where Context::time_phases is on, under `name`, and marks it as an NVTX range. Of nested phases
/// the outermost counts; work inside a graph capture is not timed.
class Phase {
  public:
    Phase(const Context& context, const char* name, double bytes,
          PhaseStep step = PhaseStep::solve);
    ~Phase();
    Phase(const Phase&) = delete;
    Phase& operator=(const Phase&) = delete;

  private:
    ContextState& state_;
    bool outermost_;
};

/// Seconds on a steady clock.
double now();

}  // namespace tessera
