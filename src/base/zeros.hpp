#pragma once

#include "base/context_state.hpp"

namespace tessera {

/// A new Buffer of numbers that are 0, such as those that bodies of for_each_index raise. No wait.
template <class T>
Buffer<T> zeros(const Context& context, Offset count) {
    Buffer<T> buffer(context, count);
    if (count > 0) context.state().fill_bytes(buffer.data(), 0, count * Offset(sizeof(T)));
    return buffer;
}

/// The number at an address in the memory of the Context. Waits.
template <class T>
T read_value(const Context& context, const T* from) {
    T value{};
    copy_to_host(context, std::span<const T>(from, 1), std::span<T>(&value, 1));
    return value;
}

}  // namespace tessera
