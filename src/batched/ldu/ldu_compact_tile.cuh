#pragma once

#include "batched/factor_lanes.cuh"
#include "batched/ldu/ldu_tile.cuh"

/// A(p, q) = L D U with full pivoting of 17 to 32 rows by teams of 8 lanes, each lane with whole
/// rows in registers. Every eight steps the rows and columns that are left are moved together, so
/// that the work shrinks with them. A column that is gone is NaN in all rows, which maxima pass
/// over, and a row that is gone is zero in the others.
namespace tessera::batched::cuda {

namespace {

/// Shared memory of a team: rows of 40 values, first those of L (and the pivot) by their steps,
/// then the columns that were left when the row's phase began.
template <class T>
struct CompactShape {
    static constexpr int width = 32;
    static constexpr int lanes = 8;
    static constexpr int phase = 8;              ///< Steps between the moves.
    static constexpr int matrices = 32 / lanes;  ///< A warp.
    static constexpr int row_values = width + phase;
    static constexpr int rows = width / lanes;  ///< A lane, at first.
    static constexpr int pad = 16 / int(sizeof(T));
    static constexpr int value_bytes = (width * row_values + lanes * pad) * int(sizeof(T));
    static constexpr int bytes = value_bytes + (5 + width / phase) * width;
    static constexpr int warps = 2;  ///< A thread block.
    static_assert(bytes % 16 == 0);

    /// Where row r begins; lanes that write rows together use different banks.
    static __device__ __forceinline__ int start(int r) { return r * row_values + r / rows * pad; }
    /// The row that begins there.
    static __device__ __forceinline__ int row_at(int start) {
        constexpr int turn = rows * row_values + pad;  // From row r to row r + rows.
        return start / turn * rows + start % turn / row_values;
    }
    /// Columns that are left in a phase, the rows of a lane, and where the row's values are.
    static constexpr int columns(int p) { return width - phase * p; }
    static constexpr int lane_rows(int p) { return columns(p) / lanes; }
    static constexpr int first(int p) { return phase * p + phase; }
};

/// The lists of a team, in bytes.
struct CompactLists {
    unsigned char* rows;      ///< The row in each position.
    unsigned char* columns;   ///< The column in each position.
    unsigned char* original;  ///< The column in each place of this phase.
    unsigned char* row_of;    ///< The row in each place of the next phase.
    unsigned char* place_of;  ///< The place in this phase of each one of the next.
    unsigned char* places;    ///< 32 p + j: the place of column j in phase p.

    __device__ __forceinline__ explicit CompactLists(unsigned char* memory)
        : rows(memory),
          columns(memory + 32),
          original(memory + 64),
          row_of(memory + 96),
          place_of(memory + 128),
          places(memory + 160) {}
};

template <class T>
class CompactLdu {
  public:
    using Shape = CompactShape<T>;
    using Chunk = typename Quad<T>::type;

    __device__ __forceinline__ CompactLdu(unsigned char* memory, int n)
        : lane_(threadIdx.x % Shape::lanes),
          team_(0xffu << (threadIdx.x & 24)),
          f_(reinterpret_cast<T*>(memory)),
          lists_(memory + Shape::value_bytes),
          n_(n) {}

    /// Reads the matrix at `a`, whose columns are `line` apart; quads: in units of 16 bytes.
    __device__ __forceinline__ void load(const T* a, Offset line, bool quads) {
        constexpr int rows = Shape::rows;
        const int first = lane_ * rows;
        a += first;
        constexpr bool whole = rows * int(sizeof(T)) == 16;
#pragma unroll
        for (int j = 0; j < Shape::width; ++j) {
            if (whole && quads) {
                Chunk quad{};
                if (j < n_ && first < n_) quad = *reinterpret_cast<const Chunk*>(a);
#pragma unroll
                for (int i = 0; i < rows; ++i) a_[i][j] = reinterpret_cast<const T*>(&quad)[i];
            } else {
#pragma unroll
                for (int i = 0; i < rows; ++i) {
                    a_[i][j] = j < n_ && first + i < n_ ? a[i] : T(0);
                }
            }
            a += line;
        }
        live_ = 0;
#pragma unroll
        for (int i = 0; i < rows; ++i) {
            start_[i] = Shape::start(first + i) + Shape::first(0);
            if (first + i < n_) live_ |= 1u << i;
        }
        for (int j = first; j < first + rows; ++j) lists_.original[j] = lists_.places[j] = j;
        live_rows_ = live_columns_ = n_ < 32 ? (1u << n_) - 1 : ~0u;
    }
    /// False where a pivot is not well inside the range; nothing then means anything.
    __device__ __forceinline__ bool eliminate(T tau) {
        bool plain = true;
        run_phase<0>(tau, plain);
        if (n_ > 8) move<1>(), run_phase<1>(tau, plain);
        if (n_ > 16) move<2>(), run_phase<2>(tau, plain);
        if (n_ > 24) move<3>(), run_phase<3>(tau, plain);
        return plain;
    }

    /// Lists the places of columns by their positions. Before `store`, by all teams.
    __device__ __forceinline__ void order_places() {
        constexpr int each = Shape::rows;
        unsigned char place[each][each];
#pragma unroll
        for (int e = 0; e < each; ++e) {
            const int position = lane_ * each + e;
            const int c = position < n_ ? lists_.columns[position] : 0;
#pragma unroll
            for (int p = 0; p < 4; ++p) place[e][p] = lists_.places[32 * p + c] & 31;
        }
        __syncwarp();
#pragma unroll
        for (int e = 0; e < each; ++e) {
#pragma unroll
            for (int p = 0; p < 4; ++p) lists_.places[32 * p + lane_ * each + e] = place[e][p];
        }
        __syncwarp();
    }
    /// Writes the factors, whose columns are `line` apart, and the permutations. whole: n and line
    /// are 32.
    template <bool whole>
    __device__ __forceinline__ void store(T* to, Offset line, Index* rows, Index* columns) const {
        // Lane l has positions l + 8 k; their rows are those of phase k.
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            const int t = lane_ + Shape::phase * k;
            if (!whole && t >= n_) return;
            const int r = lists_.rows[t];
            if (rows != nullptr) rows[t] = r;
            if (columns != nullptr) columns[t] = lists_.columns[t];
            const T* const row = f_ + Shape::start(r);
            const unsigned* const places = reinterpret_cast<const unsigned*>(lists_.places) + 8 * k;
            bool plain = true;
            const PlainDivisor<T> divisor(row[t], plain);
#pragma unroll
            for (int s = 0; s < 32; ++s) {
                const int place = int(places[s / 4] >> s % 4 * 8 & 31);
                const bool upper = s >= Shape::first(k) || (s > Shape::phase * k && s > t);
                if (!whole && s >= n_) continue;
                const T value = row[upper ? Shape::first(k) + place : s];
                const T quotient = divisor.quotient(value);
                to[t + (whole ? 32 : line) * s] = upper ? quotient : value;
            }
        }
    }

  private:
    template <int columns>
    __device__ __forceinline__ void store_row(int i, T* to) const {
#pragma unroll
        for (int j = 0; j < columns; j += Quad<T>::width) {
            Chunk quad;
#pragma unroll
            for (int e = 0; e < Quad<T>::width; ++e) reinterpret_cast<T*>(&quad)[e] = a_[i][j + e];
            *reinterpret_cast<Chunk*>(to + j) = quad;
        }
    }
    /// Element c of row i.
    template <int columns>
    __device__ __forceinline__ T taken(int i, int c) const {
        T left[Shape::width];
#pragma unroll
        for (int j = 0; j < columns; ++j) left[j] = a_[i][j];
#pragma unroll
        for (int half = 1; half < columns; half *= 2) {
#pragma unroll
            for (int j = 0; j + half < columns; j += 2 * half) {
                left[j] = choose((c & half) != 0, left[j + half], left[j]);
            }
        }
        return left[0];
    }
    static __device__ __forceinline__ T larger(T best, T value) {
        if constexpr (sizeof(T) == 4) return fmaxf(best, fabsf(value));
        return fabs(value) > best ? T(fabs(value)) : best;
    }
    static __device__ __forceinline__ int first_of(unsigned votes) {
        return __clz(int(__brev(votes)));
    }
    __device__ __forceinline__ unsigned all_bits(unsigned bits) const {
#pragma unroll
        for (int distance = 1; distance < Shape::lanes; distance *= 2) {
            bits |= __shfl_xor_sync(full_warp, bits, distance);
        }
        return bits;
    }

    template <int p>
    __device__ __forceinline__ void run_phase(T tau, bool& plain) {
        constexpr int columns = Shape::columns(p), rows = Shape::lane_rows(p);
        constexpr int each = columns / Shape::lanes;  // Columns that a lane looks at.
        constexpr int w = Quad<T>::width;
        T best[rows];  // The largest magnitude of each row.
#pragma unroll
        for (int i = 0; i < rows; ++i) {
            best[i] = T(0);
#pragma unroll
            for (int j = 0; j < columns; ++j) best[i] = larger(best[i], a_[i][j]);
        }
        const int steps = min(n_ - Shape::phase * p, Shape::phase);
        int pivot_start = 0, pivot_column = 0;  // Those of the step of this lane.
        T pivot = T(0);
#pragma unroll 1
        for (int s = 0; s < steps; ++s) {
            T most = best[0];
            int start = start_[rows - 1];
#pragma unroll
            for (int i = 1; i < rows; ++i) most = larger(most, best[i]);
            const T lane_best = most;
#pragma unroll
            for (int distance = Shape::lanes / 2; distance > 0; distance /= 2) {
                most = larger(most, __shfl_xor_sync(full_warp, most, distance));
            }
#pragma unroll
            for (int i = rows - 2; i >= 0; --i) start = best[i] == most ? start_[i] : start;
            start = __shfl_sync(full_warp, start,
                                first_of(__ballot_sync(full_warp, lane_best == most) & team_));
            T* const pivot_row = f_ + start;
#pragma unroll
            for (int i = 0; i < rows; ++i) {
                if (start_[i] == start && (live_ >> i & 1) != 0) {
                    store_row<columns>(i, pivot_row);
                    live_ &= ~(1u << i);
                }
            }
            __syncwarp();
            T own[each];
            if constexpr (each == w) {
                const auto quad = reinterpret_cast<const Chunk*>(pivot_row)[lane_];
#pragma unroll
                for (int k = 0; k < w; ++k) own[k] = reinterpret_cast<const T*>(&quad)[k];
            } else {
#pragma unroll
                for (int k = 0; k < each; ++k) own[k] = pivot_row[lane_ * each + k];
            }
            int c = -1;
            T raw = T(0);
#pragma unroll
            for (int k = each - 1; k >= 0; --k) {
                const bool found = fabs(own[k]) == most;
                c = found ? lane_ * each + k : c;
                raw = found ? own[k] : raw;
            }
            const unsigned votes = __ballot_sync(full_warp, c >= 0) & team_;
            raw = __shfl_sync(full_warp, raw, first_of(votes));
            c = max(__shfl_sync(full_warp, c, first_of(votes)), 0);
            __syncwarp();
            if (lane_ == 0) pivot_row[c] = std::numeric_limits<T>::quiet_NaN();
            __syncwarp();
            T entry[rows];
#pragma unroll
            for (int i = 0; i < rows; ++i) entry[i] = taken<columns>(i, c);
            T d = raw;
            plain = plain && most > T(0);
            if (most < tau) {
                d = raised(raw, tau);
#pragma unroll
                for (int i = 0; i < rows; ++i) {
                    entry[i] = start_[i] == start ? d : entry[i];  // Its multiplier is 1.
                }
            }
            const PlainDivisor<T> divisor(d, plain);
            T l[rows];
            T* const column_of_l = f_ + s - Shape::phase;
#pragma unroll
            for (int i = 0; i < rows; ++i) {
                l[i] = divisor.quotient(entry[i]);
                column_of_l[start_[i]] = l[i];
                best[i] = T(0);
            }
            if (lane_ == s) pivot_start = start, pivot_column = c, pivot = d;
#pragma unroll
            for (int j = 0; j < columns; j += w) {
                const Chunk entries = *reinterpret_cast<const Chunk*>(pivot_row + j);
#pragma unroll
                for (int i = 0; i < rows; ++i) {
#pragma unroll
                    for (int e = 0; e < w; ++e) {
                        const T value = reinterpret_cast<const T*>(&entries)[e];
                        a_[i][j + e] = fma(-l[i], value, a_[i][j + e]);
                        best[i] = larger(best[i], a_[i][j + e]);
                    }
                }
            }
        }
        __syncwarp();
        if (lane_ < steps) f_[pivot_start - Shape::phase + lane_] = pivot;
        end_phase<p>(steps, pivot_start, pivot_column);
    }

    /// Lists the pivots of phase p, and leaves in shared memory what it left.
    template <int p>
    __device__ __forceinline__ void end_phase(int steps, int pivot_start, int pivot_column) {
        const bool inside = lane_ < steps;
        const int r = Shape::row_at(pivot_start - Shape::first(p));
        if (inside) {
            lists_.rows[Shape::phase * p + lane_] = (unsigned char)r;
            lists_.columns[Shape::phase * p + lane_] = lists_.original[pivot_column];
        }
        live_rows_ &= ~all_bits(inside ? 1u << r : 0u);
        live_columns_ &= ~all_bits(inside ? 1u << pivot_column : 0u);
        last_column_ = __shfl_sync(full_warp, pivot_column, steps - 1, Shape::lanes);
        if (p < 3 && n_ > Shape::first(p)) {
#pragma unroll
            for (int i = 0; i < Shape::lane_rows(p); ++i) {
                if ((live_ >> i & 1) != 0) store_row<Shape::columns(p)>(i, f_ + start_[i]);
            }
        }
        __syncwarp();
    }

    /// Moves what is left after phase p - 1 together.
    template <int p>
    __device__ __forceinline__ void move() {
        constexpr int columns = Shape::columns(p), rows = Shape::lane_rows(p);
        constexpr int each = Shape::rows;
        unsigned char original[each];
#pragma unroll
        for (int e = 0; e < each; ++e) {
            original[e] = lists_.original[lane_ * each + e];
            // What lies behind the columns that are left is to be NaN, as the last pivot column is;
            // behind the rows are those from n on.
            lists_.place_of[lane_ * each + e] = (unsigned char)last_column_;
            lists_.row_of[lane_ * each + e] =
                (unsigned char)min(lane_ * each + e + Shape::phase * p, Shape::width - 1);
        }
        __syncwarp();
#pragma unroll
        for (int e = 0; e < each; ++e) {
            const int q = lane_ * each + e;
            const unsigned below = (1u << q) - 1;
            if ((live_columns_ >> q & 1) != 0) {
                const int place = __popc(live_columns_ & below);
                lists_.place_of[place] = (unsigned char)q;
                lists_.original[place] = original[e];
                lists_.places[32 * p + original[e]] = (unsigned char)place;
            }
            if ((live_rows_ >> q & 1) != 0) {
                lists_.row_of[__popc(live_rows_ & below)] = (unsigned char)q;
            }
        }
        __syncwarp();
        const int left = n_ - Shape::phase * p;
        live_ = 0;
#pragma unroll
        for (int i = 0; i < rows; ++i) {
            const int place = lane_ * rows + i;
            start_[i] = Shape::start(lists_.row_of[place]) + Shape::first(p);
            if (place < left) live_ |= 1u << i;
        }
#pragma unroll
        for (int j = 0; j < columns; ++j) {
            const T* const from = f_ + int(lists_.place_of[j]) - Shape::phase;
#pragma unroll
            for (int i = 0; i < rows; ++i) a_[i][j] = from[start_[i]];
        }
#pragma unroll
        for (int i = 0; i < rows; ++i) {
            if ((live_ >> i & 1) != 0) continue;
#pragma unroll
            for (int j = 0; j < columns; ++j) a_[i][j] = T(0);
        }
        live_columns_ = (1u << left) - 1;
        __syncwarp();
    }

    int lane_;
    unsigned team_;  ///< Its lanes.
    T* f_;
    CompactLists lists_;
    int n_;
    T a_[Shape::rows][Shape::width];
    int start_[Shape::rows];             ///< Where the columns of the row that are left are.
    unsigned live_;                      ///< Which rows of this lane are left.
    unsigned live_rows_, live_columns_;  ///< By row, and by place.
    int last_column_ = 0;
};

}  // namespace

}  // namespace tessera::batched::cuda
