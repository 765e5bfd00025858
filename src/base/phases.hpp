#pragma once

#include "tessera/context.hpp"

namespace tessera {

/// Times the work that is given to a Context while it lives (CPU clock, or GPU events), where the
/// Context wants that, under a name (a literal: its address is the key), and marks it as an NVTX
/// range. Work inside a graph capture is not timed. Of nested phases the outermost counts.
class Phase {
  public:
    Phase(const Context& context, const char* name, double bytes);
    ~Phase();
    Phase(const Phase&) = delete;
    Phase& operator=(const Phase&) = delete;

  private:
    ContextState& state_;
    const char* name_;
    double bytes_;
    double start_ = 0;
    bool in_range_ = false;
    int event_ = -1;
    bool outermost_ = false;
};

/// Seconds on a steady clock.
double now();

}  // namespace tessera
