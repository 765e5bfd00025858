#include "krylov/reduction/symmetriser.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <mutex>

#include "base/find_csr_entry.hpp"
#include "base/parallel.hpp"
#include "krylov/reduction/symmetry_walk.hpp"

namespace tessera {

template <class T>
KeptPart<T> kept_part(const CsrView<T>& matrix, const std::vector<Index>& fixed) {
    KeptPart<T> part{matrix, {}, std::vector<Index>(std::size_t(matrix.rows), 0), {}, {}};
    for (const Index i : fixed) part.number[std::size_t(i)] = -1;
    for (Index i = 0; i < matrix.rows; ++i) {
        if (part.number[std::size_t(i)] < 0) continue;
        part.number[std::size_t(i)] = Index(part.rows.size());
        part.rows.push_back(i);
    }
    for (const Index i : part.rows) {
        double largest = 0, diagonal = 0;
        for (Offset e = matrix.row_offsets[i]; e < matrix.row_offsets[i + 1]; ++e) {
            const Index j = matrix.column_indices[e];
            if (part.number[std::size_t(j)] < 0) continue;
            largest = std::max(largest, std::abs(double(matrix.values[e])));
            if (j == i) diagonal = double(matrix.values[e]);
        }
        part.largest.push_back(largest);
        part.diagonal.push_back(diagonal);
    }
    return part;
}

template <class T>
double asymmetry(const KeptPart<T>& part, const std::vector<double>& d, double limit, int threads) {
    const CsrView<T>& a = part.matrix;
    constexpr double infinity = std::numeric_limits<double>::infinity();
    std::atomic<bool> is_above{false};
    std::mutex mutex;
    double result = 0;
    const auto look = [&](Offset first, Offset last) {
        double found = 0;
        for (Offset k = first; k < last && !is_above.load(std::memory_order_relaxed); ++k) {
            const Index i = part.rows[std::size_t(k)];
            const double size = std::abs(d[std::size_t(k)]) * part.largest[std::size_t(k)];
            for (Offset e = a.row_offsets[i]; e < a.row_offsets[i + 1]; ++e) {
                const Index j = a.column_indices[e], m = part.number[std::size_t(j)];
                if (m < 0 || m == k) continue;
                const Offset mirror = find_csr_entry(a, j, i);
                if (mirror >= 0 && j < i) continue;  // Row j compares them.
                const double image = mirror < 0 ? 0 : d[std::size_t(m)] * double(a.values[mirror]);
                const double difference = std::abs(d[std::size_t(k)] * double(a.values[e]) - image);
                const double scale =
                    std::min(size, std::abs(d[std::size_t(m)]) * part.largest[std::size_t(m)]);
                if (difference == 0) continue;
                found = std::max(found, difference / scale);
                if (!(difference <= limit * scale)) is_above = true;
            }
        }
        const std::lock_guard lock(mutex);
        result = std::max(result, found);
    };
    parallel_ranges(threads, Offset(part.rows.size()), look, 1000);
    return is_above ? infinity : result;
}

template <class T>
std::vector<double> find_symmetriser(const KeptPart<T>& part, double limit) {
    const CsrView<T>& a = part.matrix;
    std::vector<double> d(part.rows.size(), 0);
    double smallest = std::numeric_limits<double>::infinity(), largest = 0;
    std::vector<Index> stack;
    const auto visit = [&](std::size_t k, double value) {
        d[k] = value;
        smallest = std::min(smallest, std::abs(value));
        largest = std::max(largest, std::abs(value));
        stack.push_back(Index(k));
    };
    for (std::size_t root = 0; root < d.size(); ++root) {
        if (d[root] != 0) continue;
        visit(root, part.diagonal[root] < 0 ? -1.0 : 1.0);
        while (!stack.empty()) {
            const auto k = std::size_t(stack.back());
            stack.pop_back();
            const Index i = part.rows[k];
            for (Offset e = a.row_offsets[i]; e < a.row_offsets[i + 1]; ++e) {
                const Index m = part.number[std::size_t(a.column_indices[e])];
                const auto other = std::size_t(m);
                const double value = double(a.values[e]);
                if (m < 0 || other == k) continue;
                const Offset mirror = find_csr_entry(a, a.column_indices[e], i);
                const double image = mirror < 0 ? 0 : double(a.values[mirror]);
                const bool is_small = std::abs(value) <= 1e-6 * part.largest[k];
                // Entries of rounding errors tell nothing.
                if (is_small && std::abs(image) <= 1e-6 * part.largest[other]) continue;
                if (image == 0 || value == 0) return {};
                if (d[other] == 0) {
                    visit(other, d[k] * value / image);
                    if (!(largest <= symmetriser_span * smallest)) return {};
                } else if (!(std::abs(d[k] * value - d[other] * image) <=
                             10 * limit * std::abs(d[k]) * part.largest[k])) {
                    return {};
                }
            }
        }
    }
    return d;
}

template KeptPart<float> kept_part(const CsrView<float>&, const std::vector<Index>&);
template KeptPart<double> kept_part(const CsrView<double>&, const std::vector<Index>&);
template double asymmetry(const KeptPart<float>&, const std::vector<double>&, double, int);
template double asymmetry(const KeptPart<double>&, const std::vector<double>&, double, int);
template std::vector<double> find_symmetriser(const KeptPart<float>&, double);
template std::vector<double> find_symmetriser(const KeptPart<double>&, double);

}  // namespace tessera
