#pragma once

#include <cstdint>

namespace tessera::detail {

/// Sets the floating-point environment of the calling thread that all results are defined in, for
/// as long as the object lives: rounding to nearest, denormal numbers kept, no traps. The
/// environment of before, with its exception flags, returns at the end. Public functions begin with
/// one, because the program around may flush denormal numbers, trap exceptions or round otherwise.
/// On x86-64 only the control of SSE and AVX changes: the library does not use the x87 unit.
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
        asm volatile("mrs %0, fpcr" : "=r"(control_));
        asm volatile("mrs %0, fpsr" : "=r"(status_));
        if (control_ != 0) asm volatile("msr fpcr, %0" : : "r"(std::uint64_t(0)) : "memory");
    }
    ~DefaultFloatingPoint() {
        asm volatile("msr fpsr, %0" : : "r"(status_) : "memory");
        if (control_ != 0) asm volatile("msr fpcr, %0" : : "r"(control_) : "memory");
    }

  private:
    std::uint64_t control_;  ///< FPCR of AArch64: 0 is the default environment.
    std::uint64_t status_;   ///< FPSR: the exceptions so far.
#endif
};

}  // namespace tessera::detail
