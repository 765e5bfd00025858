#pragma once

#include <cstring>
#include <numeric>

#include "base/parallel.hpp"
#include "batched/invert/test_invert_reference.hpp"
#include "support/blocks.hpp"

// Common parts of the tests of the batched operations: batches in host memory, and their results.

namespace tessera::test {

/// Matrices one after the other, column-major, in host memory.
template <class T>
struct HostBatch {
    std::vector<Index> sizes;
    std::vector<Offset> offsets;
    std::vector<T> values;

    Index count() const { return Index(sizes.size()); }
    Index rows(Index b) const { return sizes[std::size_t(b)]; }
    T* at(Index b) { return values.data() + offsets[std::size_t(b)]; }
    const T* at(Index b) const { return values.data() + offsets[std::size_t(b)]; }
    void add(Index n, const std::vector<T>& matrix) {
        sizes.push_back(n);
        offsets.push_back(Offset(values.size()));
        values.insert(values.end(), matrix.begin(), matrix.end());
    }
    std::vector<T> matrix(Index b) const { return matrix_in(values, b); }
    /// Matrix b of values in the layout of this batch.
    std::vector<T> matrix_in(const std::vector<T>& all, Index b) const {
        const auto first = all.begin() + offsets[std::size_t(b)];
        return {first, first + Offset(sizes[std::size_t(b)]) * sizes[std::size_t(b)]};
    }
};

template <class T>
HostBatch<T> random_batch(std::mt19937_64& random, Index count, Index low, Index high) {
    HostBatch<T> batch;
    for (Index b = 0; b < count; ++b) {
        const Index n = low + Index(random() % std::uint64_t(high - low + 1));
        batch.add(n, random_block<T>(random, n));
    }
    return batch;
}

/// A HostBatch in the memory of a Context.
template <class T>
struct DeviceBatch {
    DeviceBatch(const Context& context, const HostBatch<T>& batch)
        : count(batch.count()),
          sizes(copy_to_buffer(context, batch.sizes)),
          offsets(copy_to_buffer(context, batch.offsets)),
          values(copy_to_buffer(context, batch.values)) {}
    batched::BatchView<T> view() {
        return batched::BatchView<T>::packed(count, sizes.data(), offsets.data(), values.data());
    }
    batched::Plan plan(const Context& context) const { return {context, count, sizes.data()}; }

    Index count;
    Buffer<Index> sizes;
    Buffer<Offset> offsets;
    Buffer<T> values;
};

/// Results in the memory of a Context.
template <class T>
struct DeviceResults {
    DeviceResults(const Context& context, Index count)
        : info(context, count), reciprocal_condition(context, count) {}
    batched::ConditionResults<T> view() { return {info.data(), reciprocal_condition.data()}; }

    Buffer<Index> info;
    Buffer<T> reciprocal_condition;
};

/// All that an inversion returns, in host memory.
template <class T>
struct Outcome {
    std::vector<T> inverses;
    std::vector<Index> info;
    std::vector<T> reciprocal_condition;
};

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
    return a.size() == b.size() &&
           (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

template <class T>
bool same_bits(const Outcome<T>& a, const Outcome<T>& b) {
    return same_bits(a.inverses, b.inverses) && a.info == b.info &&
           same_bits(a.reciprocal_condition, b.reciprocal_condition);
}

template <class T>
bool all_nan(const std::vector<T>& a) {
    return std::all_of(a.begin(), a.end(), [](T value) { return std::isnan(value); });
}

template <class T>
void copy_outputs(const Context& context, const DeviceResults<T>& results, Outcome<T>& outcome) {
    outcome.info = copy_to_host(context, results.info);
    outcome.reciprocal_condition = copy_to_host(context, results.reciprocal_condition);
}

/// Inverts with all optional outputs, or with `info` only.
template <class T>
Outcome<T> inverted(const Context& context, const HostBatch<T>& batch, bool info_alone = false) {
    DeviceBatch<T> device_batch(context, batch);
    Buffer<T> inverses(context, Offset(batch.values.size()));
    DeviceResults<T> results(context, batch.count());
    auto x = device_batch.view();
    x.values = inverses.data();
    Outcome<T> outcome;
    if (info_alone) {
        batched::invert(context, device_batch.view(), x, results.info.data());
        outcome.info = copy_to_host(context, results.info);
    } else {
        batched::invert_with_condition(context, device_batch.view(), x, results.view());
        copy_outputs(context, results, outcome);
    }
    outcome.inverses = copy_to_host(context, inverses);
    return outcome;
}

/// Matrices of one size in the memory of a Context: `first` values before them, `gap` after each
/// column and 2 `gap` after each matrix, all of which are `guard`.
template <class T>
struct PlacedBatch {
    static constexpr T guard = T(-1234.5);

    PlacedBatch(const Context& context, const HostBatch<T>& batch, Offset gap = 0,
                Offset first_ = 0)
        : count(batch.count()),
          n(batch.sizes.at(0)),
          first(first_),
          leading(n + gap),
          stride(leading * n + 2 * gap),
          values(copy_to_buffer(context, spread(batch.values))) {
        std::vector<T*> addresses;
        for (Index b = 0; b < count; ++b) addresses.push_back(values.data() + first + b * stride);
        starts = copy_to_buffer(context, addresses);
    }
    /// Values of the batch, one matrix after the other, in these places; guards elsewhere.
    std::vector<T> spread(const std::vector<T>& packed) const {
        std::vector<T> all(std::size_t(first + count * stride + 16), guard);
        for (Index b = 0; b < count; ++b) {
            for (Index j = 0; j < n; ++j) {
                std::copy_n(packed.begin() + (Offset(b) * n + j) * n, n,
                            all.begin() + first + b * stride + j * leading);
            }
        }
        return all;
    }
    batched::BatchView<T> strided() {
        return batched::BatchView<T>::strided(count, n, leading, stride, values.data() + first);
    }
    batched::BatchView<T> pointers() {
        return batched::BatchView<T>::pointers(count, n, leading, starts.data());
    }

    Index count;
    Index n;
    Offset first;
    Offset leading;
    Offset stride;
    Buffer<T> values;
    Buffer<T*> starts;
};

/// Matrices of n rows, contiguous. Many of them, but with few different values.
template <class T>
HostBatch<T> repetitive_batch(std::mt19937_64& random, Index count, Index n) {
    const std::vector<T> some = random_vector<T>(random, 65521);
    HostBatch<T> batch;
    for (Index b = 0; b < count; ++b) {
        batch.add(n, block_of<T>(n, [&](Index i, Index j) {
                      return some[std::size_t((Offset(b) * n + j) * n + i) % some.size()];
                  }));
    }
    return batch;
}

/// What every operation refuses: expect(a view of a wrong batch) for some. `values`: any address.
template <class T, class Expect>
void for_wrong_batches(T* values, Expect&& expect) {
    using View = batched::BatchView<T>;
    expect(View::uniform(-1, 3, values));
    expect(View::uniform(4, batched::largest_size + 1, values));
    expect(View::uniform(4, -1, values));
    expect(View::strided(4, 3, 2, 9, values));
    expect(View::uniform(4, 3, nullptr));
}

/// A type in which residuals of T have negligible rounding errors.
template <class T>
using Wider = std::conditional_t<std::is_same_v<T, float>, double, long double>;

/// ||X A - I||_inf / (n eps ||A||_inf ||X||_inf) of column-major matrices of T, computed in Real.
template <class Real, class T>
double residual_in(Index n, const T* x, const T* a) {
    std::vector<Real> column(static_cast<std::size_t>(n));
    std::vector<double> rows(std::size_t(n), 0), rows_a = rows, rows_x = rows;
    for (Index j = 0; j < n; ++j) {
        std::fill(column.begin(), column.end(), Real(0));
        column[std::size_t(j)] = -1;
        for (Index k = 0; k < n; ++k) {
            const Real factor = a[k + j * n];
            const T* from = x + k * n;
            for (Index i = 0; i < n; ++i) column[std::size_t(i)] += factor * from[i];
        }
        for (Index i = 0; i < n; ++i) {
            rows[std::size_t(i)] += double(std::abs(column[std::size_t(i)]));
            rows_a[std::size_t(i)] += std::abs(double(a[i + j * n]));
            rows_x[std::size_t(i)] += std::abs(double(x[i + j * n]));
        }
    }
    const auto largest = [](const std::vector<double>& sums) {
        double found = 0;
        for (const double sum : sums) found = std::isnan(sum) || sum > found ? sum : found;
        return found;
    };
    const double eps = double(std::numeric_limits<T>::epsilon());
    return largest(rows) / (n * eps * largest(rows_a) * largest(rows_x));
}

/// An upper bound on the left residual of x, in units n eps ||A|| ||X||: the residual itself (with
/// negligible rounding errors) unless it is below `enough`. The right residual of x is
/// residual_below(enough, n, a, x).
template <class T>
double residual_below(double enough, Index n, const T* x, const T* a) {
    // In double the error of each element is below gamma_{n+1} |X| |A|, for doubles.
    const double error = sizeof(T) == 8 ? (n + 1) / (2.0 * n - 1) : 0;
    const double quick = residual_in<double>(n, x, a) + error;
    return quick < enough || sizeof(T) == 4 ? quick : residual_in<Wider<T>>(n, x, a);
}

/// Pivot growth of a matrix, found in double (in long double for double).
template <class T>
double reference_growth(Index n, const std::vector<T>& matrix) {
    std::vector<Wider<T>> wide(matrix.begin(), matrix.end());
    double growth = 1;
    reference::gauss_jordan_implicit(n, wide.data(), &growth);
    return growth;
}

/// Every inverse has a left residual below the pivot growth and, on request, a right one below
/// `right_bound`; those with info are not checked.
template <class T>
void expect_inverses(const HostBatch<T>& batch, const Outcome<T>& outcome, const char* what,
                     double right_bound = std::numeric_limits<double>::infinity()) {
    const std::size_t count = batch.sizes.size();
    std::vector<double> left(count, 0), right(count, 0);
    const auto look = [&](Offset first, Offset last) {
        for (auto b = std::size_t(first); b < std::size_t(last); ++b) {
            const T* a = batch.values.data() + batch.offsets[b];
            const T* x = outcome.inverses.data() + batch.offsets[b];
            const Index n = batch.sizes[b];
            if (n == 0 || outcome.info[b] != 0) continue;
            left[b] = residual_below(1, n, x, a);
            if (std::isfinite(right_bound)) right[b] = residual_below(right_bound, n, a, x);
        }
    };
    parallel_ranges(2, Offset(count), look, 64);
    for (std::size_t b = 0; b < count; ++b) {
        const Index n = batch.sizes[b];
        if (!(left[b] < 1)) {
            EXPECT_LT(left[b], reference_growth(n, batch.matrix(Index(b))))
                << what << ", matrix " << b << ", n = " << n;
        }
        EXPECT_LE(right[b], right_bound) << what << ", matrix " << b << ", n = " << n;
    }
}

/// Elimination may meet a zero pivot only where a matrix is singular within the precision of T:
/// where n eps kappa >= 1.
template <class T>
void expect_failures_only_near_singular(const HostBatch<T>& batch, const Outcome<T>& outcome,
                                        const char* what) {
    for (Index b = 0; b < batch.count(); ++b) {
        if (outcome.info[std::size_t(b)] == 0) continue;
        const Index n = batch.rows(b);
        const auto a = batch.matrix(b);
        std::vector<Wider<T>> x(a.begin(), a.end());
        if (reference::gauss_jordan_implicit(n, x.data()) != 0) continue;
        EXPECT_GE(n * double(std::numeric_limits<T>::epsilon()) * norm_inf(n, a) * norm_inf(n, x),
                  1)
            << what << ", matrix " << b << ", n = " << n;
    }
}

}  // namespace tessera::test
