#pragma once

#include <memory>
#include <utility>

#include "tessera/types.hpp"

namespace tessera {
class Context;
struct ContextState;
}  // namespace tessera

namespace tessera::detail {

/// A number, or a view, that is zero, or empty, after a move.
template <class T, T zero = T{}>
class ZeroAfterMove {
  public:
    ZeroAfterMove(T value = zero) : value_(value) {}  // NOLINT: implicit
    ZeroAfterMove(ZeroAfterMove&& other) noexcept : value_(std::exchange(other.value_, zero)) {}
    ZeroAfterMove& operator=(ZeroAfterMove&& other) noexcept {
        value_ = std::exchange(other.value_, zero);
        return *this;
    }
    operator T() const { return value_; }  // NOLINT: implicit

  private:
    T value_;
};

/// Owned bytes in the memory of a Context; move-only, freed in stream order.
class TESSERA_API Memory {
  public:
    Memory() = default;
    /// Throws InvalidArgument for a negative count, OutOfMemory also where the bytes overflow.
    Memory(const Context& context, Offset count, Offset bytes_each);
    Memory(Memory&& other) noexcept { swap(other); }
    Memory& operator=(Memory&& other) noexcept {
        Memory moved(std::move(other));
        swap(moved);
        return *this;
    }
    ~Memory();

    void* data() const { return data_; }
    Offset bytes() const { return bytes_; }
    /// Shortens to the first `count`; the rest is freed together with these.
    void truncate(Offset count, Offset bytes_each);

  private:
    void swap(Memory& other) noexcept {
        std::swap(state_, other.state_);
        std::swap(data_, other.data_);
        std::swap(bytes_, other.bytes_);
        std::swap(allocated_, other.allocated_);
    }
    std::shared_ptr<ContextState> state_;
    void* data_ = nullptr;
    Offset bytes_ = 0;
    Offset allocated_ = 0;
};

/// Copies to or from the memory of `context`, or within it. `wait`: returns when the copy, and all
/// work before it, is done.
TESSERA_API void copy_bytes(const Context& context, const void* from, void* to, Offset bytes,
                            bool wait);

}  // namespace tessera::detail
