#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sparse/solution_errors/row_errors_cpu.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "simd/dispatch.hpp"
#include "sparse/solution_errors/row_errors.hpp"

// Compiled for each instruction set as the error of a product takes one instruction, or a call.
HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {

/// As RowErrors for rows first .. last - 1; the largest error, or NaN.
template <class T>
static double measure_range(const RowErrors<T>& f, double max_x, Offset first, Offset last) {
    constexpr double roundoff = std::numeric_limits<double>::epsilon() / 2;
    double largest = 0;
    for (Offset i = first; i < last; ++i) {
        const double start = double(f.b[i]);
        RowTerms row;
        bool is_accurate = false;
        const Offset entries = f.a.row_offsets[i + 1] - f.a.row_offsets[i];
        if (f.max_rounding > 0 && entries <= max_plain_entries) {
            row = plain_terms(f.a, f.x, i, start);
            is_accurate = std::sqrt(double(entries)) * roundoff * row.terms <= f.max_rounding;
        }
        if (!is_accurate) row = compensated_terms(f.a, f.x, i, start);
        const double error = f.set(i, row, max_x);
        if (!(error <= largest) && largest == largest) largest = error;
    }
    return largest;
}

template <class T>
static void residuals_of_range(const CsrView<T>& a, const T* b, const T* x, T* r, Offset first,
                               Offset last) {
    for (Offset i = first; i < last; ++i) {
        const RowTerms row = compensated_terms(a, x, i, double(b[i]));
        r[i] = T(row.sum + row.error);
    }
}

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {

template <class T>
void measure_rows(const Context& context, const RowErrors<T>& body) {
    constexpr Offset work = 32;  // Numbers that a row reads, about.
    const auto measure = TESSERA_SIMD(context, measure_range<T>);
    const double max_x = std::bit_cast<double>(*body.largest_x);
    parallel_ranges(
        context.threads(), body.a.rows,
        [&](Offset first, Offset last) {
            in_pieces(first, last, (1 << 22) / work, [&](Offset begin, Offset end) {
                raise_to(body.largest_error, order_bits(measure(body, max_x, begin, end)));
            });
        },
        parallel_grain / work);
}

template <class T>
void measure_residuals(const Context& context, const CsrView<T>& a, const T* b, const T* x, T* r,
                       Offset first, Offset last) {
    TESSERA_SIMD(context, residuals_of_range<T>)(a, b, x, r, first, last);
}

template void measure_rows(const Context&, const RowErrors<float>&);
template void measure_rows(const Context&, const RowErrors<double>&);
template decltype(measure_residuals<float>) measure_residuals<float>;
template decltype(measure_residuals<double>) measure_residuals<double>;

}  // namespace tessera::cpu
#endif
