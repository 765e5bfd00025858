#pragma once

#include "gpu/registers.cuh"
#include "gpu/tiles/ldlt_tile.cuh"

namespace tessera::cuda {

namespace {

/// A k x k matrix by a whole warp, for the shortest time until it is done where there is no second
/// one to hide it behind: lane r + k g has row r of the columns from g `columns` on.
template <class T, int k>
class SpreadMatrix {
  public:
    static constexpr int columns = k * k > 32 ? k* k / 32 : 1;
    static constexpr int lanes = k * (k / columns);  ///< That have a part.
    static_assert(k % columns == 0 && lanes <= 32);

    /// element(row, column): of the matrix, symmetric.
    template <class Element>
    __device__ __forceinline__ explicit SpreadMatrix(Element&& element) {
        const int lane = team_.lane();
        here_ = lane < lanes;
        row_ = lane % k;
        first_ = here_ ? lane / k * columns : 0;
#pragma unroll
        for (int e = 0; e < columns; ++e) a_[e] = here_ ? element(row_, first_ + e) : T(0);
        diagonal_ = here_ ? element(row_, row_) : T(0);
    }

    /// What Ldlt<Pivoting::full>::eliminate leaves in the memory of its team, bit for bit: the same
    /// sums in the same order. Eliminated rows and columns are zero.
    __device__ __forceinline__ void eliminate(const TeamMemory<T>& memory, T tau) {
#pragma unroll 1
        for (int s = 0; s < k;) {
            // Of each row, while the pivot is searched for.
            const Divisor<T> divisor(here_ && is_left(row_) ? raised(diagonal_, tau) : T(1));
            const Pivot pivot = choose(s, tau);
            const int p = pivot.p, q = pivot.q;
            if (q < 0) {
                single_step(memory, s, p, divisor);
                s += 1;
            } else {
                pair_step(memory, s, p, q, tau);
                s += 2;
            }
        }
        __syncwarp();
    }

  private:
    struct Pivot {
        int p;
        int q = -1;
    };

    __device__ __forceinline__ bool is_left(int i) const { return (left_ >> i & 1) != 0; }

    /// Bunch-Parlett; the first of equals, as teams with a row a lane choose.
    __device__ __forceinline__ Pivot choose(int s, T tau) const {
        const bool live = here_ && is_left(row_);
        T largest = T(0);
#pragma unroll
        for (int e = 0; e < columns; ++e) {
            largest = fabs(a_[e]) > largest ? fabs(a_[e]) : largest;
        }
        if (!live) largest = T(0);
        const T size = live ? size_of(diagonal_) : T(0);
        const T mu1 = team_.max_size(size);
        const T most = team_.max_size(largest);
        Pivot pivot{team_.first(live && size == mu1)};
        const bool single = s + 1 >= k || !(mu1 < batched::pivot_alpha<T> * most) || most < tau ||
                            !(most > largest_without_reciprocal<T>);
        if (single) return pivot;
        // Bit r + k g of a vote stands for row r and column g columns + e.
        unsigned votes[columns], rows = 0;
#pragma unroll
        for (int e = 0; e < columns; ++e) {
            const bool equal = live && fabs(a_[e]) == most && is_left(first_ + e);
            votes[e] = __ballot_sync(full_warp, equal);
            rows |= votes[e];
        }
#pragma unroll
        for (int bits = k; bits < lanes; bits *= 2) rows |= rows >> bits;
        const int r = __ffs(int(rows)) - 1;
        unsigned found = 0;  // Bit k g + e: column g columns + e.
#pragma unroll
        for (int g = 0; g < lanes / k; ++g) {
#pragma unroll
            for (int e = 0; e < columns; ++e) {
                found |= (votes[e] >> (k * g + r) & 1) << (k * g + e);
            }
        }
        found &= ~(1u << (r / columns * k + r % columns));
        if (found == 0) return pivot;
        const int bit = __ffs(int(found)) - 1;
        const int c = bit / k * columns + bit % k;
        return {r < c ? r : c, r < c ? c : r};
    }

    /// Column p: its element in row i of this lane's part, for the lane (i, p).
    __device__ __forceinline__ T part_of(int p) const {
        T value = a_[0];
#pragma unroll
        for (int e = 1; e < columns; ++e) value = select_register(p % columns == e, a_[e], value);
        return value;
    }
    __device__ __forceinline__ T from(T part, int p, int i) const {
        return team_.from(part, p / columns * k + i);
    }
    __device__ __forceinline__ void remove(int p) {
        left_ &= ~(1u << p);
#pragma unroll
        for (int e = 0; e < columns; ++e) a_[e] = row_ == p || first_ + e == p ? T(0) : a_[e];
    }
    /// A -= l m^T; `part` is the column that m is.
    __device__ __forceinline__ void subtract(T l, T mine, T part, int p) {
#pragma unroll
        for (int e = 0; e < columns; ++e) {
            const T across = from(part, p, first_ + e);
            if (is_left(first_ + e)) a_[e] = fma(-l, across, a_[e]);
        }
        diagonal_ = fma(-l, mine, diagonal_);
    }

    __device__ __forceinline__ void single_step(const TeamMemory<T>& memory, int s, int p,
                                                Divisor<T> divisor) {
        const T part = part_of(p);
        const T of_p = from(part, p, row_);
        const T e11 = team_.from(diagonal_, p);
        divisor.d = team_.from(divisor.d, p);
        divisor.reciprocal = team_.from(divisor.reciprocal, p);
        divisor.plain = team_.from(int(divisor.plain), p) != 0;
        remove(p);
        const bool live = is_left(row_);
        const T mine = live ? of_p : T(0);
        const T l = live ? divisor.quotient(mine) : T(0);
        if (team_.lane() < k) memory.at(row_, p) = row_ == p ? divisor.d : l;
        if (team_.lane() == p) {
            memory.rows[s] = p;
            memory.raw[s] = e11;
            memory.raw_pair[s] = T(0);
        }
        subtract(l, mine, part, p);
    }

    __device__ __forceinline__ void pair_step(const TeamMemory<T>& memory, int s, int p, int q,
                                              T tau) {
        const T part_p = part_of(p), part_q = part_of(q);
        const T of_p = from(part_p, p, row_), of_q = from(part_q, q, row_);
        PivotPair<T> e{team_.from(diagonal_, p), T(0), team_.from(diagonal_, q)};
        const T low = from(part_p, p, q), high = from(part_q, q, p);
        e.e21 = fabs(high) > fabs(low) ? high : low;
        const PivotPair<T> used = raised(e, tau);
        const PivotPair<T> g = used.e21 == T(0) ? inverse(used) : pair_inverse(used);
        remove(p);
        remove(q);
        const bool live = is_left(row_);
        const T mine = live ? of_p : T(0), second_mine = live ? of_q : T(0);
        const T l = live ? g.e11 * mine + g.e21 * second_mine : T(0);
        const T second_l = live ? g.e21 * mine + g.e22 * second_mine : T(0);
        if (team_.lane() < k) {
            memory.at(row_, p) = row_ == p ? used.e11 : l;
            memory.at(row_, q) = row_ == q ? used.e22 : row_ == p ? used.e21 : second_l;
        }
        if (team_.lane() == p) {
            memory.rows[s] = p;
            memory.rows[s + 1] = q;
            memory.raw[s] = e.e11;
            memory.raw_pair[s] = e.e21;
            memory.raw[s + 1] = e.e22;
            memory.raw_pair[s + 1] = T(0);
        }
        subtract(l, mine, part_p, p);
        subtract(second_l, second_mine, part_q, q);
    }

    WarpTeam<32> team_;
    T a_[columns];
    T diagonal_;  ///< Of the row.
    bool here_;
    int row_, first_;
    unsigned left_ = ~0u;  ///< Bit i: row and column i are left.
};

}  // namespace

}  // namespace tessera::cuda
