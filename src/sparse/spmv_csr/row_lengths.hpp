#pragma once

#include "base/for_each.hpp"

namespace tessera {

/// What plans need to know of all rows.
struct RowLengths {
    int fault;  ///< Whether the offsets do not ascend from 0 to the number of nonzeros.
    Offset longest;
};

/// A loop body for i = 0 .. rows.
struct ScanRowLengths {
    static constexpr int work = 2;
    Offset rows, nonzeros;
    const Offset* row_offsets;
    RowLengths* found;

    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        const Offset begin = row_offsets[i], end = i < rows ? row_offsets[i + 1] : nonzeros;
        if (begin > end || (i == 0 && begin != 0) || (i == rows && begin != end)) {
            raise_flag(&found->fault);
        }
        raise_to(&found->longest, end - begin);
    }
};

}  // namespace tessera
