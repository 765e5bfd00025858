#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tessera/formats.hpp"
#include "tessera/precond.hpp"

namespace tessera {

/// `columns` vectors that a matrix maps to almost nothing, such as the rigid body modes of an
/// elastic body: number c of row i is values[i * columns + c]. In host memory.
struct NearNullSpace {
    int columns = 1;
    std::vector<double> values;
};

/// Translations and rotations of nodes in 2 or 3 dimensions: 3 or 6 vectors.
TESSERA_API NearNullSpace rigid_body_modes(const NodeCoordinates& coordinates);
/// One vector for each of the `block` unknowns of a node: 1 there, 0 elsewhere.
TESSERA_API NearNullSpace translations(Index nodes, int block);

/// What makes a coupling of two nodes strong, theta being AmgOptions::theta.
enum class AmgStrength : std::uint8_t {
    frobenius,  ///< ||A_ij|| > theta sqrt(||A_ii|| ||A_jj||), of the scaled matrix.
    distance,   ///< w_ij > theta sqrt(w_i w_j), w_ij = |x_i - x_j|^-2, w_i the sum over j != i.
    both,       ///< Strong by both.
};
TESSERA_API const char* to_string(AmgStrength strength);

/// Near-null vectors, unless they are given.
enum class AmgNearNull {
    automatic,     ///< rigid_body where coordinates allow, else translations.
    rigid_body,    ///< Needs coordinates of as many dimensions as a node has unknowns, 2 or 3.
    translations,  ///< One vector for each unknown of a node, the constant vector for one.
};
TESSERA_API const char* to_string(AmgNearNull near_null);

struct AmgOptions {
    /// Unknowns of a node, consecutive rows, 1..8. 0: the rows for each node of the coordinates, if
    /// there are any, else the size of the natural blocks (find_blocks), if that is one size,
    /// else 1.
    int block = 0;
    Shared<NodeCoordinates> coordinates = {};  ///< May be empty.
    Shared<NearNullSpace> near_null = {};      ///< At most 8 vectors; empty: as the kind says.
    AmgNearNull near_null_kind = AmgNearNull::automatic;
    AmgStrength strength = AmgStrength::both;  ///< Without coordinates frobenius.
    double theta = 0.02;                       ///< Bound of strong couplings, on every level.
    /// Minimum number of neighbours of roots in the second pass of the aggregation; 0: none, -1: 3
    /// in rows of more than 20 blocks, and with one near-null vector below the finest level,
    /// else 9.
    int second_pass = -1;
    /// Products of the smoother, an optimal Chebyshev polynomial of the fourth kind, before and
    /// after the coarse correction, 2..16.
    int smoothing_steps = 2;
    /// A level of no more rows is solved directly. 0: a twentieth of all, 1000
    /// to 1500, on the CPU a 200th, 200 to 600.
    Index coarse_rows = 0;
    int max_levels = 10;           ///< The last one is only smoothed if it has many rows.
    double omega = 4. / 3;         ///< Of the smoothed prolongator, over the largest eigenvalue.
    double lambda_factor = 1.1;    ///< Safeguard of the largest Ritz value.
    bool single_precision = true;  ///< The cycle in float. Setup is always in double.
    /// Rounding of the values of the first matrix in the cycle.
    ValueFormat values = ValueFormat::working;
};

/// A level of a hierarchy, as reported.
struct AmgLevel {
    Index nodes = 0;
    int block = 1;         ///< Unknowns of a node.
    Offset blocks = 0;     ///< Of the matrix.
    double lambda = 0;     ///< Bound of the spectrum of the scaled matrix; 0: solved directly.
    Offset transfers = 0;  ///< Blocks of the prolongator to this level; 0 for the first one.
};

/// A matrix is not positive definite, as its values show, or has values that are not finite.
class TESSERA_API NotPositiveDefinite : public InvalidArgument {
    using InvalidArgument::InvalidArgument;
};

/// Multigrid by smoothed aggregation for symmetric positive definite matrices: z is a V-cycle for
/// A z = r from 0, symmetric and positive definite (in float as long as stiffnesses differ by less
/// than some 1e7). Source: Vanek, Mandel and Brezina, Algebraic multigrid by smoothed aggregation
/// for second and fourth order elliptic problems, Computing 56 (1996); optimal smoothers of
/// J. Lottes (2022).
template <class T>
class TESSERA_API Amg final : public Preconditioner<T> {
  public:
    /// Waits. Throws InvalidArgument for options and arrays that do not fit, NotPositiveDefinite
    /// for a matrix with a block on the diagonal or on the coarsest level that is not.
    Amg(const Context& context, const CsrView<T>& matrix, const AmgOptions& options = {});
    ~Amg() override;
    Index rows() const override;
    Index columns() const override { return rows(); }
    void apply(const Context& context, std::span<const T> r, std::span<T> z) const override;
    void apply_vectors(const Context& context, Vectors<const T> r, Vectors<T> z) const override;
    /// Keeps the aggregates. Allocates. After NotPositiveDefinite nothing can be applied until
    /// another update succeeds.
    void update(const Context& context, const CsrView<T>& matrix) override;
    std::string describe() const override;
    /// Goes on in the precision of T, with bounds of the spectrum raised by a quarter.
    bool recover(const Context& context, Offset known) const override;
    Offset recoveries() const override;
    const AmgOptions& options() const;
    std::vector<AmgLevel> levels() const;
    /// Stored entries of all levels over those of the first.
    double operator_complexity() const;
    std::vector<std::string> warnings() const;

  private:
    PreconditionerReport make_report() const override;
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace tessera
