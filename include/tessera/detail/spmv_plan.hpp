#pragma once

#include "tessera/context.hpp"

namespace tessera {

/// How `multiply` distributes the rows of a matrix; computed once from the row lengths. Move-only;
/// a moved-from plan is that of no matrix.
struct SpmvPlan {
    int lanes_per_row = 1;  ///< GPU: threads that share a row; a power of two, 1..32.
    detail::ZeroAfterMove<Index, -1> rows = -1;  ///< Rows of the matrix it was made for.
    Index long_row_threshold = 0;  ///< Rows with more entries get a thread block each.
    std::vector<Index> long_rows;  ///< Host copy of those rows, ascending.
    Buffer<Index> long_rows_device;
    std::vector<Index> row_starts;  ///< CPU: rows split into parts of about equal work.
};

}  // namespace tessera
