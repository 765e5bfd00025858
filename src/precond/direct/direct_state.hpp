#pragma once

#include <algorithm>

#include "base/counted_bytes.hpp"
#include "base/dispatch.hpp"
#include "precond/direct/solve.hpp"
#include "tessera/direct.hpp"

namespace tessera {

template <class T>
struct Direct<T>::State {
    DirectOptions options;
    DirectReport report;
    Context host;  ///< For the work in host memory.
    bool on_gpu;
    std::vector<Offset> row_offsets;  ///< The pattern of A.
    std::vector<Index> column_indices;
    bool is_complete = false;  ///< The factors are those of the latest values.
    bool is_finite = true, is_in_range = true;
    double norm = 0;  ///< The largest sum of |a_ij| in a column.
    direct::Arrangement arrangement = {};
    direct::Fronts fronts = {};
    direct::Factor<T> factor = {};
    CountedBytes memory{host};

    void analyse(const CsrView<T>& matrix);
    void compute(const CsrView<T>& matrix);
    /// x = A^-1 b, or A^-T b, in host memory.
    void solve(const Context& cpu, bool transposed, Vectors<const T> b, Vectors<T> x) const;
    void require_factors() const {
        require(is_complete, is_finite ? "direct: the latest factorisation was not completed"
                                       : "direct: the matrix has a NaN or infinity");
    }
    double threshold() const {
        if (options.threshold >= 0) return options.threshold;
        return report.symmetric ? 0.01 : 0.1;
    }
    bool has_pattern_of(const CsrView<T>& matrix) const {
        return matrix.rows == Index(row_offsets.size()) - 1 && matrix.columns == matrix.rows &&
               std::ranges::equal(matrix.row_offsets_span(), row_offsets) &&
               std::ranges::equal(matrix.column_indices_span(), column_indices);
    }
};

}  // namespace tessera
