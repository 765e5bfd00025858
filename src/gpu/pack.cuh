#pragma once

/// Adjacent values loaded or stored by one instruction of up to 16 bytes.
namespace tessera::cuda {

/// `count` values, a power of two, aligned to their size or to 16 bytes.
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
