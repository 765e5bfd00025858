#pragma once

#include "gpu/registers.cuh"
#include "precond/incomplete/numeric/rows_ldlt.cuh"

namespace tessera::cuda {

namespace {

/// LDL^T with complete pivoting; one k x k matrix per warp, for the shortest latency. Lane r + k g
/// has row r of the `columns` columns from g * columns on.
template <class T, int k>
class WarpLdlt {
  public:
    static constexpr int columns = k * k > 32 ? k* k / 32 : 1;
    static constexpr int lanes = k * (k / columns);  ///< Lanes that have entries.
    static_assert(k % columns == 0 && lanes <= 32);

    /// element(row, column) of the symmetric matrix.
    template <class Element>
    __device__ __forceinline__ explicit WarpLdlt(Element&& element) {
        const int lane = team_.lane();
        active_ = lane < lanes;
        row_ = lane % k;
        first_ = active_ ? lane / k * columns : 0;
#pragma unroll
        for (int e = 0; e < columns; ++e) a_[e] = active_ ? element(row_, first_ + e) : T(0);
        diagonal_ = active_ ? element(row_, row_) : T(0);
    }

    /// Writes what RowsLdlt::eliminate writes, equal in every bit. Eliminated rows and
    /// columns are set to zero.
    __device__ __forceinline__ void eliminate(const TeamMemory<T>& memory, T tau) {
#pragma unroll 1
        for (int s = 0; s < k;) {
            // One divisor per row, to overlap with the pivot search.
            const Divisor<T> divisor(active_ && is_remaining(row_) ? with_threshold(diagonal_, tau)
                                                                   : T(1));
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

    __device__ __forceinline__ bool is_remaining(int i) const { return (remaining_ >> i & 1) != 0; }

    /// The Bunch-Parlett pivot; the first one if candidates are equal.
    __device__ __forceinline__ Pivot choose(int s, T tau) const {
        const bool live = active_ && is_remaining(row_);
        T largest = T(0);
#pragma unroll
        for (int e = 0; e < columns; ++e) {
            largest = fabs(a_[e]) > largest ? fabs(a_[e]) : largest;
        }
        if (!live) largest = T(0);
        const T size = live ? magnitude(diagonal_) : T(0);
        const T mu1 = team_.max_magnitude(size);
        const T mu0 = team_.max_magnitude(largest);
        Pivot pivot{team_.first(live && size == mu1)};
        const bool single = s + 1 >= k || !(mu1 < batched::pivot_alpha<T> * mu0) || mu0 < tau ||
                            !(mu0 > largest_without_reciprocal<T>);
        if (single) return pivot;
        // Bit r + k g of votes[e]: row r, column g columns + e.
        unsigned votes[columns], rows = 0;
#pragma unroll
        for (int e = 0; e < columns; ++e) {
            const bool equal = live && fabs(a_[e]) == mu0 && is_remaining(first_ + e);
            votes[e] = __ballot_sync(full_warp, equal);
            rows |= votes[e];
        }
#pragma unroll
        for (int bits = k; bits < lanes; bits *= 2) rows |= rows >> bits;
        const int r = __ffs(int(rows)) - 1;
        unsigned matches = 0;  // Bit k g + e: column g columns + e.
#pragma unroll
        for (int g = 0; g < lanes / k; ++g) {
#pragma unroll
            for (int e = 0; e < columns; ++e) {
                matches |= (votes[e] >> (k * g + r) & 1) << (k * g + e);
            }
        }
        matches &= ~(1u << (r / columns * k + r % columns));
        if (matches == 0) return pivot;
        const int bit = __ffs(int(matches)) - 1;
        const int c = bit / k * columns + bit % k;
        return {r < c ? r : c, r < c ? c : r};
    }

    /// This lane's entry in column p, valid in the lanes that have column p.
    __device__ __forceinline__ T entry_in_column(int p) const {
        T value = a_[0];
#pragma unroll
        for (int e = 1; e < columns; ++e) value = select_register(p % columns == e, a_[e], value);
        return value;
    }
    __device__ __forceinline__ T from(T entry, int p, int i) const {
        return team_.from(entry, p / columns * k + i);
    }
    __device__ __forceinline__ void remove(int p) {
        remaining_ &= ~(1u << p);
#pragma unroll
        for (int e = 0; e < columns; ++e) a_[e] = row_ == p || first_ + e == p ? T(0) : a_[e];
    }
    /// A -= l m^T, where m is column p.
    __device__ __forceinline__ void subtract(T l, T mine, T entry, int p) {
#pragma unroll
        for (int e = 0; e < columns; ++e) {
            const T across = from(entry, p, first_ + e);
            if (is_remaining(first_ + e)) a_[e] = fma(-l, across, a_[e]);
        }
        diagonal_ = fma(-l, mine, diagonal_);
    }

    __device__ __forceinline__ void single_step(const TeamMemory<T>& memory, int s, int p,
                                                Divisor<T> divisor) {
        const T entry = entry_in_column(p);
        const T column_p = from(entry, p, row_);
        const T e11 = team_.from(diagonal_, p);
        divisor.d = team_.from(divisor.d, p);
        divisor.reciprocal = team_.from(divisor.reciprocal, p);
        divisor.in_range = team_.from(int(divisor.in_range), p) != 0;
        remove(p);
        const bool live = is_remaining(row_);
        const T mine = live ? column_p : T(0);
        const T l = live ? divisor.quotient(mine) : T(0);
        if (team_.lane() < k) memory.at(row_, p) = row_ == p ? divisor.d : l;
        if (team_.lane() == p) {
            memory.rows[s] = p;
            memory.raw[s] = e11;
            memory.raw_e21[s] = T(0);
        }
        subtract(l, mine, entry, p);
    }

    __device__ __forceinline__ void pair_step(const TeamMemory<T>& memory, int s, int p, int q,
                                              T tau) {
        const T entry_p = entry_in_column(p), entry_q = entry_in_column(q);
        const T column_p = from(entry_p, p, row_), column_q = from(entry_q, q, row_);
        PivotPair<T> e{team_.from(diagonal_, p), T(0), team_.from(diagonal_, q)};
        const T low = from(entry_p, p, q), high = from(entry_q, q, p);
        e.e21 = fabs(high) > fabs(low) ? high : low;
        const PivotPair<T> used = with_threshold(e, tau);
        const PivotPair<T> g = used.e21 == T(0) ? inverse(used) : pair_inverse(used);
        remove(p);
        remove(q);
        const bool live = is_remaining(row_);
        const T mine = live ? column_p : T(0), second_mine = live ? column_q : T(0);
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
            memory.raw_e21[s] = e.e21;
            memory.raw[s + 1] = e.e22;
            memory.raw_e21[s + 1] = T(0);
        }
        subtract(l, mine, entry_p, p);
        subtract(second_l, second_mine, entry_q, q);
    }

    WarpTeam<32> team_;
    T a_[columns];
    T diagonal_;  ///< Diagonal entry of the row.
    bool active_;
    int row_, first_;
    unsigned remaining_ = ~0u;  ///< Bit i: row and column i are not eliminated.
};

}  // namespace

}  // namespace tessera::cuda
