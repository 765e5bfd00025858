#pragma once

/// Adjacent values that one instruction of up to 16 bytes reads or writes.
namespace tessera::cuda {

/// `count`, a power of two, values whose address is a multiple of their bytes, or of 16.
template <class T, int count>
struct alignas(count * sizeof(T) < 16 ? count * sizeof(T) : 16) Pack {
    T value[count];
};

/// Values in 16 bytes.
template <class T>
inline constexpr int pack_width = 16 / int(sizeof(T));
template <class T>
using Pack16 = Pack<T, pack_width<T>>;

}  // namespace tessera::cuda
