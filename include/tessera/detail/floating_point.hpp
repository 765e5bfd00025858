#pragma once

#include <cfenv>

namespace tessera::detail {

/// Sets the floating-point environment of the calling thread that all results are defined in, for
/// as long as the object lives: rounding to nearest, denormal numbers kept, no traps. The
/// environment of before, with its exception flags, returns at the end. Public functions begin with
/// one, because the program around may flush denormal numbers, trap exceptions or round otherwise.
/// On x86 only the control of SSE and AVX changes: the library does not use the x87 unit.
class DefaultFloatingPoint {
  public:
    DefaultFloatingPoint(const DefaultFloatingPoint&) = delete;
    DefaultFloatingPoint& operator=(const DefaultFloatingPoint&) = delete;
#if defined(__x86_64__)
    DefaultFloatingPoint() : before_(__builtin_ia32_stmxcsr()) {
        if ((before_ & ~flags) != masked) __builtin_ia32_ldmxcsr(masked);
    }
    ~DefaultFloatingPoint() { __builtin_ia32_ldmxcsr(before_); }

  private:
    static constexpr unsigned flags = 0x3f;     ///< The exceptions so far.
    static constexpr unsigned masked = 0x1f80;  ///< No exception traps; all else is 0.
    unsigned before_;
#else
    DefaultFloatingPoint() {
        std::fegetenv(&before_);
        std::fesetenv(FE_DFL_ENV);
    }
    ~DefaultFloatingPoint() { std::fesetenv(&before_); }

  private:
    std::fenv_t before_;
#endif
};

}  // namespace tessera::detail
