#include <algorithm>

#include "base/checks.hpp"
#include "base/phases.hpp"
#include "base/zeros.hpp"
#include "sparse/spmv_csr/kernels.hpp"
#include "sparse/spmv_csr/row_lengths.hpp"

namespace tessera {

namespace {

/// Rows longer than this are split over a thread block (GPU) or over all threads (CPU).
constexpr Index long_row_on_gpu = 2048;
constexpr Index long_row_on_cpu = 65536;

/// Threads that a GPU needs to hide the latency of its memory; with fewer rows each gets more
/// lanes.
constexpr Offset threads_to_fill_gpu = 1 << 18;

/// Threads that share a row: the least power of two that leaves each about five entries (measured:
/// docs/decisions/csr-lanes.md), more if there are few rows.
int choose_lanes(Index rows, double mean_length) {
    int lanes = 1;
    while (lanes < 32 && 5 * lanes < mean_length) lanes *= 2;
    while (lanes < 32 && 2 * lanes < mean_length && lanes * Offset(rows) < threads_to_fill_gpu) {
        lanes *= 2;
    }
    return lanes;
}

/// What ScanRowLengths finds, of rows in host memory, without atomic operations.
RowLengths row_lengths_on_host(Index rows, Offset nonzeros, const Offset* offsets) {
    bool is_faulty = offsets[0] != 0 || offsets[rows] != nonzeros;
    Offset longest = 0;
    for (Index i = 0; i < rows; ++i) {
        const Offset length = offsets[i + 1] - offsets[i];
        is_faulty |= length < 0;
        longest = std::max(longest, length);
    }
    return {is_faulty, longest};
}

RowLengths row_lengths(const Context& context, Index rows, Offset nonzeros, const Offset* offsets) {
    if (!context.on_gpu()) return row_lengths_on_host(rows, nonzeros, offsets);
    Buffer<RowLengths> found = zeros<RowLengths>(context, 1);
    for_each_index(context, Offset(rows) + 1,
                   ScanRowLengths{rows, nonzeros, offsets, found.data()});
    return read_value(context, found.data());
}

}  // namespace

template <class T>
SpmvPlan plan_spmv(const Context& context, const CsrView<T>& matrix) {
    check_matrix("plan_spmv", matrix);
    check_memory(context, "plan_spmv", matrix);
    SpmvPlan plan;
    plan.rows = matrix.rows;
    const RowLengths lengths =
        row_lengths(context, matrix.rows, matrix.nonzeros, matrix.row_offsets);
    require(lengths.fault == 0,
            "plan_spmv: the row offsets must ascend from 0 to the number of nonzeros");
    plan.long_row_threshold = context.on_gpu() ? long_row_on_gpu : long_row_on_cpu;
    Offset short_entries = matrix.nonzeros;
    if (lengths.longest > plan.long_row_threshold) {
        std::vector<Offset> offsets(std::size_t(matrix.rows) + 1);
        copy_to_host(context, matrix.row_offsets_span(), std::span<Offset>(offsets));
        for (Index i = 0; i < matrix.rows; ++i) {
            const Offset length = offsets[std::size_t(i) + 1] - offsets[std::size_t(i)];
            if (length <= plan.long_row_threshold) continue;
            plan.long_rows.push_back(i);
            short_entries -= length;
        }
    }
    plan.lanes_per_row =
        choose_lanes(matrix.rows, double(short_entries) / std::max<Index>(1, matrix.rows));
    if (context.on_gpu()) {
        plan.long_rows_device = copy_to_buffer(context, plan.long_rows);
        return plan;
    }
    // Parts of equal work: a row costs its entries plus about four.
    const Offset parts = 8 * context.threads();
    const Offset work = short_entries + 4 * Offset(matrix.rows);
    const Offset* const offsets = matrix.row_offsets;
    plan.row_starts.assign(1, 0);
    const auto end_of_part = [&] {
        return (work * Offset(plan.row_starts.size()) + parts - 1) / parts;
    };
    Offset done = 0, end = end_of_part();
    for (Index i = 0; i < matrix.rows; ++i) {
        const Offset length = offsets[i + 1] - offsets[i];
        done += 4 + (length > plan.long_row_threshold ? 0 : length);
        if (done < end || i + 1 == matrix.rows) continue;
        plan.row_starts.push_back(i + 1);
        end = end_of_part();
    }
    plan.row_starts.push_back(matrix.rows);
    return plan;
}

namespace {

/// multiply after checks of the vectors.
template <class T>
void run(const Context& context, const CsrView<T>& matrix, const SpmvPlan& plan, T alpha,
         const Vectors<const T>& x, T beta, const Vectors<T>& y) {
    check_matrix("multiply", matrix);
    require(plan.rows == matrix.rows && plan.long_row_threshold > 0,
            "multiply: the plan belongs to another matrix; make it with plan_spmv");
    const double entries = double(matrix.nonzeros) * (sizeof(T) + sizeof(Index)) +
                           double(matrix.rows) * sizeof(Offset);
    const double numbers = double(matrix.rows) * (beta == T(0) ? 1 : 2) + double(matrix.columns);
    const Phase phase(context, "spmv", entries + x.count * numbers * sizeof(T));
    TESSERA_RUN(multiply<T>, context, matrix, plan, alpha, x, beta, y);
}

}  // namespace

template <class T>
void multiply(const Context& context, const CsrView<T>& matrix, const SpmvPlan& plan,
              std::type_identity_t<T> alpha, std::span<const std::type_identity_t<T>> x,
              std::type_identity_t<T> beta, std::span<std::type_identity_t<T>> y) {
    check_vector("multiply", "x", x, matrix.columns);
    check_vector("multiply", "y", y, matrix.rows);
    run(context, matrix, plan, alpha, one_vector(x), beta, one_vector(y));
}

template <class T>
void multiply(const Context& context, const CsrView<T>& matrix, const SpmvPlan& plan,
              std::type_identity_t<T> alpha, const Vectors<const std::type_identity_t<T>>& x,
              std::type_identity_t<T> beta, const Vectors<std::type_identity_t<T>>& y) {
    check_vectors("multiply", "x", x, matrix.columns);
    check_vectors("multiply", "y", y, matrix.rows);
    require(x.count == y.count, "multiply: x has ", x.count, " vectors, y has ", y.count);
    run(context, matrix, plan, alpha, x, beta, y);
}

#define TESSERA_INSTANTIATE(T)                                                       \
    template SpmvPlan plan_spmv<T>(const Context&, const CsrView<T>&);               \
    template void multiply<T>(const Context&, const CsrView<T>&, const SpmvPlan&, T, \
                              std::span<const T>, T, std::span<T>);                  \
    template void multiply<T>(const Context&, const CsrView<T>&, const SpmvPlan&, T, \
                              const Vectors<const T>&, T, const Vectors<T>&);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera
