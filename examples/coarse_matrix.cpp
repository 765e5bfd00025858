// The coarse matrix P^T A P of linear interpolation P on a line, for one conductivity after
// another: the patterns are made once, the values by update_product.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include <tessera/tessera.hpp>

using namespace tessera;

namespace {

constexpr Index coarse_rows = 50, rows = 2 * coarse_rows + 1;

/// conductivity * (-1, 2, -1)
CsrMatrix<double> fine_matrix(const Context& cpu, double conductivity) {
    CsrMatrix<double> a(cpu, rows, rows, 3 * rows - 2);
    Offset k = 0;
    for (Index i = 0; i < rows; ++i) {
        a.row_offsets().data()[i] = k;
        for (Index j = std::max(i - 1, 0); j <= std::min(i + 1, rows - 1); ++j) {
            a.column_indices().data()[k] = j;
            a.values().data()[k++] = conductivity * (i == j ? 2 : -1);
        }
    }
    a.row_offsets().data()[rows] = k;
    return a;
}

/// Column j is (1/2, 1, 1/2) at the rows 2 j .. 2 j + 2.
CsrMatrix<double> interpolation(const Context& cpu) {
    CsrMatrix<double> p(cpu, rows, coarse_rows, 3 * coarse_rows);
    Offset k = 0;
    for (Index i = 0; i < rows; ++i) {
        p.row_offsets().data()[i] = k;
        for (Index j = std::max((i - 1) / 2, 0); j <= std::min(i / 2, coarse_rows - 1); ++j) {
            if (i < 2 * j || i > 2 * j + 2) continue;
            p.column_indices().data()[k] = j;
            p.values().data()[k++] = i == 2 * j + 1 ? 1 : 0.5;
        }
    }
    p.row_offsets().data()[rows] = k;
    return p;
}

}  // namespace

int main() {
    const Context cpu = Context::cpu();
    const Context context = Context::from_name("auto");  // The GPU if there is one.
    CsrMatrix<double> a = copy_to(context, fine_matrix(cpu, 1));
    const CsrMatrix<double> p = copy_to(context, interpolation(cpu));
    const CsrMatrix<double> pt = transpose(context, p);
    CsrMatrix<double> ap = multiply(context, a, p);
    CsrMatrix<double> c = multiply(context, pt, ap);
    for (int step = 1; step <= 3; ++step) {
        const CsrMatrix<double> values = fine_matrix(cpu, step);
        copy_from_host(context, values.values(), a.values());
        update_product(context, a, p, ap);
        update_product(context, pt, ap, c);
        // Half the conductivity, on coarse nodes twice as far apart.
        const double diagonal = copy_to_host(context, c.values())[0];
        std::printf("conductivity %d: the coarse diagonal is %g\n", step, diagonal);
        if (std::abs(diagonal - step) > 1e-12) return 1;
    }
    return 0;
}
