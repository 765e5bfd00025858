#pragma once

#include "krylov/null_space.hpp"

namespace tessera {

/// Vectors z for which A z is nearly, but not exactly, 0, A symmetric positive definite: motions of
/// a body on soft springs, the constant for a Laplacian that one small number makes regular. Along
/// them x may be wrong though its residual is small.
template <class T>
class SoftModes {
  public:
    SoftModes() = default;
    /// The constant, the translations and, with coordinates, the rotations whose Rayleigh quotients
    /// are below 1e-6 of the mean eigenvalue. None where that of the constant is not, or where
    /// they are rounding errors.
    static SoftModes found(const Context& context, const CsrView<T>& matrix,
                           const MatrixFacts& facts, const NodeCoordinates& coordinates);

    bool is_empty() const { return space_.vectors() == 0; }
    /// x += Z (Z^T A Z)^-1 Z^T (b - A x): no other x + Z c has an error of smaller energy. Waits.
    void correct(const Context& context, const CsrView<T>& matrix, std::span<const T> b,
                 std::span<T> x) const;

  private:
    bool factor(const Context& context, const CsrView<T>& matrix, double smallest);

    NullSpace<T> space_;
    std::vector<double> factor_;  ///< L of Z^T A Z = L L^T, by rows.
};

}  // namespace tessera
