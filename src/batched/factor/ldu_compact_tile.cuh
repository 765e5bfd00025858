#pragma once

#include "batched/factor/factor_launch.cuh"
#include "batched/factor/ldu_compact_shape.cuh"
#include "gpu/tiles/contiguous_tile.cuh"

/// A(p, q) = L D U with full pivoting of 17 to 32 rows in FP32 by teams of 8 lanes, each lane with
/// whole rows in registers. Every eight steps the rows and columns that are left are moved
/// together, so that the work shrinks with them. A column that is gone is NaN in all rows, which
/// maxima pass over, and a row that is gone is zero in the others.
namespace tessera::batched::cuda {

namespace {

class CompactLdu {
  public:
    using Shape = CompactShape;

    /// memory: of the thread block.
    __device__ __forceinline__ CompactLdu(unsigned char* memory, int n)
        : memory_(memory),
          self_(threadIdx.x % 32),
          team_(0xffu << (threadIdx.x & 24)),
          base_(threadIdx.x / Shape::lanes * Shape::bytes),
          n_(n) {}

    /// Reads the matrix at `a`, whose columns are `line` apart; quads: in units of 16 bytes.
    __device__ __forceinline__ void load(const float* a, Offset line, bool quads) {
        constexpr int rows = Shape::rows;
        const int first = lane() * rows;
        float* const staged = &at(base_ + Shape::unwanted) + first;
        a += first;
        if (quads) {
#pragma unroll
            for (int j = 0; j < Shape::width; ++j, a += line) {
                copy_or_clear<16>(staged + Shape::width * j, a, j < n_ && first < n_);
            }
        } else {
#pragma unroll 2
            for (int j = 0; j < Shape::width; ++j, a += line) {
#pragma unroll
                for (int i = 0; i < rows; ++i) {
                    copy_or_clear<4>(staged + Shape::width * j + i, a + i,
                                     j < n_ && first + i < n_);
                }
            }
        }
        const CompactLists list = lists();
        for (int j = first; j < first + rows; ++j) {
            list.slots[j] = list.columns[j] = (unsigned char)(j * Shape::value);
        }
#pragma unroll
        for (int i = 0; i < rows; ++i) {
            start_[i] = first + i < n_ ? row_start(first + i) : unwanted();
        }
        tessera::cuda::wait_for_copies();
#pragma unroll
        for (int j = 0; j < Shape::width; ++j) {
            const Pack16<float> quad =
                *reinterpret_cast<const Pack16<float>*>(staged + Shape::width * j);
#pragma unroll
            for (int i = 0; i < rows; ++i) a_[i][j] = quad.value[i];
        }
        __syncwarp();
    }
    /// False where a pivot is not well inside the range; nothing then means anything.
    __device__ __forceinline__ bool eliminate(float tau) {
        bool plain = true;
        run_phase<0>(tau, plain);
        if (n_ > 8) move<1>(), run_phase<1>(tau, plain);
        if (n_ > 16) move<2>(), run_phase<2>(tau, plain);
        if (n_ > 24) move<3>(), run_phase<3>(tau, plain);
        return plain;
    }

    /// Writes the factors, whose columns are `line` apart, and the permutations. whole: n and line
    /// are 32.
    template <bool whole>
    __device__ __forceinline__ void store(float* to, Offset line, Index* rows,
                                          Index* columns) const {
        const CompactLists list = lists();
        const CompactList slots(list.columns);
        // Lane l has positions l + 8 k; their rows are those of phase k.
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            const int t = lane() + Shape::phase * k;
            if (!whole && t >= n_) return;
            const int r = list.rows[t];
            if (rows != nullptr) rows[t] = r;
            if (columns != nullptr) columns[t] = list.columns[t] / Shape::value;
            const unsigned row = row_start(r);
            bool plain = true;
            const PlainDivisor<float> divisor(at(row + list.columns[t]), plain);
            float value[Shape::width];
#pragma unroll
            for (int s = 0; s < Shape::width; ++s) value[s] = at(row + slots[s]);
#pragma unroll
            for (int s = 0; s < Shape::width; ++s) {
                const bool upper = s >= Shape::phase * (k + 1) || (s > Shape::phase * k && s > t);
                const float quotient = divisor.quotient(value[s]);
                store_if(whole || s < n_, to + t + (whole ? Shape::width : line) * s,
                         upper ? quotient : value[s]);
            }
        }
    }

  private:
    /// What all lanes of a team know of a pivot; `place` is its column, `slot` where its column is
    /// in a row of shared memory, `start` where its row is.
    struct Pivot {
        float largest;
        float value;
        unsigned place, slot, start;
        bool mine;  ///< Whether this lane found the column.
    };

    static __device__ __forceinline__ float nan() {
        return std::numeric_limits<float>::quiet_NaN();
    }
    __device__ __forceinline__ int lane() const { return int(self_ % Shape::lanes); }
    /// What lies `bytes` behind the memory of the thread block.
    __device__ __forceinline__ float& at(unsigned bytes) const {
        return *reinterpret_cast<float*>(memory_ + bytes);
    }
    __device__ __forceinline__ CompactLists lists() const {
        return CompactLists(memory_ + base_ + Shape::lists);
    }
    /// Where row r is; teams begin in different banks.
    __device__ __forceinline__ unsigned row_start(int r) const {
        return base_ + Shape::first_row + self_ / Shape::lanes * Shape::value +
               Shape::row_bytes * r;
    }
    /// Where a row of this lane is that is gone.
    __device__ __forceinline__ unsigned unwanted() const {
        return base_ + Shape::unwanted + self_ % Shape::lanes * Shape::value;
    }
    /// Makes row i the pivot row of the team where `wanted`, without a branch.
    template <int columns>
    __device__ __forceinline__ void publish(bool wanted, int i) const {
        const unsigned to = tessera::cuda::shared_address(memory_) + base_;
#pragma unroll
        for (int j = 0; j < columns; j += 4) {
            asm volatile(
                "{ .reg .pred p; setp.ne.s32 p, %0, 0; "
                "@p st.shared.v4.f32 [%1], {%2, %3, %4, %5}; }" ::"r"(int(wanted)),
                "r"(to + 4 * j), "f"(a_[i][j]), "f"(a_[i][j + 1]), "f"(a_[i][j + 2]),
                "f"(a_[i][j + 3])
                : "memory");
        }
    }
    /// Element c of row i.
    template <int columns>
    __device__ __forceinline__ float taken(int i, unsigned c) const {
        float left[Shape::width];
#pragma unroll
        for (int j = 0; j < columns; ++j) left[j] = a_[i][j];
#pragma unroll
        for (int half = 1; half < columns; half *= 2) {
#pragma unroll
            for (int j = 0; j + half < columns; j += 2 * half) {
                left[j] = select_register((c & half) != 0, left[j + half], left[j]);
            }
        }
        return left[0];
    }

    /// The pivot of a step, whose row is then in the memory of the team, NaN in the pivot's column,
    /// and at its place among the factors. best: the largest magnitude of each row; slots: of the
    /// columns that this lane looks at.
    template <int rows, int each>
    __device__ __forceinline__ Pivot find(const float (&best)[rows],
                                          const unsigned (&slots)[each]) {
        Pivot pivot;
        float most = best[0];
#pragma unroll
        for (int i = 1; i < rows; ++i) most = larger(most, best[i]);
        pivot.largest = team_largest(most);
        const int winner = first_of(__ballot_sync(full_warp, most == pivot.largest) & team_);
        unsigned start = start_[rows - 1];
#pragma unroll
        for (int i = rows - 2; i >= 0; --i) {
            start = best[i] == pivot.largest ? start_[i] : start;
        }
        bool wins = winner == int(self_);
#pragma unroll
        for (int i = 0; i < rows; ++i) {
            const bool chosen = wins && best[i] == pivot.largest;
            publish<Shape::lanes * each>(chosen, i);
            if (chosen) start_[i] = unwanted(), wins = false;
        }
        __syncwarp();
        float* const row = &at(base_);
        float own[each];
        if constexpr (each == 4) {
            const Pack16<float> quad = reinterpret_cast<const Pack16<float>*>(row)[lane()];
#pragma unroll
            for (int k = 0; k < each; ++k) own[k] = quad.value[k];
        } else {
#pragma unroll
            for (int k = 0; k < each; ++k) own[k] = row[lane() * each + k];
        }
        pivot.start = __shfl_sync(full_warp, start, winner);
        unsigned both = 0;  // Slot and place.
        bool any = false;
#pragma unroll
        for (int k = each - 1; k >= 0; --k) {
            const bool found = fabs(own[k]) == pivot.largest;
            both = found ? slots[k] << 8 | unsigned(lane() * each + k) : both;
            any = any || found;
        }
        const int finder = first_of(__ballot_sync(full_warp, any) & team_);
        both = __shfl_sync(full_warp, both, finder);
        pivot.place = both & 31;
        pivot.slot = both >> 8;
        pivot.value = row[pivot.place];
        __syncwarp();
        pivot.mine = finder == int(self_);
        if (pivot.mine) row[pivot.place] = nan();
#pragma unroll
        for (int k = 0; k < each; ++k) {  // What is no longer left keeps L.
            if (own[k] == own[k]) at(pivot.start + slots[k]) = own[k];
        }
        return pivot;
    }

    /// Rows -= l * pivot row; best: their largest magnitudes then.
    template <int columns, int rows>
    __device__ __forceinline__ void update(const float (&l)[rows], float (&best)[rows]) {
        constexpr int parts = columns <= 16 ? 2 : 1;  // Chains of maxima a row.
        float part[rows][parts] = {};
#pragma unroll
        for (int j = 0; j < columns; j += 4) {
            const Pack16<float> quad = reinterpret_cast<const Pack16<float>*>(&at(base_))[j / 4];
#pragma unroll
            for (int i = 0; i < rows; ++i) {
#pragma unroll
                for (int e = 0; e < 4; ++e) {
                    a_[i][j + e] = fma(-l[i], quad.value[e], a_[i][j + e]);
                    part[i][e % parts] = larger(part[i][e % parts], a_[i][j + e]);
                }
            }
        }
#pragma unroll
        for (int i = 0; i < rows; ++i) best[i] = larger(part[i][0], part[i][parts - 1]);
    }

    template <int p>
    __device__ __forceinline__ void run_phase(float tau, bool& plain) {
        constexpr int columns = Shape::columns(p), rows = Shape::lane_rows(p);
        constexpr int each = columns / Shape::lanes;
        float best[rows] = {};
#pragma unroll
        for (int i = 0; i < rows; ++i) {
#pragma unroll
            for (int j = 0; j < columns; ++j) best[i] = larger(best[i], a_[i][j]);
        }
        unsigned slots[each];
#pragma unroll
        for (int k = 0; k < each; ++k) {
            const int j = lane() * each + k;
            slots[k] = p == 0 ? unsigned(j * Shape::value) : lists().slots[j];
        }
        const int steps = min(n_ - Shape::phase * p, Shape::phase);
        unsigned note = 0;  // Of the step of this lane: row, slot, place.
#pragma unroll 1
        for (int s = 0; s < steps; ++s) {
            const Pivot pivot = find(best, slots);
            const float d = raised(pivot.value, tau);
            plain = plain && pivot.largest > 0.0F;
            if (pivot.mine) at(pivot.start + pivot.slot) = d;
            const PlainDivisor<float> divisor(d, plain);
            float entry[rows];
#pragma unroll
            for (int i = 0; i < rows; ++i) entry[i] = taken<columns>(i, pivot.place);
            if (pivot.largest < tau) {
#pragma unroll
                for (int i = 0; i < rows; ++i) {  // The pivot row's multiplier is 1.
                    const bool chosen = start_[i] == unwanted() && best[i] == pivot.largest;
                    entry[i] = chosen ? d : entry[i];
                }
            }
            __syncwarp();
            float l[rows];
#pragma unroll
            for (int i = 0; i < rows; ++i) {
                l[i] = divisor.quotient(entry[i]);
                at(start_[i] + pivot.slot) = l[i];
            }
            if (lane() == s) note = pivot.start << 16 | pivot.slot << 8 | pivot.place;
            update<columns>(l, best);
            __syncwarp();
        }
        end_phase<p>(steps, note);
    }

    /// Lists the pivots of phase p, and leaves in shared memory what it left.
    template <int p>
    __device__ __forceinline__ void end_phase(int steps, unsigned note) {
        const bool inside = lane() < steps;
        const unsigned r = ((note >> 16) - row_start(0)) / Shape::row_bytes & 31;
        const CompactLists list = lists();
        if (inside) {
            list.rows[Shape::phase * p + lane()] = (unsigned char)r;
            list.columns[Shape::phase * p + lane()] = (unsigned char)(note >> 8 & 255);
        }
        if (p == 0) live_rows_ = live_columns_ = n_ < 32 ? (1u << n_) - 1 : ~0u;
        live_rows_ &= ~all_bits(inside ? 1u << r : 0u);
        live_columns_ &= ~all_bits(inside ? 1u << (note & 31) : 0u);
        if (p < 3 && n_ > Shape::phase * (p + 1)) {
            const CompactList listed(list.slots);
            unsigned slots[Shape::columns(p)];
#pragma unroll
            for (int j = 0; j < Shape::columns(p); ++j) {
                slots[j] = p == 0 ? unsigned(j * Shape::value) : listed[j];
            }
#pragma unroll
            for (int i = 0; i < Shape::lane_rows(p); ++i) {
                if (start_[i] == unwanted()) continue;
#pragma unroll
                for (int j = 0; j < Shape::columns(p); ++j) {
                    if ((live_columns_ >> j & 1) != 0) at(start_[i] + slots[j]) = a_[i][j];
                }
            }
        }
        __syncwarp();
    }

    /// Moves what is left after phase p - 1 together. Behind it are NaN.
    template <int p>
    __device__ __forceinline__ void move() {
        constexpr int columns = Shape::columns(p), rows = Shape::lane_rows(p);
        constexpr int each = Shape::rows;
        const CompactLists list = lists();
        unsigned char slot[each];
#pragma unroll
        for (int e = 0; e < each; ++e) {
            const int q = lane() * each + e;
            slot[e] = list.slots[q];
            list.slots[q] = (unsigned char)(Shape::width * Shape::value);
            list.row_of[q] = Shape::width - 1;
            if (p == 1 && n_ < Shape::width) {
                at(row_start(q) + Shape::width * Shape::value) = nan();
                at(row_start(Shape::width - 1) + q * Shape::value) = nan();
            }
        }
        __syncwarp();
#pragma unroll
        for (int e = 0; e < each; ++e) {
            const int q = lane() * each + e;
            const unsigned below = (1u << q) - 1;
            if ((live_columns_ >> q & 1) != 0) list.slots[__popc(live_columns_ & below)] = slot[e];
            if ((live_rows_ >> q & 1) != 0) {
                list.row_of[__popc(live_rows_ & below)] = (unsigned char)q;
            }
        }
        __syncwarp();
        const CompactList slots(list.slots);
#pragma unroll
        for (int i = 0; i < rows; ++i) {
            start_[i] = row_start(list.row_of[lane() * rows + i]);
        }
#pragma unroll
        for (int j = 0; j < columns; ++j) {
#pragma unroll
            for (int i = 0; i < rows; ++i) a_[i][j] = at(start_[i] + slots[j]);
        }
        const int left = n_ - Shape::phase * p;
#pragma unroll
        for (int i = 0; i < rows; ++i) {
            if (lane() * rows + i >= left) start_[i] = unwanted();
        }
        live_columns_ = (1u << left) - 1;
        __syncwarp();
    }

    unsigned char* memory_;  ///< Of the thread block.
    unsigned self_;          ///< The lane in the warp.
    unsigned team_;          ///< The lanes of the team.
    unsigned base_;          ///< Where the memory of the team is.
    int n_;
    float a_[Shape::rows][Shape::width];
    unsigned start_[Shape::rows];        ///< Where each row is; see `unwanted`.
    unsigned live_rows_, live_columns_;  ///< By row, and by place.
};

}  // namespace

}  // namespace tessera::batched::cuda
