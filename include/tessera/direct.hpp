#pragma once

#include <memory>
#include <optional>

#include "tessera/operator.hpp"
#include "tessera/spec.hpp"

namespace tessera {

struct DirectOptions {
    /// A pivot is accepted if it is at least this times the largest entry of its column, 0..0.5;
    /// others are delayed. Negative: 0.01.
    double threshold = -1;
    /// Permute large entries to the diagonal first. Not set: where some |a_ii| is smaller than 1e-3
    /// of the largest entries of both its row and its column, and the matrix is not dense.
    std::optional<bool> matching = {};
    bool symmetric = true;  ///< LDL^T for symmetric matrices; false: LU for all.
    double max_flops = 0;   ///< Refuse factorisations of more operations; 0: none.
    /// Refuse factorisations that are predicted to take more than this share of the free host
    /// memory.
    double memory_share = 1;
};

/// Results of a factorisation.
struct DirectReport {
    bool symmetric = false;     ///< LDL^T, else LU.
    bool matched = false;       ///< Whether large entries were permuted to the diagonal.
    Index structural_rank = 0;  ///< All rows, if nothing was matched.
    Index blocks = 0;           ///< Diagonal blocks of the block triangular form.
    Index fronts = 0;           ///< Dense matrices that are factored one by one; 0: rows are.
    Index largest_front = 0;    ///< Rows of the largest of them.
    double flops = 0;           ///< Predicted operations, without delayed pivots.
    Offset factor_entries = 0;  ///< Entries of the factors.
    Offset factor_bytes = 0;    ///< Host memory of the factors.
    Offset delayed = 0;         ///< Times that a pivot was delayed to the parent of its front.
    Index null_pivots = 0;      ///< Columns without a pivot: the matrix is singular.
    /// The smallest pivot over the largest entry of the scaled matrix, and its row of A.
    double smallest_pivot = 0;
    Index smallest_pivot_row = -1;
    /// Eigenvalues of A of each sign, for LDL^T; those that are zero are null_pivots.
    Index positive = 0, negative = 0;
    bool on_device = false;  ///< The factors that are applied are in the memory of a GPU.
    double analysis_seconds = 0, factor_seconds = 0;
};

/// Exact factors of any square matrix: L D L^T of symmetric, L U of others, with threshold
/// pivoting, by the multifrontal method:
///   z = D_c P_c B^-1 P_r D_r r,   B = P_r D_r A D_c P_c.
/// D and P scale A and permute large entries to its diagonal where those there are small; a
/// nonsymmetric matrix is brought to block triangular form; blocks are ordered by approximate
/// minimum degree. Columns of similar pattern form dense fronts. Rows that have no pivot above the
/// threshold in their front move to the next one. Small matrices are factored row by row instead,
/// up to about 1,000 operations for each row, unless a threshold or the matching is given: U^T D U
/// with the pivots of the order, L U with pivots from all of a row; where a pivot is small, fronts
/// are made after all. Factors are made in host memory, also of a matrix on a GPU, by the threads
/// of the Context; results do not depend on how many there are.
///
/// On a GPU, where NVIDIA's library cuDSS 1.x is installed (libcudss.so.1, or the path in the
/// environment variable TESSERA_CUDSS), it factors instead: new values, from about 1e7 operations
/// on, and from 1e10 on also the first ones. It does not search pivots, so the first solution is
/// judged; where five corrections by the factors do not suffice, the host factors, then and later.
///
/// One application solves to a relative residual of about 1e-14 if pivots did not grow; a step or
/// two of richardson or gmres refine the result. A singular matrix is factored as far as possible:
/// columns without pivot are left out (null_pivots).
///
/// Sources: I. S. Duff, J. K. Reid, "The multifrontal solution of indefinite sparse symmetric
/// linear equations", ACM Trans. Math. Softw. 9 (1983), pp. 302-325; I. S. Duff, J. Koster
/// (match_columns); J. W. H. Liu, "The role of elimination trees in sparse factorization", SIAM J.
/// Matrix Anal. Appl. 11 (1990), pp. 134-172; J. R. Gilbert, E. G. Ng, B. W. Peyton, "An efficient
/// algorithm to compute row and column counts for sparse Cholesky factorization", ibid. 15 (1994),
/// pp. 1075-1091; J. R. Gilbert, T. Peierls, "Sparse partial pivoting in time proportional to
/// arithmetic operations", SIAM J. Sci. Stat. Comput. 9 (1988), pp. 862-874.
template <class T>
class TESSERA_API Direct final : public Preconditioner<T> {
  public:
    /// Blocks until the factors are complete; of a matrix with NaN or infinity there are none (the
    /// report is unusable, `apply` throws). Throws InvalidArgument if the matrix is not square or
    /// the factorisation takes more than max_flops operations, OutOfMemory where the memory does
    /// not suffice: before it is allocated, by a prediction for one thread without delayed pivots.
    /// `is_symmetric`: as the function of that name finds the matrix, if it is known.
    Direct(const Context& context, const CsrView<T>& matrix, const DirectOptions& options = {},
           std::optional<bool> is_symmetric = {});
    ~Direct() override;
    Index rows() const override;
    Index columns() const override { return rows(); }
    /// z = A^-1 r. On a GPU, unless the factors are there, r and z are copied to the host and back.
    void apply(const Context& context, std::span<const T> r, std::span<T> z) const override;
    void apply_vectors(const Context& context, Vectors<const T> r, Vectors<T> z) const override;
    /// z = A^-T r, likewise.
    void apply_transposed(const Context& context, Vectors<const T> r, Vectors<T> z) const;
    bool can_be_captured() const override;
    /// Factors new values on the same pattern, with the permutations and scalings of the setup, or
    /// with new ones where these do not fit: values turn symmetric or cease to be, or the sizes of
    /// rows or columns change far. Throws InvalidArgument, and changes nothing, if the pattern
    /// differs; after another exception there are no factors until an update succeeds.
    void update(const Context& context, const CsrView<T>& matrix) override;
    std::string describe() const override;
    const DirectOptions& options() const;
    /// Describes factors in host memory, which are made for it where there are none of these
    /// values; so are those for the determinant and the condition.
    const DirectReport& report() const;
    struct LogDeterminant {
        int sign;          ///< 1, -1, or 0 where columns have no pivot.
        double logarithm;  ///< Natural, of |det A|; -infinity with sign 0.
    };
    LogDeterminant log_determinant() const;
    /// 1 / (||A||_1 ||A^-1||_1), where the last norm is estimated, seldom to less than a third, by
    /// at most eleven solves; 0 where columns have no pivot. Source: N. J. Higham, "FORTRAN codes
    /// for estimating the one-norm of a real or complex matrix", ACM Trans. Math. Softw. 14 (1988).
    double reciprocal_condition() const;

  private:
    PreconditionerReport make_report() const override;
    void apply(const Context& context, bool transposed, Vectors<const T> r, Vectors<T> z) const;
    struct State;
    std::unique_ptr<State> state_;
};
template <class T>
Direct(const Context&, const CsrMatrix<T>&, const DirectOptions& = {}) -> Direct<T>;

/// Options from a text: direct[,threshold=U][,matching=auto|on|off][,symmetric=on|off]
/// [,max_flops=F]. Throws InvalidArgument on others.
TESSERA_API DirectOptions parse_direct(Spec spec);

}  // namespace tessera
