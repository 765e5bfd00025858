#pragma once

#include <algorithm>
#include <mutex>

#include "base/counted_bytes.hpp"
#include "base/dispatch.hpp"
#include "precond/direct/device/device_copy.hpp"
#include "precond/direct/simplicial/simplicial_factor.hpp"
#include "precond/direct/solve.hpp"
#include "tessera/direct.hpp"

namespace tessera {

template <class T>
struct Direct<T>::State {
    DirectOptions options;
    DirectReport report;
    Context context;                  ///< The matrix is in its memory.
    Context host;                     ///< For the work in host memory.
    std::vector<Offset> row_offsets;  ///< The pattern of A.
    std::vector<Index> column_indices;
    bool is_complete = false;  ///< The factors in use are those of the latest values.
    bool is_on_host = false;   ///< So are those in host memory.
    bool is_finite = true, is_in_range = true;
    std::optional<bool> known_symmetric = {};  ///< Whether the latest values are; empty: unknown.
    double norm = 0;                           ///< The largest sum of |a_ij| in a column.
    direct::Arrangement arrangement = {};
    direct::Fronts fronts = {};
    direct::Factor<T> factor = {};
    /// The plan of factors without fronts, where these take longer, and those of the latest values.
    std::optional<direct::RowPlan> row_plan = {};
    direct::SimplicialFactor<T> simplicial = {};
    CountedBytes memory{host};
    /// Factors on a GPU, which are used as long as they are there.
    std::unique_ptr<direct::DeviceCopy<T>> device = {};
    bool device_fails = false;     ///< Factors there could not be made, or did not solve a system.
    std::mutex device_mutex = {};  ///< Held by applications while they use, or leave, the device.

    void analyse(const CsrView<T>& matrix, bool may_be_simplicial);
    void plan_fronts(const CsrView<T>& matrix, std::vector<Index> order);
    bool is_analysed() const { return row_plan || !fronts.first.empty(); }
    /// Whether fronts are not needed: then the factors are complete.
    bool factor_by_rows(const CsrView<T>& matrix);
    void report_pivots(const direct::PivotCounts& pivots, double largest,
                       const std::vector<Index>& row_of_step);
    /// Finds the norm, and whether all values are finite.
    void measure(const CsrView<T>& matrix);
    /// Factors the values of a matrix, which is also in host memory.
    void compute(const Context& given, const CsrView<T>& matrix, const CsrView<T>& on_host);
    void factor_on_host(const CsrView<T>& matrix);
    bool factor_on_device(const Context& gpu, const CsrView<T>& matrix, const CsrView<T>& on_host);
    void make_device(const Context& gpu, const CsrView<T>& matrix, const CsrView<T>& on_host);
    /// `on_host` is read by the first update there.
    bool update_on_device(const Context& gpu, const CsrView<T>& matrix, const CsrView<T>& on_host);
    bool is_worth_device(const Context& given) const;
    bool has_long_rows() const;
    direct::MatrixKind kind() const;
    /// Makes factors in host memory where there are none of the latest values.
    void bring_to_host(const Context& given);
    /// Solves with the factors on the GPU; false, with factors in host memory, where there are none
    /// or they fail.
    bool solve_on_device(const Context& given, bool transposed, Vectors<const T> b, Vectors<T> x);
    /// x = A^-1 b, or A^-T b, in host memory.
    void solve(const Context& cpu, bool transposed, Vectors<const T> b, Vectors<T> x) const;
    void require_factors() const {
        require(is_complete, is_finite ? "direct: the latest factorisation was not completed"
                                       : "direct: the matrix has a NaN or infinity");
    }
    //                                      0.1              0.01
    //   plant of 30,000 rows, 7,100 delayed  286 ms, 34.9 A   202 ms, 28.0 A, 4,300 delayed
    //   dw8192                               9.3, 12.9        8.7, 12.1
    //   west0655, row by row                 0.56             0.49
    double threshold() const { return options.threshold >= 0 ? options.threshold : 0.01; }
    bool has_pattern_of(const CsrView<T>& matrix) const {
        return matrix.rows == Index(row_offsets.size()) - 1 && matrix.columns == matrix.rows &&
               std::ranges::equal(matrix.row_offsets_span(), row_offsets) &&
               std::ranges::equal(matrix.column_indices_span(), column_indices);
    }
};

}  // namespace tessera
