#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tessera/formats.hpp"
#include "tessera/precond.hpp"

namespace tessera {

/// Near-kernel vectors of a matrix, such as the rigid body modes of elasticity: `columns` vectors v
/// with A v almost 0. Vector c has values[i * columns + c] in row i. In host memory.
struct NearNullSpace {
    int columns = 1;
    std::vector<double> values;
};

/// Translations and rotations of nodes in 2 or 3 dimensions: 3 or 6 vectors.
TESSERA_API NearNullSpace rigid_body_modes(const NodeCoordinates& coordinates);
/// `block` vectors: vector c is 1 at unknown c of every node and 0 elsewhere.
TESSERA_API NearNullSpace translations(Index nodes, int block);

/// The condition for a strong coupling of two nodes; theta is AmgOptions::theta.
enum class AmgStrength : std::uint8_t {
    frobenius,  ///< ||A_ij|| > theta sqrt(||A_ii|| ||A_jj||), of the scaled matrix.
    distance,   ///< w_ij > theta sqrt(w_i w_j), w_ij = |x_i - x_j|^-2, w_i the sum over j != i.
    both,       ///< Both conditions hold.
};
TESSERA_API const char* to_string(AmgStrength strength);

/// Which near-null vectors to use if none are given.
enum class AmgNearNull {
    automatic,     ///< rigid_body if coordinates allow, else translations.
    rigid_body,    ///< Needs coordinates of as many dimensions as a node has unknowns, 2 or 3.
    translations,  ///< One vector for each unknown of a node, the constant vector for one.
};
TESSERA_API const char* to_string(AmgNearNull near_null);

struct AmgOptions {
    /// Unknowns of a node, consecutive rows, 1..8. 0: the number of rows over that of the nodes of
    /// the coordinates, if given; else the size of the natural blocks (find_blocks), if nearly all
    /// have one size (nodes that lack an unknown are padded); else 3 or 2, if such blocks are
    /// nearly full; else 1.
    int block = 0;
    Shared<NodeCoordinates> coordinates = {};  ///< May be empty.
    Shared<NearNullSpace> near_null = {};      ///< At most 8 vectors; empty: near_null_kind.
    AmgNearNull near_null_kind = AmgNearNull::automatic;
    /// find_blocks(context, matrix, 8, Blocking::natural), where the caller has it already.
    std::shared_ptr<const BlockPartition> natural_blocks = nullptr;
    AmgStrength strength = AmgStrength::both;  ///< Without coordinates frobenius.
    double theta = 0.02;                       ///< Strength threshold, on every level.
    /// Minimum number of free neighbours, itself included, for a node to start an aggregate in pass
    /// 2 of the aggregation; 0: no pass 2; -1: 9 on the finest level and, with several near-null
    /// vectors, on others of at least 20,000 nodes, else 3.
    int second_pass = -1;
    /// Products of the smoother, an optimal Chebyshev polynomial of the fourth kind, before and
    /// after the coarse correction, 2..16.
    int smoothing_steps = 2;
    /// A level of at most this many rows is solved directly. 0: for a matrix of n rows n / 20,
    /// clamped to 1000..1500; on the CPU n / 200, clamped to 300..600.
    Index coarse_rows = 0;
    int max_levels = 10;           ///< The last one is only smoothed if it has many rows.
    double omega = 4. / 3;         ///< The prolongator is smoothed by omega / largest eigenvalue.
    double lambda_factor = 1.1;    ///< Factor on the largest Ritz value, for an upper bound.
    bool single_precision = true;  ///< The cycle in float. Setup is always in double.
    /// Type of the stored values of matrices in the cycle: working or f16. nullopt: f16 where the
    /// cycle is in float and the matrix, scaled to unit diagonal blocks, seems to have no
    /// eigenvalue below 1e-7 (on a GPU 1e-6), but on a CPU not for one unknown per node, and not
    /// where the matrix is singular or the last level is only smoothed; else working.
    std::optional<ValueFormat> values = {};
    /// A level that would have too many entries, as those of graphs that are no meshes, ends the
    /// setup with InvalidArgument; otherwise it is left out.
    bool refuses_fill = false;
    /// The arrays of the matrix keep their place, pattern and values until the next update or the
    /// end of this object: they are read again where values are needed, and not copied.
    bool matrix_stays = false;
};

/// A level of a hierarchy, as reported.
struct AmgLevel {
    Index nodes = 0;
    int block = 1;         ///< Unknowns of a node.
    Offset blocks = 0;     ///< Stored blocks of the matrix.
    double lambda = 0;     ///< Bound of the spectrum of the scaled matrix; 0: solved directly.
    Offset transfers = 0;  ///< Blocks of the prolongator to this level; 0 for the first one.
};

/// A matrix was found not to be positive definite, or has values that are not finite.
class TESSERA_API NotPositiveDefinite : public InvalidArgument {
  public:
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
    /// Blocks until the work is complete. Throws InvalidArgument for invalid options and arrays,
    /// NotPositiveDefinite if a diagonal block or the coarsest matrix is not positive definite.
    Amg(const Context& context, const CsrView<T>& matrix, const AmgOptions& options = {});
    ~Amg() override;
    Index rows() const override;
    Index columns() const override { return rows(); }
    void apply(const Context& context, std::span<const T> r, std::span<T> z) const override;
    void apply_vectors(const Context& context, Vectors<const T> r, Vectors<T> z) const override;
    /// Keeps the aggregates. Where f16 was chosen automatically and is too coarse for the new
    /// matrix, values are ValueFormat::working from then on. Allocates; graphs that apply it must
    /// be recorded anew (IterativeSolver::operators_changed). A matrix of another size or pattern
    /// changes nothing; after an exception of the setup, such as NotPositiveDefinite, `apply`
    /// throws InvalidArgument until an update succeeds.
    void update(const Context& context, const CsrView<T>& matrix) override;
    std::string describe() const override;
    /// Continues in the precision of T, with bounds of the spectrum raised by a quarter.
    bool recover(const Context& context, Offset known) const override;
    Offset recoveries() const override;
    const AmgOptions& options() const;
    std::vector<AmgLevel> levels() const;
    /// Stored entries of all levels over those of the finest.
    double operator_complexity() const;
    std::vector<std::string> warnings() const;

  private:
    PreconditionerReport make_report() const override;
    struct State;
    std::unique_ptr<State> state_;
};
template <class T>
Amg(const Context&, const CsrMatrix<T>&, const AmgOptions& = {}) -> Amg<T>;

}  // namespace tessera
