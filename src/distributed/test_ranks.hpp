#pragma once

#include <algorithm>
#include <numeric>

#include "distributed/matrix.hpp"
#include "distributed/own_rows.hpp"
#include "distributed/sums.hpp"
#include "distributed/thread_group.hpp"
#include "support/test.hpp"

namespace tessera::test {

/// Seconds after which a rank that waits for others fails.
inline constexpr double watchdog = 120;

/// Runs f(communicator, context of the rank) on ranks: threads with one thread each on the CPU, or
/// with the GPUs in turn.
inline void on_ranks(int size, const std::function<void(const Communicator&, const Context&)>& f) {
    const bool on_gpu = context().on_gpu();
    const int devices = on_gpu ? int(cuda_devices().size()) : 0;
    run_ranks(
        size,
        [&](const Communicator& communicator) {
            const Context own =
                on_gpu ? Context::cuda(communicator.rank() % devices) : Context::cpu(1);
            f(communicator, own);
        },
        watchdog);
}

/// The first node of each rank, and the number of all: about as many for each.
inline std::vector<Offset> equal_parts(Offset nodes, int ranks) {
    std::vector<Offset> starts;
    for (int r = 0; r <= ranks; ++r) starts.push_back(nodes * r / ranks);
    return starts;
}

/// Rows first .. end - 1 of a matrix in host memory.
inline CsrMatrix<double> some_rows(const CsrView<double>& matrix, Offset first, Offset end) {
    const Offset begin = matrix.row_offsets[first], entries = matrix.row_offsets[end] - begin;
    CsrMatrix<double> rows(host(), Index(end - first), matrix.columns, entries);
    for (Offset i = first; i <= end; ++i) {
        rows.row_offsets().data()[i - first] = matrix.row_offsets[i] - begin;
    }
    std::copy_n(matrix.column_indices + begin, entries, rows.column_indices().data());
    std::copy_n(matrix.values + begin, entries, rows.values().data());
    return rows;
}

/// The own part of a vector with `width` numbers for each node.
template <class T>
std::span<const T> own_part(const std::vector<T>& vector, const std::vector<Offset>& starts,
                            int rank, int width) {
    const auto first = std::size_t(starts[std::size_t(rank)] * width),
               end = std::size_t(starts[std::size_t(rank) + 1] * width);
    return std::span(vector).subspan(first, end - first);
}

/// The rows of a rank of a matrix in host memory, distributed.
inline OwnRows distribute(const Context& own, const Communicator& communicator,
                          const std::vector<Offset>& starts, const CsrView<double>& matrix,
                          int block) {
    const auto rank = std::size_t(communicator.rank());
    const CsrMatrix<double> rows =
        some_rows(matrix, starts[rank] * block, starts[rank + 1] * block);
    return own_rows(own, communicator, starts, copy_to(own, rows).view(), block);
}

/// Writes the part of a rank, in the memory of its Context, into a vector in host memory.
template <class T>
void put_part(const Context& own, const Buffer<T>& part, const std::vector<Offset>& starts,
              int rank, int width, std::vector<T>& whole) {
    const std::vector<T> numbers = copy_to_host(own, part);
    std::ranges::copy(numbers, whole.begin() + starts[std::size_t(rank)] * width);
}

}  // namespace tessera::test
