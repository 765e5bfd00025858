#pragma once

#include "harness/bench.hpp"

namespace tessera::bench {

struct BatchedOptions {
    /// invert, solve, condition, norm, norm_one, multiply, accuracy, registers.
    std::vector<std::string> ops = {"invert"};
    std::vector<std::string> types = {"f64"};
    /// Rows of the matrices; for varying sizes the set that they are drawn from.
    std::vector<int> sizes = {4, 8, 12, 16, 20, 24, 28, 32};
    std::vector<int> batches = {10000};
    /// uniform; strided (leading dimension n + 1); variable (sizes drawn uniformly from `sizes`,
    /// packed); pointers (an array of addresses).
    std::vector<std::string> layouts = {"uniform"};
    bool peers = false;
    double seconds = 0.1;  ///< Each row is measured for at least this time.
};

/// Reads "4,8,16-32". Throws InvalidArgument unless all are in 1..batched::largest_size.
std::vector<int> parse_sizes(const std::string& text);

/// Measures the batched operations. "failed_checks" of the document counts the rows whose results
/// missed their bound: they are not timed, and their milliseconds are null. residual_ratio is the
/// worst of some matrices, computed in long double, and must be below one for the library (see
/// tessera/batched.hpp for the bounds) and below `peer_bound` for the others:
///   invert     ||X A - I|| over n eps ||A|| ||X|| max(1, pivot growth), infinity norm; the better
///              of ||X A - I|| and ||A X - I|| for peers
///   condition  |c / kappa - 1| over 10 n eps kappa
///   norm       |norm - exact| over n eps exact
///   solve      |b - A x| over 3 n^2 eps max |a_ij| ||x||_1 max(1, pivot growth), the worst row
///   multiply   |y - A x| over (n + 1) eps |A| |x|, the worst row
/// Rows `read` and `copy` beside norms and products are the times of the GPU for reading or copying
/// an equal number of bytes.
Json batched(const Context& context, const BatchedOptions& options);

/// Peers do not guarantee a side or a constant.
inline constexpr double peer_bound = 10;

}  // namespace tessera::bench
