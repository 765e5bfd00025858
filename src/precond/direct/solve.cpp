#include "precond/direct/solve.hpp"

#include <algorithm>

namespace tessera::direct {

namespace {

constexpr Index block = 8;

/// The solve with B = L U or L D L^T, or with its transpose, for several vectors: y by rows of B, x
/// by its columns, or the other way round.
template <class T>
class FactorSolve {
  public:
    FactorSolve(const DenseKernels<T>& kernels, const Fronts& fronts, const Factor<T>& factor,
                bool transposed, int vectors, T* work)
        : kernels_(kernels),
          fronts_(fronts),
          factor_(factor),
          transposed_(transposed && !fronts.symmetric),
          vectors_(vectors),
          rows_(fronts.rows),
          y_(work),
          x_(y_ + Offset(rows_) * vectors),
          front_(x_ + Offset(rows_) * vectors) {}

    T* y(int vector) { return y_ + Offset(vector) * rows_; }
    T* x(int vector) { return x_ + Offset(vector) * rows_; }

    void solve() {
        std::fill(x_, x_ + Offset(rows_) * vectors_, T(0));
        const auto blocks = Index(fronts_.block_fronts.size()) - 1;
        for (Index at = 0; at < blocks; ++at) {
            const Index b = transposed_ ? at : blocks - 1 - at;
            const Index first = fronts_.block_fronts[b], last = fronts_.block_fronts[b + 1];
            const Index first_row = fronts_.first[first], last_row = fronts_.first[last];
            if (blocks > 1 && !transposed_) subtract_couplings(first_row, last_row);
            for (Index s = first; s < last; ++s) forward(factor_.fronts()[s]);
            for (Index s = last - 1; s >= first; --s) backward(factor_.fronts()[s]);
            if (blocks > 1 && transposed_) subtract_transposed_couplings(first_row, last_row);
        }
    }

  private:
    /// The entries right of a diagonal block.
    void subtract_couplings(Index first, Index last) {
        for (int v = 0; v < vectors_; ++v) {
            T* const to = y(v);
            const T* const from = x(v);
            for (Index k = first; k < last; ++k) {
                T sum = 0;
                for (Offset p = fronts_.coupling_offsets[k]; p < fronts_.coupling_offsets[k + 1];
                     ++p) {
                    sum += factor_.couplings()[p] * from[fronts_.coupling_columns[p]];
                }
                to[k] -= sum;
            }
        }
    }
    void subtract_transposed_couplings(Index first, Index last) {
        for (int v = 0; v < vectors_; ++v) {
            T* const to = y(v);
            const T* const from = x(v);
            for (Index k = first; k < last; ++k) {
                for (Offset p = fronts_.coupling_offsets[k]; p < fronts_.coupling_offsets[k + 1];
                     ++p) {
                    to[fronts_.coupling_columns[p]] -= factor_.couplings()[p] * from[k];
                }
            }
        }
    }

    /// y = L^-1 y, transposed U^-T y.
    void forward(const FrontFactor<T>& f) {
        const Index rows = f.rows;
        const T* const triangle = transposed_ ? f.upper : f.lower;
        const Index* const ids = transposed_ ? f.column_ids : f.row_ids;
        for (int v = 0; v < vectors_; ++v) {
            const T* const from = y(v);
            for (Index i = 0; i < rows; ++i) front_[Offset(v) * rows + i] = from[ids[i]];
        }
        for (Index b = 0; b < f.pivots; b += block) {
            const Index e = std::min(b + block, f.pivots);
            for (int v = 0; v < vectors_; ++v) {
                T* const part = front_ + Offset(v) * rows;
                for (Index j = b; j < e; ++j) {
                    const T* const l = triangle + Offset(j) * rows;
                    if (transposed_) part[j] /= l[j];
                    for (Index i = j + 1; i < e; ++i) part[i] -= l[i] * part[j];
                }
            }
            kernels_.subtract_product(rows - e, vectors_, e - b, triangle + Offset(b) * rows + e,
                                      rows, front_ + b, rows, front_ + e, rows);
        }
        for (int v = 0; v < vectors_; ++v) {
            T* const to = y(v);
            for (Index i = 0; i < rows; ++i) to[ids[i]] = front_[Offset(v) * rows + i];
        }
    }

    /// x = U^-1 y, transposed L^-T y; or (D L^T)^-1 y.
    void backward(const FrontFactor<T>& f) {
        const Index* const from_ids = transposed_ ? f.column_ids : f.row_ids;
        const Index* const to_ids = transposed_ ? f.row_ids : f.column_ids;
        for (int v = 0; v < vectors_; ++v) {
            const T* const from = y(v);
            T* const to = x(v);
            for (Index i = 0; i < f.pivots; ++i) front_[i] = from[from_ids[i]];
            for (Index i = f.pivots; i < f.rows; ++i) front_[i] = to[to_ids[i]];
            if (f.upper == nullptr) divide_by_d(f);
            solve_triangle(f);
            for (Index i = 0; i < f.pivots; ++i) to[to_ids[i]] = front_[i];
        }
    }

    void divide_by_d(const FrontFactor<T>& f) {
        const auto d = [&](Index k) { return f.lower[Offset(k) * f.rows + k]; };
        for (Index k = 0; k < f.pivots; ++k) {
            const T b = f.off_diagonal[k];
            if (b == T(0)) {
                front_[k] /= d(k);
                continue;
            }
            const T a_b = d(k) / b, c_b = d(k + 1) / b;
            const T over_determinant = 1 / (b * (a_b * c_b - 1));
            const T one = front_[k], two = front_[k + 1];
            front_[k] = (c_b * one - two) * over_determinant;
            front_[k + 1] = (a_b * two - one) * over_determinant;
            ++k;
        }
    }

    void solve_triangle(const FrontFactor<T>& f) {
        const bool has_unit_diagonal = f.upper == nullptr || transposed_;
        const T* const triangle = has_unit_diagonal ? f.lower : f.upper;
        for (Index e = f.pivots; e > 0;) {
            const Index b = (e - 1) / block * block;
            kernels_.subtract_transposed(f.rows - e, e - b, triangle + Offset(b) * f.rows + e,
                                         f.rows, front_ + e, front_ + b);
            for (Index j = e - 1; j >= b; --j) {
                const T* const column = triangle + Offset(j) * f.rows;
                T sum = front_[j];
                for (Index i = j + 1; i < e; ++i) sum -= column[i] * front_[i];
                front_[j] = has_unit_diagonal ? sum : sum / column[j];
            }
            e = b;
        }
    }

    const DenseKernels<T> kernels_;
    const Fronts& fronts_;
    const Factor<T>& factor_;
    const bool transposed_;
    const int vectors_;
    const Index rows_;
    T* const y_;
    T* const x_;
    T* const front_;  ///< The rows of one front, by vectors.
};

}  // namespace

template <class T>
Offset solve_work(const Fronts& fronts, const Factor<T>& factor, int vectors) {
    return (2 * Offset(fronts.rows) + factor.largest_front()) * vectors;
}

template <class T>
void solve_factors(const Context& cpu, const Arrangement& arrangement, const Fronts& fronts,
                   const Factor<T>& factor, bool transposed, Vectors<const T> b, Vectors<T> x,
                   T* work) {
    FactorSolve<T> solve(dense_kernels<T>(cpu), fronts, factor, transposed, b.count, work);
    const auto& ids_from = transposed ? fronts.column : fronts.row;
    const auto& ids_to = transposed ? fronts.row : fronts.column;
    const auto& scale_from = transposed ? arrangement.column_scaling : arrangement.row_scaling;
    const auto& scale_to = transposed ? arrangement.row_scaling : arrangement.column_scaling;
    for (int v = 0; v < b.count; ++v) {
        T* const y = solve.y(v);
        for (Index k = 0; k < fronts.rows; ++k) {
            const Index i = ids_from[k];
            y[k] = T(scale_from[i] * double(b[v][std::size_t(i)]));
        }
    }
    solve.solve();
    for (int v = 0; v < b.count; ++v) {
        const T* const from = solve.x(v);
        for (Index k = 0; k < fronts.rows; ++k) {
            const Index j = ids_to[k];
            x[v][std::size_t(j)] = T(scale_to[j] * double(from[k]));
        }
    }
}

template Offset solve_work(const Fronts&, const Factor<float>&, int);
template Offset solve_work(const Fronts&, const Factor<double>&, int);
template void solve_factors(const Context&, const Arrangement&, const Fronts&, const Factor<float>&,
                            bool, Vectors<const float>, Vectors<float>, float*);
template void solve_factors(const Context&, const Arrangement&, const Fronts&,
                            const Factor<double>&, bool, Vectors<const double>, Vectors<double>,
                            double*);

}  // namespace tessera::direct
