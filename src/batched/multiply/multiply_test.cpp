#include "batched/test_batches.hpp"

namespace tessera::test {

namespace {

using batched::Transpose;

/// Arguments of multiply; vectors of matrix b start at b stride, or at offsets.
template <class T>
struct Product {
    T alpha = 1;
    T beta = 0;
    Transpose transpose = Transpose::no;
    Index vectors = 1;
    Offset leading = 0;  ///< Leading dimension of the vectors.
    std::vector<Offset> offsets;
    std::vector<T> x;
    std::vector<T> y;
};

constexpr double guard = -1234.5;

template <class T>
Product<T> random_product(std::mt19937_64& random, const std::vector<Index>& sizes, Index vectors,
                          T alpha, T beta, Transpose transpose) {
    Product<T> made{alpha, beta, transpose, vectors, 0, {}, {}, {}};
    made.leading = 2;
    for (const Index n : sizes) made.leading = std::max<Offset>(made.leading, n + 2);
    Offset length = 0;
    for (const Index n : sizes) {
        made.offsets.push_back(length);
        length += vectors == 1 ? n + 1 : vectors * made.leading;
    }
    made.x = random_vector<T>(random, std::size_t(length));
    made.y = std::vector<T>(made.x.size(), T(guard));
    for (std::size_t b = 0; b < sizes.size(); ++b) {
        for (Index v = 0; v < vectors; ++v) {
            for (Index i = 0; i < sizes[b]; ++i) {
                const auto at = std::size_t(made.offsets[b] + v * made.leading + i);
                // beta 0 must not read y.
                made.y[at] = beta == T(0) ? std::numeric_limits<T>::quiet_NaN()
                                          : T(double(random() % 1000) / 500 - 1);
            }
        }
    }
    return made;
}

template <class T>
std::vector<T> multiplied(const Context& where, const batched::BatchView<const T>& a,
                          const Product<T>& product, const batched::Plan* plan = nullptr) {
    const Buffer<T> x = copy_to_buffer(where, product.x);
    Buffer<T> y = copy_to_buffer(where, product.y);
    const Buffer<Offset> offsets = copy_to_buffer(where, product.offsets);
    const batched::VectorsView<const T> from{product.vectors, product.leading, 0,
                                             offsets.data(),  x.data(),        nullptr};
    const batched::VectorsView<T> to{product.vectors, product.leading, 0,
                                     offsets.data(),  y.data(),        nullptr};
    batched::multiply(where, product.alpha, a, product.transpose, from, product.beta, to, plan);
    return copy_to_host(where, y);
}

/// |y - exact| <= gamma_{n+3} (|alpha| |A| |x| + |beta y|), and nothing else is written.
template <class T>
void expect_product(const HostBatch<T>& batch, const Product<T>& given, const std::vector<T>& y) {
    std::vector<bool> is_result(y.size(), false);
    for (Index b = 0; b < batch.count(); ++b) {
        const Index n = batch.rows(b);
        const T* a = batch.at(b);
        for (Index v = 0; v < given.vectors; ++v) {
            const auto start = std::size_t(given.offsets[std::size_t(b)] + v * given.leading);
            for (Index i = 0; i < n; ++i) {
                Wider<T> exact = 0, size = 0;
                for (Index j = 0; j < n; ++j) {
                    const T element =
                        given.transpose == Transpose::no ? a[i + j * n] : a[j + i * n];
                    const Wider<T> term =
                        Wider<T>(given.alpha) * element * given.x[start + std::size_t(j)];
                    exact += term;
                    size += std::abs(term);
                }
                const auto at = start + std::size_t(i);
                is_result[at] = true;
                if (given.beta != T(0)) {
                    exact += Wider<T>(given.beta) * given.y[at];
                    size += std::abs(Wider<T>(given.beta) * given.y[at]);
                }
                ASSERT_LE(double(std::abs(y[at] - exact)), gamma<T>(n + 3) * double(size))
                    << "matrix " << b << ", n = " << n << ", vector " << v << ", row " << i;
            }
        }
    }
    for (std::size_t k = 0; k < y.size(); ++k) {
        if (is_result[k]) continue;
        ASSERT_EQ(y[k], T(guard)) << "written outside the vectors, at " << k;
    }
}

template <class T>
void expect_products(std::mt19937_64& random, const HostBatch<T>& batch, Index vectors, T alpha,
                     T beta) {
    const Context where = context();
    DeviceBatch<T> device_batch(where, batch);
    const batched::Plan plan = device_batch.plan(where);
    for (const Transpose transpose : {Transpose::no, Transpose::yes}) {
        Product<T> given = random_product<T>(random, batch.sizes, vectors, alpha, beta, transpose);
        const std::vector<T> y = multiplied<T>(where, device_batch.view(), given);
        expect_product(batch, given, y);
        EXPECT_TRUE(same_bits(y, multiplied<T>(where, device_batch.view(), given, &plan)));
        auto rows = device_batch.view();
        rows.layout = batched::Layout::row_major;
        given.transpose = transpose == Transpose::no ? Transpose::yes : Transpose::no;
        EXPECT_TRUE(same_bits(y, multiplied<T>(where, rows, given)));
    }
}

}  // namespace

TEST(multiply, every_size) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        for (Index n = 0; n <= 34; ++n) {
            const HostBatch<T> batch = random_batch<T>(random, 37, n, n);
            for (const Index vectors : {1, 2, 5}) {
                expect_products<T>(random, batch, vectors, T(1), T(0));
                expect_products<T>(random, batch, vectors, T(-0.7), T(1.3));
            }
        }
        for (const Index n : {47, 64, 65, 96, 127, 128}) {
            expect_products<T>(random, random_batch<T>(random, 5, n, n), 3, T(2), T(1));
        }
    });
}

TEST(multiply, mixed_sizes) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        expect_products<T>(random, random_batch<T>(random, 2000, 0, 32), 1, T(1), T(0));
        expect_products<T>(random, random_batch<T>(random, 70000, 0, 4), 1, T(1), T(0.5));
        expect_products<T>(random, random_batch<T>(random, 100, 0, 128), 4, T(1), T(-1));
        expect_products<T>(random, HostBatch<T>(), 1, T(1), T(0));
    });
}

TEST(multiply, strides_and_pointers) {
    for_reals([](auto real) {
        using T = decltype(real);
        const Context where = context();
        auto random = generator();
        for (const Index n : {1, 2, 3, 5, 8, 17, 32, 70}) {
            const HostBatch<T> batch = random_batch<T>(random, 45, n, n);
            PlacedBatch<T> apart(where, batch, 3), contiguous(where, batch);
            for (const Transpose transpose : {Transpose::no, Transpose::yes}) {
                const auto given =
                    random_product<T>(random, batch.sizes, 2, T(1.5), T(0.5), transpose);
                const auto y = multiplied<T>(where, apart.strided(), given);
                expect_product(batch, given, y);
                EXPECT_TRUE(same_bits(y, multiplied<T>(where, apart.pointers(), given)));
                EXPECT_TRUE(same_bits(y, multiplied<T>(where, contiguous.strided(), given)));
            }
        }
    });
}

TEST(multiply, contiguous_matrices) {
    for_reals([](auto real) {
        using T = decltype(real);
        const Context where = context();
        auto random = generator();
        const auto expect = [&](Index count, Index n, T beta) {
            const HostBatch<T> batch = repetitive_batch<T>(random, count, n);
            PlacedBatch<T> aligned(where, batch), misaligned(where, batch, 0, 1);
            const std::vector<T> x = random_vector<T>(random, std::size_t(count * n));
            const auto product_at = [&](PlacedBatch<T>& placed, Offset offset) {
                std::vector<T> given(static_cast<std::size_t>(offset), T(guard)), before = given;
                given.insert(given.end(), x.begin(), x.end());
                before.insert(before.end(), x.rbegin(), x.rend());
                before.push_back(T(guard));
                const Buffer<T> device_x = copy_to_buffer(where, given);
                Buffer<T> y = copy_to_buffer(where, before);
                const batched::VectorsView<const T> from{
                    1, 0, n, nullptr, device_x.data() + offset, nullptr};
                const batched::VectorsView<T> to{1, 0, n, nullptr, y.data() + offset, nullptr};
                batched::multiply<T>(where, T(1.5), placed.strided(), Transpose::no, from, beta,
                                     to);
                std::vector<T> found = copy_to_host(where, y);
                EXPECT_EQ(found.back(), T(guard))
                    << "written past the end of the vectors, n = " << n;
                found.erase(found.begin(), found.begin() + offset);
                return found;
            };
            const std::vector<T> y = product_at(aligned, 0);
            EXPECT_TRUE(same_bits(y, product_at(aligned, 1))) << "n = " << n << ", beta " << beta;
            EXPECT_TRUE(same_bits(y, product_at(misaligned, 0))) << "n = " << n << ", " << beta;
        };
        for (Index n = 1; n <= 33; ++n) {
            for (const Index count : {1, 3, 45, 301}) {
                expect(count, n, T(0));
                expect(count, n, T(0.5));
            }
        }
        // More than a GPU processes at once.
        for (const Index n : {5, 16}) expect(12000003 / (n * n), n, T(0.5));
    });
}

TEST(multiply, does_not_depend_on_threads) {
    auto random = generator();
    const HostBatch<double> batch = random_batch<double>(random, 3000, 0, 32);
    const auto given = random_product<double>(random, batch.sizes, 2, 1.5, 0.5, Transpose::no);
    DeviceBatch<double> device_batch(host(), batch);
    EXPECT_TRUE(same_bits(multiplied<double>(host(1), device_batch.view(), given),
                          multiplied<double>(host(7), device_batch.view(), given)));
}

TEST(multiply, misuse_throws) {
    const Context where = context();
    Buffer<double> values(where, 64);
    Buffer<double> other(where, 64);
    using View = batched::BatchView<const double>;
    using Vectors = batched::VectorsView<const double>;
    using Results = batched::VectorsView<double>;
    const auto expect_rejected = [&](const View& a, const Vectors& x, const Results& y,
                                     const batched::Plan* plan = nullptr) {
        EXPECT_THROW(batched::multiply(where, 1.0, a, Transpose::no, x, 0.0, y, plan),
                     InvalidArgument);
    };
    const View a = View::uniform(4, 3, values.data());
    const Vectors x{1, 3, 3, nullptr, values.data(), nullptr};
    const Results y{1, 3, 3, nullptr, other.data(), nullptr};
    for_wrong_batches(values.data(), [&](const View& wrong) { expect_rejected(wrong, x, y); });
    expect_rejected(a, {1, 3, 3, nullptr, nullptr, nullptr}, y);
    expect_rejected(a, x, {1, 3, 3, nullptr, nullptr, nullptr});
    expect_rejected(a, x, {1, 3, 0, nullptr, other.data(), nullptr});
    expect_rejected(a, x, {2, 3, 3, nullptr, other.data(), nullptr});
    expect_rejected(a, {2, 2, 6, nullptr, values.data(), nullptr},
                    {2, 3, 6, nullptr, other.data(), nullptr});
    expect_rejected(a, {-1, 3, 3, nullptr, values.data(), nullptr},
                    {-1, 3, 3, nullptr, other.data(), nullptr});
    const Buffer<Index> sizes = copy_to_buffer(where, std::vector<Index>{1, 2});
    const batched::Plan plan(where, 2, sizes.data());
    expect_rejected(a, x, y, &plan);
    batched::multiply(where, 1.0, View::uniform(0, 3, nullptr), Transpose::no, x, 0.0, y);
    batched::multiply(where, 1.0, a, Transpose::no, {0, 3, 0, nullptr, nullptr, nullptr}, 0.0,
                      Results{0, 3, 0, nullptr, nullptr, nullptr});
}

}  // namespace tessera::test
