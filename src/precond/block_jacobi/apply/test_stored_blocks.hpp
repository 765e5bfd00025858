#pragma once

#include <cstring>
#include <numeric>
#include <optional>

#include "base/dispatch.hpp"
#include "batched/test_batches.hpp"
#include "precond/block_jacobi/storage/block_formats.hpp"
#include "precond/block_jacobi/storage/stored_blocks.hpp"
#include "support/blocks.hpp"

// Blocks in every format, packed by a plain reference, and their products.

namespace tessera::test {

template <class T>
constexpr std::size_t format_count = sizeof(T) == 8 ? 4 : 3;
template <class T>
constexpr BlockPrecision format_of(std::size_t k) {
    constexpr BlockPrecision wide[] = {BlockPrecision::f64, BlockPrecision::f32,
                                       BlockPrecision::bf16, BlockPrecision::f16};
    constexpr BlockPrecision narrow[] = {BlockPrecision::f32, BlockPrecision::bf16,
                                         BlockPrecision::f16};
    return sizeof(T) == 8 ? wide[k] : narrow[k];
}

/// Blocks as stored, in host memory, and their values.
template <class T>
struct Stored {
    std::vector<Index> offsets{0}, groups;
    std::vector<Offset> starts{0}, entry_offsets{0};
    std::vector<BlockPrecision> formats;  ///< Format of each block.
    std::vector<T> values;                ///< Packed.
    std::vector<std::byte> bytes;
    bool mixed = false;
    Index largest = 0;

    Index count() const { return Index(offsets.size()) - 1; }
    Index rows() const { return offsets.back(); }
    Index size(Index b) const { return offsets[std::size_t(b) + 1] - offsets[std::size_t(b)]; }
    int unit() const { return mixed || formats.empty() ? 8 : bytes_of(formats[0]); }
};

/// Stores blocks with the given values, each in its format.
template <class T>
Stored<T> stored(const std::vector<std::vector<T>>& blocks,
                 const std::vector<BlockPrecision>& formats, bool mixed) {
    Stored<T> made;
    made.formats = formats;
    made.mixed = mixed;
    const int unit = made.unit();
    for (std::size_t b = 0; b < blocks.size(); ++b) {
        const Index n = Index(std::lround(std::sqrt(blocks[b].size())));
        made.largest = std::max(made.largest, n);
        made.offsets.push_back(made.rows() + n);
        made.entry_offsets.push_back(made.entry_offsets.back() + n * n);
        made.bytes.resize(std::size_t(made.starts.back() * unit));
        const std::size_t each = std::size_t(bytes_of(formats[b]));
        for (const T value : blocks[b]) {
            made.bytes.resize(made.bytes.size() + each);
            alignas(8) std::byte at[8];
            store(formats[b], value, at);
            std::memcpy(made.bytes.data() + made.bytes.size() - each, at, each);
            made.values.push_back(load<T>(formats[b], at));
        }
        made.starts.push_back((Offset(made.bytes.size()) + unit - 1) / unit);
    }
    // Padding after a block must not be used.
    made.bytes.resize(std::size_t(made.starts.back() * unit) + 16, std::byte(0xff));
    made.groups.push_back(0);
    for (Index b = 0; b < made.count(); ++b) {
        const Index first = made.offsets[std::size_t(made.groups.back())];
        if (made.offsets[std::size_t(b) + 1] - first > max_group_rows(made.largest)) {
            made.groups.push_back(b);
        }
    }
    made.groups.push_back(made.count());
    return made;
}

/// Random blocks of the given sizes, in one format or (none) in random ones.
template <class T>
Stored<T> random_stored(std::mt19937_64& random, const std::vector<Index>& sizes,
                        std::optional<BlockPrecision> format) {
    std::vector<std::vector<T>> blocks;
    std::vector<BlockPrecision> formats;
    for (const Index n : sizes) {
        blocks.push_back(random_block<T>(random, n));
        formats.push_back(format ? *format : format_of<T>(random() % format_count<T>));
    }
    return stored(blocks, formats, !format);
}

inline std::vector<Index> random_sizes(std::mt19937_64& random, int count, Index low, Index high) {
    std::vector<Index> sizes;
    for (int k = 0; k < count; ++k) {
        sizes.push_back(low + Index(random() % std::uint64_t(high - low + 1)));
    }
    return sizes;
}

/// Largest number of units of blocks_per_chunk consecutive blocks.
template <class T>
Offset max_units(const Stored<T>& host_blocks) {
    const Index each = blocks_per_chunk(host_blocks.largest);
    Offset most = 0;
    for (Index b = 0; b < host_blocks.count(); b += each) {
        const Index end = std::min(b + each, host_blocks.count());
        most = std::max(most,
                        host_blocks.starts[std::size_t(end)] - host_blocks.starts[std::size_t(b)]);
    }
    return most;
}

/// Stored blocks in the memory of a Context.
template <class T>
class DeviceStoredBlocks {
  public:
    DeviceStoredBlocks(const Context& context, const Stored<T>& host_blocks, bool one_size = false)
        : offsets_(copy_to_buffer(context, std::span<const Index>(host_blocks.offsets))),
          groups_(copy_to_buffer(context, std::span<const Index>(host_blocks.groups))),
          starts_(copy_to_buffer(context, std::span<const Offset>(host_blocks.starts))),
          formats_(copy_to_buffer(context, std::span<const BlockPrecision>(host_blocks.formats))),
          bytes_(copy_to_buffer(context, std::span<const std::byte>(host_blocks.bytes))) {
        blocks.rows = host_blocks.rows();
        blocks.count = host_blocks.count();
        blocks.largest = host_blocks.largest;
        blocks.one_size = one_size;
        blocks.block_offsets = offsets_.data();
        blocks.starts = starts_.data();
        blocks.unit = host_blocks.unit();
        blocks.format = host_blocks.formats.empty() ? BlockPrecision::f32 : host_blocks.formats[0];
        blocks.formats = host_blocks.mixed ? formats_.data() : nullptr;
        blocks.bytes = bytes_.data();
        blocks.group_count = Index(host_blocks.groups.size()) - 1;
        blocks.groups = groups_.data();
        if (one_size && host_blocks.mixed) blocks.max_chunk_units = max_units(host_blocks);
    }
    StoredBlocks blocks;

  private:
    Buffer<Index> offsets_, groups_;
    Buffer<Offset> starts_;
    Buffer<BlockPrecision> formats_;
    Buffer<std::byte> bytes_;
};

constexpr Offset gap = 3;  ///< Elements after each column.

/// z for the columns of r, both rows + gap apart and `before` elements after the start of memory;
/// elements around the columns of z must not change.
template <class T>
std::vector<T> applied(const Context& context, const StoredBlocks& blocks, bool transposed,
                       Index vectors, const std::vector<T>& r, Offset before = 1) {
    const Offset leading = blocks.rows + gap;
    std::vector<T> z(std::size_t(before + vectors * leading), T(-77));
    std::vector<T> shifted(std::size_t(before), T(0));
    shifted.insert(shifted.end(), r.begin(), r.end());
    Buffer<T> device_r = copy_to_buffer(context, std::span<const T>(shifted));
    Buffer<T> device_z = copy_to_buffer(context, std::span<const T>(z));
    select(context, &cpu::apply<T>, TESSERA_IF_CUDA(cuda::apply<T>))(
        context, blocks, transposed, {device_r.data() + before, blocks.rows, vectors, leading},
        {device_z.data() + before, blocks.rows, vectors, leading});
    z = copy_to_host(context, device_z);
    if (before > 0) {
        EXPECT_EQ(z[std::size_t(before - 1)], T(-77));
    }
    z.erase(z.begin(), z.begin() + before);
    for (Index v = 0; v < vectors; ++v) {
        for (Offset k = blocks.rows; k < leading; ++k) {
            EXPECT_EQ(z[std::size_t(v * leading + k)], T(-77));
        }
    }
    return z;
}

template <class T>
std::vector<T> random_columns(std::mt19937_64& random, Index rows, Index vectors) {
    return random_vector<T>(random, std::size_t(vectors * (rows + gap)));
}

/// Each element within gamma_n sum |x_ij| |r_j| of the sum in long double.
template <class T>
void expect_product(const Stored<T>& host_blocks, bool transposed, Index vectors,
                    const std::vector<T>& r, const std::vector<T>& z) {
    const Index leading = host_blocks.rows() + Index(gap);
    int wrong = 0;
    for (Index b = 0; b < host_blocks.count(); ++b) {
        const Index n = host_blocks.size(b);
        const T* x = host_blocks.values.data() + host_blocks.entry_offsets[std::size_t(b)];
        for (Index v = 0; v < vectors; ++v) {
            const std::size_t at = std::size_t(v * leading + host_blocks.offsets[std::size_t(b)]);
            for (Index i = 0; i < n; ++i) {
                long double sum = 0, size = 0;
                for (Index j = 0; j < n; ++j) {
                    const T entry = transposed ? x[j + i * n] : x[i + j * n];
                    const long double term = (long double)entry * r[at + std::size_t(j)];
                    sum += term;
                    size += std::abs(term);
                }
                const double error = double(std::abs(sum - z[at + std::size_t(i)]));
                wrong += !(error <= gamma<T>(n) * double(size));
            }
        }
    }
    EXPECT_EQ(wrong, 0) << "of " << host_blocks.rows() * vectors << " elements";
}

inline bool all_but_the_last_equal(const std::vector<Index>& sizes) {
    for (std::size_t b = 0; b + 1 < sizes.size(); ++b) {
        if (sizes[b] != sizes[0]) return false;
    }
    return sizes.empty() || sizes.back() <= sizes[0];
}

/// Products of all kinds; where all blocks have one size, also with the one_size flag set.
template <class T>
void check_products(const std::vector<Index>& sizes, std::optional<BlockPrecision> format,
                    const std::vector<Index>& vector_counts) {
    std::mt19937_64 random = generator();
    const Stored<T> host_blocks = random_stored<T>(random, sizes, format);
    const DeviceStoredBlocks<T> device_blocks(context(), host_blocks);
    for (const Index vectors : vector_counts) {
        const std::vector<T> r = random_columns<T>(random, host_blocks.rows(), vectors);
        for (const bool transposed : {false, true}) {
            if (transposed && vectors > 1) continue;
            SCOPED_TRACE(testing::Message()
                         << sizeof(T) * 8 << " bits, " << sizes.size() << " blocks of "
                         << host_blocks.largest << " rows at most, " << vectors << " vectors, "
                         << (format ? to_string(*format) : "mixed")
                         << (transposed ? ", transposed" : ""));
            const std::vector<T> z =
                applied(context(), device_blocks.blocks, transposed, vectors, r);
            expect_product(host_blocks, transposed, vectors, r, z);
            // Columns that begin where memory begins may be accessed several elements at once.
            EXPECT_TRUE(
                same_bits(z, applied(context(), device_blocks.blocks, transposed, vectors, r, 0)));
            if (!all_but_the_last_equal(sizes)) continue;
            const DeviceStoredBlocks<T> one_size_blocks(context(), host_blocks, true);
            for (const Offset before : {0, 1}) {
                EXPECT_TRUE(same_bits(
                    z, applied(context(), one_size_blocks.blocks, transposed, vectors, r, before)));
            }
        }
    }
}

}  // namespace tessera::test
