#pragma once

#include "tessera/context.hpp"

namespace tessera {

/// How `multiply` distributes the rows of a matrix; computed once from the row lengths.
struct SpmvPlan {
    SpmvPlan() = default;
    /// A moved-from plan is that of no matrix.
    SpmvPlan(SpmvPlan&& other) noexcept { *this = std::move(other); }
    SpmvPlan& operator=(SpmvPlan&& other) noexcept {
        lanes_per_row = other.lanes_per_row;
        rows = std::exchange(other.rows, -1);
        long_row_threshold = other.long_row_threshold;
        long_rows = std::move(other.long_rows);
        long_rows_device = std::move(other.long_rows_device);
        row_starts = std::move(other.row_starts);
        return *this;
    }

    int lanes_per_row = 1;         ///< GPU: threads that share a row; a power of two, 1..32.
    Index rows = -1;               ///< Rows of the matrix it was made for.
    Index long_row_threshold = 0;  ///< Rows with more entries get a thread block each.
    std::vector<Index> long_rows;  ///< Host copy of those rows, ascending.
    Buffer<Index> long_rows_device;
    std::vector<Index> row_starts;  ///< CPU: rows split into parts of about equal work.
};

}  // namespace tessera
