#include "precond/block_jacobi/storage/block_formats.hpp"

#include "support/test.hpp"

namespace tessera::test {
namespace {

constexpr BlockPrecision all_formats[] = {BlockPrecision::f64, BlockPrecision::f32,
                                          BlockPrecision::bf16, BlockPrecision::f16};

/// Fraction bits and the exponent of the smallest normal number.
struct Layout {
    int fraction, least;
};
Layout layout(BlockPrecision format) {
    switch (format) {
        case BlockPrecision::f64:
            return {52, -1022};
        case BlockPrecision::f32:
            return {23, -126};
        case BlockPrecision::bf16:
            return {7, -126};
        default:
            return {10, -14};
    }
}

/// The value of 16 bits, from their definition.
long double decoded(BlockPrecision format, unsigned bits) {
    const auto [fraction, least] = layout(format);
    const int exponent = int(bits & 0x7fff) >> fraction;
    const int special = 0x7fff >> fraction;
    const unsigned rest = bits & ((1u << fraction) - 1);
    long double value = exponent == 0 ? std::ldexp((long double)rest, least - fraction)
                                      : std::ldexp((long double)(rest + (1u << fraction)),
                                                   least - fraction + exponent - 1);
    if (exponent == special) {
        value = rest == 0 ? std::numeric_limits<long double>::infinity()
                          : std::numeric_limits<long double>::quiet_NaN();
    }
    return std::copysign(value, (bits & 0x8000) != 0 ? -1.0L : 1.0L);
}

/// The number of the format nearest to `value`; of two equally near ones the even one.
long double rounded(BlockPrecision format, long double value) {
    if (!std::isfinite(value) || value == 0) return value;
    const auto [fraction, least] = layout(format);
    const int step = std::max(std::ilogb(value), least) - fraction;
    const long double nearest = std::ldexp(std::rint(std::ldexp(value, -step)), step);
    return std::abs(nearest) <= (long double)largest_finite(format)
               ? nearest
               : std::copysign(std::numeric_limits<long double>::infinity(), value);
}

template <class T>
T through(BlockPrecision format, T value) {
    alignas(8) std::byte bytes[16];
    std::memset(bytes, 0xa5, sizeof(bytes));
    store(format, value, bytes);
    for (int k = bytes_of(format); k < 16; ++k) EXPECT_EQ(bytes[k], std::byte(0xa5));
    return load<T>(format, bytes);
}

/// Equal as numbers, zeros of equal sign, or both NaN.
void expect_same(long double got, long double expected, long double given, BlockPrecision format) {
    if (std::isnan(expected)) {
        EXPECT_TRUE(std::isnan(got)) << to_string(format);
        return;
    }
    EXPECT_EQ(got, expected) << to_string(format) << " of " << given;
    EXPECT_EQ(std::signbit(got), std::signbit(expected)) << to_string(format) << " of " << given;
}

template <class T>
void expect_rounded(BlockPrecision format, T value) {
    expect_same(through(format, value), rounded(format, value), value, format);
}

template <class T>
void check_all_16_bits(BlockPrecision format) {
    for (unsigned bits = 0; bits < 0x10000; ++bits) {
        const auto word = std::uint16_t(bits);
        alignas(8) std::byte bytes[8] = {};
        std::memcpy(bytes, &word, 2);
        const T value = load<T>(format, bytes);
        expect_same(value, decoded(format, bits), bits, format);
        store(format, value, bytes);
        std::uint16_t back;
        std::memcpy(&back, bytes, 2);
        if (!std::isnan(value)) {
            EXPECT_EQ(back, word) << to_string(format);
        }
    }
}

TEST(block_formats, all_16_bit_values_are_read_and_written_exactly) {
    for (const BlockPrecision format : {BlockPrecision::bf16, BlockPrecision::f16}) {
        check_all_16_bits<float>(format);
        check_all_16_bits<double>(format);
    }
}

/// Between all pairs of neighbours: the middle is rounded to the even one, all else to the nearest.
/// The middle after the largest finite number is the first to overflow.
template <class T>
void check_midpoints(BlockPrecision format) {
    const unsigned infinity = format == BlockPrecision::f16 ? 0x7c00 : 0x7f80;
    for (unsigned bits = 0; bits < infinity; ++bits) {
        const long double low = decoded(format, bits);
        const long double step = low - (bits > 0 ? decoded(format, bits - 1) : -low);
        const long double high = bits + 1 < infinity ? decoded(format, bits + 1) : low + step;
        const T middle = T((low + high) / 2);
        ASSERT_EQ((long double)middle, (low + high) / 2);
        const long double above =
            bits + 1 < infinity ? high : std::numeric_limits<long double>::infinity();
        for (const T sign : {T(1), T(-1)}) {
            expect_same(through(format, T(sign * middle)), sign * (bits % 2 == 0 ? low : above),
                        middle, format);
            expect_same(through(format, T(sign * std::nextafter(middle, T(0)))), sign * low, middle,
                        format);
            expect_same(through(format, T(sign * std::nextafter(middle, T(high)))), sign * above,
                        middle, format);
        }
    }
}

TEST(block_formats, rounds_to_nearest_even_around_every_midpoint_of_16_bit_formats) {
    for (const BlockPrecision format : {BlockPrecision::bf16, BlockPrecision::f16}) {
        check_midpoints<float>(format);
        check_midpoints<double>(format);
    }
}

template <class T>
void check_random(BlockPrecision format, std::mt19937_64& random) {
    for (int k = 0; k < 20000; ++k) {
        // All bit patterns; then with few bits, where midpoints are; then near the format's limits.
        std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t> bits;
        const std::uint64_t drawn = random();
        std::memcpy(&bits, &drawn, sizeof(bits));
        if (k % 3 == 1) bits = bits >> (8 * sizeof(T) / 2) << (8 * sizeof(T) / 2 - 4);
        T value;
        std::memcpy(&value, &bits, sizeof(T));
        if (k % 3 == 2) {
            const double limit =
                (drawn & 64) != 0 ? largest_finite(format) : smallest_normal(format);
            value = T(limit * (1 + double(int(drawn % 64) - 32) * 0.25 * unit_roundoff(format)));
        }
        expect_rounded(format, value);
    }
}

TEST(block_formats, rounds_as_long_double_does) {
    std::mt19937_64 random = generator();
    for (const BlockPrecision format : all_formats) {
        check_random<double>(format, random);
        if (is_format_of<float>(format)) check_random<float>(format, random);
    }
}

TEST(block_formats, extremes) {
    for (const BlockPrecision format : all_formats) {
        const double infinity = std::numeric_limits<double>::infinity();
        for (const double value :
             {0.0, -0.0, infinity, -infinity, std::numeric_limits<double>::quiet_NaN(),
              std::numeric_limits<double>::max(), std::numeric_limits<double>::denorm_min(),
              -std::numeric_limits<double>::min(), 65519.0, 65520.0, 0x1p-25, 0x1.0000000001p-25}) {
            expect_rounded(format, value);
            if (is_format_of<float>(format)) expect_rounded(format, float(value));
        }
        EXPECT_EQ(through(format, largest_finite(format)), largest_finite(format));
        EXPECT_EQ(through(format, smallest_normal(format)), smallest_normal(format));
        // One unit roundoff above 1 is a midpoint, and the first one.
        const double u = unit_roundoff(format);
        EXPECT_EQ(through(format, 1 + 2 * u), 1 + 2 * u);
        EXPECT_EQ(through(format, 1 + u), 1.0);
        EXPECT_NE(through(format, largest_finite(format) * (1 - 2 * u)), largest_finite(format));
    }
}

}  // namespace
}  // namespace tessera::test
