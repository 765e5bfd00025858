#include "precond/block_jacobi/stored_blocks.hpp"

#include <cstring>
#include <numeric>
#include <optional>

#include "base/dispatch.hpp"
#include "precond/block_jacobi/block_formats.hpp"
#include "support/blocks.hpp"

namespace tessera::test {
namespace {

using batched::Transpose;

template <class T>
constexpr std::size_t format_count = sizeof(T) == 8 ? 5 : 3;
template <class T>
constexpr BlockFormat format_of(std::size_t k) {
    constexpr BlockFormat wide[] = {BlockFormat::f64, BlockFormat::f32, BlockFormat::truncated_f64,
                                    BlockFormat::bf16, BlockFormat::f16};
    constexpr BlockFormat narrow[] = {BlockFormat::f32, BlockFormat::bf16, BlockFormat::f16};
    return sizeof(T) == 8 ? wide[k] : narrow[k];
}

/// Blocks as stored, in host memory, and what their values are.
template <class T>
struct Stored {
    std::vector<Index> offsets{0}, groups;
    std::vector<Offset> starts{0}, entry_offsets{0};
    std::vector<BlockFormat> formats;  ///< Of each block.
    std::vector<T> values;             ///< Packed.
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
Stored<T> stored(const std::vector<std::vector<T>>& blocks, const std::vector<BlockFormat>& formats,
                 bool mixed) {
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
    // What lies behind a block is not to be used.
    made.bytes.resize(std::size_t(made.starts.back() * unit) + 16, std::byte(0xff));
    made.groups.push_back(0);
    for (Index b = 0; b < made.count(); ++b) {
        const Index first = made.offsets[std::size_t(made.groups.back())];
        if (made.offsets[std::size_t(b) + 1] - first > group_rows(made.largest)) {
            made.groups.push_back(b);
        }
    }
    made.groups.push_back(made.count());
    return made;
}

/// Random blocks of the given sizes, in one format or (none) in random ones.
template <class T>
Stored<T> random_stored(std::mt19937_64& random, const std::vector<Index>& sizes,
                        std::optional<BlockFormat> format) {
    std::vector<std::vector<T>> blocks;
    std::vector<BlockFormat> formats;
    for (const Index n : sizes) {
        blocks.push_back(random_block<T>(random, n));
        formats.push_back(format ? *format : format_of<T>(random() % format_count<T>));
    }
    return stored(blocks, formats, !format);
}

std::vector<Index> random_sizes(std::mt19937_64& random, int count, Index low, Index high) {
    std::vector<Index> sizes;
    for (int k = 0; k < count; ++k) {
        sizes.push_back(low + Index(random() % std::uint64_t(high - low + 1)));
    }
    return sizes;
}

/// Stored blocks in the memory of a Context.
template <class T>
class There {
  public:
    There(const Context& context, const Stored<T>& here, bool one_size = false)
        : offsets_(copy_to_buffer(context, std::span<const Index>(here.offsets))),
          groups_(copy_to_buffer(context, std::span<const Index>(here.groups))),
          starts_(copy_to_buffer(context, std::span<const Offset>(here.starts))),
          formats_(copy_to_buffer(context, std::span<const BlockFormat>(here.formats))),
          bytes_(copy_to_buffer(context, std::span<const std::byte>(here.bytes))) {
        blocks.rows = here.rows();
        blocks.count = here.count();
        blocks.largest = here.largest;
        blocks.one_size = one_size;
        blocks.block_offsets = offsets_.data();
        blocks.starts = starts_.data();
        blocks.unit = here.unit();
        blocks.format = here.formats.empty() ? BlockFormat::f32 : here.formats[0];
        blocks.formats = here.mixed ? formats_.data() : nullptr;
        blocks.bytes = bytes_.data();
        blocks.group_count = Index(here.groups.size()) - 1;
        blocks.groups = groups_.data();
    }
    StoredBlocks blocks;

  private:
    Buffer<Index> offsets_, groups_;
    Buffer<Offset> starts_;
    Buffer<BlockFormat> formats_;
    Buffer<std::byte> bytes_;
};

constexpr Offset gap = 3;  ///< Elements behind each column.

/// z for the columns of r, both rows + gap apart and one element from where memory begins; what
/// lies around the columns of z stays as it was.
template <class T>
std::vector<T> applied(const Context& context, const StoredBlocks& blocks, Transpose transpose,
                       Index vectors, const std::vector<T>& r) {
    const Offset leading = blocks.rows + gap;
    std::vector<T> z(std::size_t(1 + vectors * leading), T(-77));
    std::vector<T> shifted(1);
    shifted.insert(shifted.end(), r.begin(), r.end());
    Buffer<T> r_there = copy_to_buffer(context, std::span<const T>(shifted));
    Buffer<T> z_there = copy_to_buffer(context, std::span<const T>(z));
    select(context, &cpu::apply<T>, TESSERA_IF_CUDA(cuda::apply<T>))(
        context, blocks, transpose, vectors, r_there.data() + 1, leading, z_there.data() + 1,
        leading);
    z = copy_to_host(context, z_there);
    EXPECT_EQ(z[0], T(-77));
    for (Index v = 0; v < vectors; ++v) {
        for (Offset k = blocks.rows; k < leading; ++k) {
            EXPECT_EQ(z[std::size_t(1 + v * leading + k)], T(-77));
        }
    }
    z.erase(z.begin());
    return z;
}

template <class T>
std::vector<T> random_columns(std::mt19937_64& random, Index rows, Index vectors) {
    return random_vector<T>(random, std::size_t(vectors * (rows + gap)));
}

/// Each element within gamma_n sum |x_ij| |r_j| of the sum in long double.
template <class T>
void expect_product(const Stored<T>& here, Transpose transpose, Index vectors,
                    const std::vector<T>& r, const std::vector<T>& z) {
    const Index leading = here.rows() + Index(gap);
    int wrong = 0;
    for (Index b = 0; b < here.count(); ++b) {
        const Index n = here.size(b);
        const T* x = here.values.data() + here.entry_offsets[std::size_t(b)];
        for (Index v = 0; v < vectors; ++v) {
            const std::size_t at = std::size_t(v * leading + here.offsets[std::size_t(b)]);
            for (Index i = 0; i < n; ++i) {
                long double sum = 0, size = 0;
                for (Index j = 0; j < n; ++j) {
                    const T entry = transpose == Transpose::yes ? x[j + i * n] : x[i + j * n];
                    const long double term = (long double)entry * r[at + std::size_t(j)];
                    sum += term;
                    size += std::abs(term);
                }
                const double error = double(std::abs(sum - z[at + std::size_t(i)]));
                wrong += !(error <= gamma<T>(n) * double(size));
            }
        }
    }
    EXPECT_EQ(wrong, 0) << "of " << here.rows() * vectors << " elements";
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
    return a.size() == b.size() &&
           (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

bool all_but_the_last_equal(const std::vector<Index>& sizes) {
    for (std::size_t b = 0; b + 1 < sizes.size(); ++b) {
        if (sizes[b] != sizes[0]) return false;
    }
    return sizes.empty() || sizes.back() <= sizes[0];
}

/// Products of all kinds; where all blocks have one size, also with this told.
template <class T>
void check_products(const std::vector<Index>& sizes, std::optional<BlockFormat> format,
                    const std::vector<Index>& vector_counts) {
    std::mt19937_64 random = generator();
    const Stored<T> here = random_stored<T>(random, sizes, format);
    const There<T> there(context(), here);
    for (const Index vectors : vector_counts) {
        const std::vector<T> r = random_columns<T>(random, here.rows(), vectors);
        for (const Transpose transpose : {Transpose::no, Transpose::yes}) {
            SCOPED_TRACE(testing::Message()
                         << sizeof(T) * 8 << " bits, " << sizes.size() << " blocks of "
                         << here.largest << " rows at most, " << vectors << " vectors, "
                         << (format ? to_string(*format) : "mixed")
                         << (transpose == Transpose::yes ? ", transposed" : ""));
            const std::vector<T> z = applied(context(), there.blocks, transpose, vectors, r);
            expect_product(here, transpose, vectors, r, z);
            if (!all_but_the_last_equal(sizes)) continue;
            const There<T> told(context(), here, true);
            EXPECT_TRUE(same_bits(z, applied(context(), told.blocks, transpose, vectors, r)));
        }
    }
}

TEST(stored_blocks, products_with_blocks_of_every_size) {
    for_reals([](auto real) {
        using T = decltype(real);
        for (Index n = 1; n <= 64; ++n) {
            std::vector<Index> sizes(std::size_t(2 * 64 / n + 3), n);
            check_products<T>(sizes, format_of<T>(std::size_t(n) % format_count<T>), {1});
            sizes.back() = (n + 1) / 2;
            check_products<T>(sizes, format_of<T>(0), {1});
        }
    });
}

TEST(stored_blocks, products_in_every_format_and_with_several_vectors) {
    for_reals([](auto real) {
        using T = decltype(real);
        for (std::size_t f = 0; f < format_count<T>; ++f) {
            for (const Index n : {3, 4, 8, 15, 32, 40}) {
                check_products<T>(std::vector<Index>(std::size_t(150 / n), n), format_of<T>(f),
                                  {1, 2, 5, 9});
            }
        }
    });
}

TEST(stored_blocks, products_with_blocks_of_random_sizes_and_formats) {
    std::mt19937_64 random = generator();
    for_reals([&](auto real) {
        using T = decltype(real);
        for (const Index high : {1, 2, 4, 8, 20, 32, 64}) {
            for (int k = 0; k < 4; ++k) {
                const auto sizes = random_sizes(random, 1 + int(random() % 60), 1, high);
                check_products<T>(sizes, std::nullopt, {1, 3});
                check_products<T>(sizes, format_of<T>(random() % format_count<T>), {1});
            }
        }
    });
}

/// More than all warps of a GPU hold at once.
TEST(stored_blocks, products_with_many_blocks) {
    std::mt19937_64 random = generator();
    for_reals([&](auto real) {
        using T = decltype(real);
        check_products<T>(random_sizes(random, 60000, 1, 6), std::nullopt, {1});
        check_products<T>(random_sizes(random, 12000, 1, 32), std::nullopt, {1});
        check_products<T>(std::vector<Index>(120001, 3), format_of<T>(0), {1});
        check_products<T>(std::vector<Index>(9001, 29), BlockFormat::bf16, {1});
        check_products<T>(random_sizes(random, 3000, 1, 32), std::nullopt, {11});
    });
}

/// The product with one block.
template <class T>
std::vector<T> alone(const Stored<T>& here, Index b, Transpose transpose, const std::vector<T>& r) {
    const auto begin = here.values.begin();
    const std::vector<T> values(begin + here.entry_offsets[std::size_t(b)],
                                begin + here.entry_offsets[std::size_t(b) + 1]);
    const Stored<T> one = stored<T>({values}, {here.formats[std::size_t(b)]}, false);
    const There<T> there(context(), one);
    std::vector<T> own(r.begin() + here.offsets[std::size_t(b)],
                       r.begin() + here.offsets[std::size_t(b) + 1]);
    own.resize(own.size() + std::size_t(gap));
    std::vector<T> z = applied(context(), there.blocks, transpose, 1, own);
    z.resize(std::size_t(one.rows()));
    return z;
}

TEST(stored_blocks, results_do_not_depend_on_neighbours_or_on_other_vectors) {
    std::mt19937_64 random = generator();
    for_reals([&](auto real) {
        using T = decltype(real);
        for (const bool with_large : {false, true}) {  // Large ones take another kernel on a GPU.
            auto sizes = random_sizes(random, 40, 1, 32);
            if (with_large) sizes.push_back(50);
            const Stored<T> here = random_stored<T>(random, sizes, std::nullopt);
            const There<T> there(context(), here);
            const Index vectors = 6, leading = here.rows() + Index(gap);
            const std::vector<T> r = random_columns<T>(random, here.rows(), vectors);
            for (const Transpose transpose : {Transpose::no, Transpose::yes}) {
                const auto z = applied(context(), there.blocks, transpose, vectors, r);
                for (Index v = 0; v < vectors; v += 5) {
                    const std::vector<T> column(r.begin() + v * leading,
                                                r.begin() + (v + 1) * leading);
                    for (Index b = 0; b < here.count(); b += 3) {
                        const auto first = z.begin() + v * leading + here.offsets[std::size_t(b)];
                        EXPECT_TRUE(same_bits(std::vector<T>(first, first + here.size(b)),
                                              alone(here, b, transpose, column)))
                            << "block " << b << " of " << here.size(b) << " rows";
                    }
                }
            }
        }
    });
}

TEST(stored_blocks, results_do_not_depend_on_threads) {
    std::mt19937_64 random = generator();
    const Stored<double> here =
        random_stored<double>(random, random_sizes(random, 4000, 1, 32), std::nullopt);
    const There<double> there(host(), here);
    const auto r = random_columns<double>(random, here.rows(), 5);
    for (const Transpose transpose : {Transpose::no, Transpose::yes}) {
        const auto z = applied(host(1), there.blocks, transpose, 5, r);
        for (const int threads : {2, 3, 7}) {
            EXPECT_TRUE(same_bits(z, applied(host(threads), there.blocks, transpose, 5, r)));
        }
    }
}

/// Blocks of one row times 1, so that each value must come through unchanged: all 16-bit values,
/// and what is special in the others.
TEST(stored_blocks, every_value_is_read_exactly) {
    for_reals([](auto real) {
        using T = decltype(real);
        for (std::size_t f = 0; f < format_count<T>; ++f) {
            const BlockFormat format = format_of<T>(f);
            std::vector<std::vector<T>> blocks;
            if (bytes_of(format) == 2) {
                for (unsigned bits = 0; bits < 0x10000; ++bits) {
                    const auto word = std::uint16_t(bits);
                    alignas(8) std::byte at[8] = {};
                    std::memcpy(at, &word, 2);
                    blocks.push_back({load<T>(format, at)});
                }
            }
            for (const double value : {0.0, largest_finite(format), -smallest_normal(format),
                                       smallest_normal(format) * 2 * unit_roundoff(format),
                                       std::numeric_limits<double>::infinity(),
                                       std::numeric_limits<double>::quiet_NaN()}) {
                blocks.push_back({T(value)});
                blocks.push_back({T(-value)});
            }
            const Stored<T> here =
                stored(blocks, std::vector<BlockFormat>(blocks.size(), format), false);
            const There<T> there(context(), here);
            const std::vector<T> ones(std::size_t(here.rows() + gap), T(1));
            auto z = applied(context(), there.blocks, Transpose::no, 1, ones);
            int wrong = 0;
            for (std::size_t k = 0; k < here.values.size(); ++k) {
                const T value = here.values[k];
                wrong += std::isnan(value) ? !std::isnan(z[k]) : z[k] != value;
            }
            EXPECT_EQ(wrong, 0) << to_string(format);
        }
    });
}

TEST(stored_blocks, what_is_not_finite_stays_in_its_rows) {
    std::mt19937_64 random = generator();
    for_reals([&](auto real) {
        using T = decltype(real);
        const auto sizes = random_sizes(random, 60, 1, 12);
        const Stored<T> clean = random_stored<T>(random, sizes, std::nullopt);
        const auto r = random_columns<T>(random, clean.rows(), 1);
        for (const Transpose transpose : {Transpose::no, Transpose::yes}) {
            const auto good =
                applied(context(), There<T>(context(), clean).blocks, transpose, 1, r);
            for (Index bad = 0; bad < clean.count(); bad += 7) {
                std::vector<std::vector<T>> blocks;
                for (Index b = 0; b < clean.count(); ++b) {
                    const auto begin = clean.values.begin();
                    blocks.emplace_back(begin + clean.entry_offsets[std::size_t(b)],
                                        begin + clean.entry_offsets[std::size_t(b) + 1]);
                }
                const T nan = std::numeric_limits<T>::quiet_NaN();
                blocks[std::size_t(bad)].assign(blocks[std::size_t(bad)].size(), nan);
                const Stored<T> here = stored(blocks, clean.formats, true);
                auto z = applied(context(), There<T>(context(), here).blocks, transpose, 1, r);
                for (Index i = here.offsets[std::size_t(bad)];
                     i < here.offsets[std::size_t(bad) + 1]; ++i) {
                    EXPECT_TRUE(std::isnan(z[std::size_t(i)]));
                    z[std::size_t(i)] = good[std::size_t(i)];
                }
                EXPECT_TRUE(same_bits(z, good)) << "block " << bad;
            }
        }
    });
}

TEST(stored_blocks, expands_to_packed_values) {
    std::mt19937_64 random = generator();
    for_reals([&](auto real) {
        using T = decltype(real);
        for (const Index high : {3, 32, 64}) {
            const Stored<T> here =
                random_stored<T>(random, random_sizes(random, 200, 1, high), std::nullopt);
            const There<T> there(context(), here);
            const auto offsets =
                copy_to_buffer(context(), std::span<const Offset>(here.entry_offsets));
            Buffer<T> values(context(), here.entry_offsets.back());
            select(context(), &cpu::expand<T>, TESSERA_IF_CUDA(cuda::expand<T>))(
                context(), there.blocks, offsets.data(), values.data());
            EXPECT_TRUE(same_bits(copy_to_host(context(), values), here.values));
        }
    });
}

TEST(stored_blocks, become_a_sparse_matrix) {
    std::mt19937_64 random = generator();
    for_reals([&](auto real) {
        using T = decltype(real);
        for (const Index high : {3, 32, 64}) {
            const Stored<T> here =
                random_stored<T>(random, random_sizes(random, 200, 1, high), std::nullopt);
            const There<T> there(context(), here);
            CsrMatrix<T> matrix = select(context(), &cpu::to_csr<T>,
                                         TESSERA_IF_CUDA(cuda::to_csr<T>))(context(), there.blocks);
            std::vector<Offset> row_offsets{0};
            std::vector<Index> columns;
            std::vector<T> values;
            for (Index b = 0; b < here.count(); ++b) {
                const Index n = here.size(b);
                for (Index i = 0; i < n; ++i) {
                    for (Index j = 0; j < n; ++j) {
                        columns.push_back(here.offsets[std::size_t(b)] + j);
                        values.push_back(here.values[std::size_t(
                            here.entry_offsets[std::size_t(b)] + i + j * n)]);
                    }
                    row_offsets.push_back(Offset(columns.size()));
                }
            }
            EXPECT_EQ(matrix.rows(), here.rows());
            EXPECT_EQ(matrix.columns(), here.rows());
            EXPECT_EQ(copy_to_host(context(), matrix.row_offsets()), row_offsets);
            EXPECT_EQ(copy_to_host(context(), matrix.column_indices()), columns);
            EXPECT_TRUE(same_bits(copy_to_host(context(), matrix.values()), values));
        }
    });
}

TEST(stored_blocks, no_blocks_and_no_vectors) {
    for_reals([](auto real) {
        using T = decltype(real);
        const Stored<T> none = stored<T>({}, {}, true);
        const There<T> there(context(), none);
        const std::vector<T> r(std::size_t(gap), T(1));
        applied(context(), there.blocks, Transpose::no, 1, r);
        const auto matrix = select(context(), &cpu::to_csr<T>, TESSERA_IF_CUDA(cuda::to_csr<T>))(
            context(), there.blocks);
        EXPECT_EQ(matrix.nonzeros(), 0);
        Buffer<T> values(context(), 0);
        const auto offsets = copy_to_buffer(context(), std::span<const Offset>(none.entry_offsets));
        select(context(), &cpu::expand<T>, TESSERA_IF_CUDA(cuda::expand<T>))(
            context(), there.blocks, offsets.data(), values.data());
        const Stored<T> one = stored<T>({{T(2)}}, {BlockFormat::f32}, false);
        EXPECT_TRUE(
            applied(context(), There<T>(context(), one).blocks, Transpose::no, 0, std::vector<T>())
                .empty());
    });
}

bool one_size(const std::vector<Index>& sizes) {
    std::mt19937_64 random(1);
    const There<float> there(context(), random_stored<float>(random, sizes, BlockFormat::f32));
    return select(context(), &cpu::have_one_size, TESSERA_IF_CUDA(cuda::have_one_size))(
        context(), there.blocks);
}

TEST(stored_blocks, one_size_is_found) {
    EXPECT_TRUE(one_size({}));
    EXPECT_TRUE(one_size({5}));
    EXPECT_TRUE(one_size({3, 3, 3, 3}));
    EXPECT_TRUE(one_size({3, 3, 3, 1}));
    EXPECT_FALSE(one_size({3, 3, 3, 4}));
    EXPECT_FALSE(one_size({2, 3, 3, 3}));
    EXPECT_FALSE(one_size({3, 2, 3, 3}));
    std::vector<Index> many(5000, 2);
    EXPECT_TRUE(one_size(many));
    many[4321] = 1;
    EXPECT_FALSE(one_size(many));
}

}  // namespace
}  // namespace tessera::test
