#pragma once

#include <vector>

namespace tessera {

/// The weights beta_1 .. beta_m of R = 1 - sum_k beta_k (R_(k-1) - R_k), with the polynomials of
/// the fourth kind R_k = W_k(1 - 2 t) / (2 k + 1), for which the largest t R^2 / (1 - R^2) on (0,
/// 1] is least (Lottes 2022): R sqrt(1 + t / gamma) then swings between +1 and -1 at m points, the
/// last of which is 1, and R'(0) = -1 / (2 gamma). Found by Remez' exchange to about 1e-12.
std::vector<double> optimal_weights(int m);

}  // namespace tessera
