#include "krylov/solver/vanishing_sums.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "krylov/row_scan.hpp"

namespace tessera {

template <class T>
const char* what_sums_to_zero(const Context& context, const CsrView<T>& matrix) {
    CsrMatrix<T> copied;
    if (context.on_gpu()) copied = copy_to_host(context, matrix);
    const CsrView<T> a = context.on_gpu() ? copied.view() : matrix;
    struct Sum {
        double value = 0, size = 0;
        void add(double entry) {
            value += entry;
            size += std::abs(entry);
        }
        bool vanishes() const { return std::abs(value) <= balance_limit<T> * size; }
    };
    std::vector<Sum> rows(std::size_t(a.rows)), columns(std::size_t(a.columns));
    for (Index i = 0; i < a.rows; ++i) {
        for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
            rows[std::size_t(i)].add(double(a.values[k]));
            columns[std::size_t(a.column_indices[k])].add(double(a.values[k]));
        }
    }
    if (std::ranges::all_of(rows, &Sum::vanishes)) return "row";
    return std::ranges::all_of(columns, &Sum::vanishes) ? "column" : nullptr;
}

template <class T>
bool is_balanced_on_parts(const Context& context, const CsrView<T>& matrix, std::span<const T> b) {
    CsrMatrix<T> copied;
    std::vector<T> copied_b;
    if (context.on_gpu()) {
        copied = copy_to_host(context, matrix);
        copied_b.resize(b.size());
        copy_to_host(context, b, std::span<T>(copied_b));
        b = copied_b;
    }
    const CsrView<T> a = context.on_gpu() ? copied.view() : matrix;
    std::vector<double> sums(b.size(), 0), sizes(b.size(), 0);
    std::vector<Index> part(b.size());
    std::iota(part.begin(), part.end(), 0);
    const auto root = [&](Index i) {
        while (part[std::size_t(i)] != i) i = part[std::size_t(i)] = part[part[std::size_t(i)]];
        return i;
    };
    for (Index i = 0; i < a.rows; ++i) {
        const Index own = root(i);
        for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
            const auto j = std::size_t(a.column_indices[k]);
            if (a.values[k] == 0) continue;
            sums[j] += double(a.values[k]);
            sizes[j] += std::abs(double(a.values[k]));
            if (part[j] != own) part[std::size_t(root(Index(j)))] = own;
        }
    }
    struct Part {
        bool is_floating = true;
        double rows = 0, sum = 0;
    };
    std::vector<Part> parts(b.size());
    double square = 0;
    for (std::size_t i = 0; i < b.size(); ++i) {
        Part& one = parts[std::size_t(root(Index(i)))];
        if (!(std::abs(sums[i]) <= balance_limit<T> * sizes[i])) one.is_floating = false;
        one.rows += 1;
        one.sum += double(b[i]);
        square += double(b[i]) * double(b[i]);
    }
    const double limit = 1000 * double(std::numeric_limits<T>::epsilon()) / 2 * std::sqrt(square);
    return std::ranges::all_of(parts, [&](const Part& one) {
        return !one.is_floating || std::abs(one.sum) <= limit * std::sqrt(one.rows);
    });
}

template const char* what_sums_to_zero(const Context&, const CsrView<float>&);
template const char* what_sums_to_zero(const Context&, const CsrView<double>&);
template bool is_balanced_on_parts(const Context&, const CsrView<float>&, std::span<const float>);
template bool is_balanced_on_parts(const Context&, const CsrView<double>&, std::span<const double>);

}  // namespace tessera
