#pragma once

#include <type_traits>

#include "base/dispatch.hpp"
#include "base/small_floats.hpp"
#include "tessera/formats.hpp"

/// Storage types of the values of sparse matrices: double, float, FP16 and BF16.
namespace tessera {

struct f16 {
    std::uint16_t bits;
};
struct bf16 {
    std::uint16_t bits;
};

/// Rounds to nearest once, also from double to 16 bits.
template <class Stored, class T>
TESSERA_HOST_DEVICE inline Stored narrow_to(T value) {
    if constexpr (std::is_floating_point_v<Stored>) {
        return Stored(value);
    } else {
        float single = 0;
        if constexpr (sizeof(T) == 8) {
            single = round_to_odd(value);
        } else {
            single = value;
        }
        if constexpr (std::is_same_v<Stored, f16>) return {float_to_f16(single)};
        if constexpr (std::is_same_v<Stored, bf16>) return {float_to_bf16(single)};
    }
}

/// Exact conversion.
template <class T, class Stored>
TESSERA_HOST_DEVICE inline T widen_to(Stored value) {
    if constexpr (std::is_same_v<Stored, f16>) {
        return T(f16_to_float(value.bits));
    } else if constexpr (std::is_same_v<Stored, bf16>) {
        return T(bf16_to_float(value.bits));
    } else {
        return T(value);
    }
}

template <class T>
struct TypeTag {
    using type = T;
};

/// f(TypeTag<Stored>()) for the type of `format` under vectors of T.
template <class T, class F>
auto with_stored(ValueFormat format, F&& f) {
    if (format == ValueFormat::f16) return f(TypeTag<f16>());
    if (format == ValueFormat::bf16) return f(TypeTag<bf16>());
    if (sizeof(T) == 8 && format == ValueFormat::f32) return f(TypeTag<float>());
    return f(TypeTag<T>());
}

/// The block columns of a pattern that stores them as Column: Index, or std::uint16_t relative to
/// the first block column of the slice.
template <class Column>
TESSERA_HOST_DEVICE inline const Column* stored_columns(const SlicedPattern& pattern) {
    if constexpr (sizeof(Column) == 2) {
        return pattern.column_offsets;
    } else {
        return pattern.block_columns;
    }
}

inline constexpr Index block_sizes[] = {1, 2, 3, 4, 6};

/// f(std::integral_constant<int, B>()) for a supported block size B.
template <class F>
auto with_block(Index block, F&& f) {
    if (block == 2) return f(std::integral_constant<int, 2>());
    if (block == 3) return f(std::integral_constant<int, 3>());
    if (block == 4) return f(std::integral_constant<int, 4>());
    if (block == 6) return f(std::integral_constant<int, 6>());
    return f(std::integral_constant<int, 1>());
}

}  // namespace tessera
