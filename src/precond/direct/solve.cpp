#include "precond/direct/solve.hpp"

#include <algorithm>

namespace tessera::direct {

namespace {

constexpr Index block = 8;

/// The solve with B = L U or L D L^T: y by rows, x by columns of B, both by vectors.
template <class T>
class FactorSolve {
  public:
    FactorSolve(const DenseKernels<T>& kernels, const Fronts& fronts, const Factor<T>& factor,
                int vectors, T* work)
        : kernels_(kernels),
          fronts_(fronts),
          factor_(factor),
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
        for (Index b = blocks - 1; b >= 0; --b) {
            const Index first = fronts_.block_fronts[b], last = fronts_.block_fronts[b + 1];
            if (blocks > 1) subtract_couplings(fronts_.first[first], fronts_.first[last]);
            for (Index s = first; s < last; ++s) forward(factor_.fronts()[s]);
            for (Index s = last - 1; s >= first; --s) backward(factor_.fronts()[s]);
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

    /// y = L^-1 y.
    void forward(const FrontFactor<T>& f) {
        const Index rows = f.rows;
        for (int v = 0; v < vectors_; ++v) {
            const T* const from = y(v);
            for (Index i = 0; i < rows; ++i) front_[Offset(v) * rows + i] = from[f.row_ids[i]];
        }
        for (Index b = 0; b < f.pivots; b += block) {
            const Index e = std::min(b + block, f.pivots);
            for (int v = 0; v < vectors_; ++v) {
                T* const part = front_ + Offset(v) * rows;
                for (Index j = b; j + 1 < e; ++j) {
                    const T* const l = f.lower + Offset(j) * rows;
                    for (Index i = j + 1; i < e; ++i) part[i] -= l[i] * part[j];
                }
            }
            kernels_.subtract_product(rows - e, vectors_, e - b, f.lower + Offset(b) * rows + e,
                                      rows, front_ + b, rows, front_ + e, rows);
        }
        for (int v = 0; v < vectors_; ++v) {
            T* const to = y(v);
            for (Index i = 0; i < rows; ++i) to[f.row_ids[i]] = front_[Offset(v) * rows + i];
        }
    }

    /// x = U^-1 y, or (D L^T)^-1 y.
    void backward(const FrontFactor<T>& f) {
        for (int v = 0; v < vectors_; ++v) {
            const T* const from = y(v);
            T* const to = x(v);
            for (Index i = 0; i < f.pivots; ++i) front_[i] = from[f.row_ids[i]];
            for (Index i = f.pivots; i < f.rows; ++i) front_[i] = to[f.column_ids[i]];
            if (f.upper == nullptr) divide_by_d(f);
            solve_triangle(f);
            for (Index i = 0; i < f.pivots; ++i) to[f.column_ids[i]] = front_[i];
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
        const T* const triangle = f.upper != nullptr ? f.upper : f.lower;
        for (Index e = f.pivots; e > 0;) {
            const Index b = (e - 1) / block * block;
            kernels_.subtract_transposed(f.rows - e, e - b, triangle + Offset(b) * f.rows + e,
                                         f.rows, front_ + e, front_ + b);
            for (Index j = e - 1; j >= b; --j) {
                const T* const column = triangle + Offset(j) * f.rows;
                T sum = front_[j];
                for (Index i = j + 1; i < e; ++i) sum -= column[i] * front_[i];
                front_[j] = f.upper != nullptr ? sum / column[j] : sum;
            }
            e = b;
        }
    }

    const DenseKernels<T> kernels_;
    const Fronts& fronts_;
    const Factor<T>& factor_;
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
                   const Factor<T>& factor, Vectors<const T> b, Vectors<T> x, T* work) {
    FactorSolve<T> solve(dense_kernels<T>(cpu), fronts, factor, b.count, work);
    for (int v = 0; v < b.count; ++v) {
        T* const y = solve.y(v);
        for (Index k = 0; k < fronts.rows; ++k) {
            const Index i = fronts.row[k];
            y[k] = T(arrangement.row_scaling[i] * double(b[v][std::size_t(i)]));
        }
    }
    solve.solve();
    for (int v = 0; v < b.count; ++v) {
        const T* const from = solve.x(v);
        for (Index k = 0; k < fronts.rows; ++k) {
            const Index j = fronts.column[k];
            x[v][std::size_t(j)] = T(arrangement.column_scaling[j] * double(from[k]));
        }
    }
}

template Offset solve_work(const Fronts&, const Factor<float>&, int);
template Offset solve_work(const Fronts&, const Factor<double>&, int);
template void solve_factors(const Context&, const Arrangement&, const Fronts&, const Factor<float>&,
                            Vectors<const float>, Vectors<float>, float*);
template void solve_factors(const Context&, const Arrangement&, const Fronts&,
                            const Factor<double>&, Vectors<const double>, Vectors<double>, double*);

}  // namespace tessera::direct
