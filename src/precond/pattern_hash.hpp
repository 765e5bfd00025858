#pragma once

#include <cstdint>

#include "precond/rows_of_thread.hpp"
#include "tessera/csr.hpp"

namespace tessera {

/// A hash of the places of the entries of a matrix, by which an update knows the pattern of the
/// setup. Waits.
template <class T>
std::uint64_t pattern_hash(const Context& context, const CsrView<T>& matrix);

/// Adds the hashes of the entries of the rows of a thread to one of RowsOfThread::results sums. Two
/// patterns with different entries have equal sums of these with a probability of 2^-64.
template <class T>
struct HashPattern {
    static constexpr int work = 256;
    RowsOfThread rows;
    CsrView<T> matrix;
    std::uint64_t* sums;

    TESSERA_HOST_DEVICE void operator()(Offset thread) const {
        std::uint64_t own = 0;
        rows.visit(thread, [&](Offset i, Offset lane) {
            for (Offset e = matrix.row_offsets[i] + lane; e < matrix.row_offsets[i + 1];
                 e += rows.lanes) {
                std::uint64_t z = std::uint64_t(i) << 32 | std::uint64_t(matrix.column_indices[e]);
                z = (z + 1) * 0x9e3779b97f4a7c15U;
                z = (z ^ (z >> 32)) * 0xbf58476d1ce4e5b9U;
                own += z ^ (z >> 29);
            }
        });
        add_to(sums + thread % RowsOfThread::results, own);
    }
};

}  // namespace tessera
