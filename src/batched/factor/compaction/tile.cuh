#pragma once

#include "batched/factor/compaction/shape.cuh"
#include "batched/factor/factor_any_size.cuh"
#include "gpu/tiles/staging/contiguous_tile.cuh"

/// LDU with full pivoting and compaction for 17 to 32 rows in FP32: teams of 8 lanes with whole
/// rows in registers. Every eight steps the remaining rows and columns are compacted through shared
/// memory, so that the work shrinks. An eliminated column is NaN in all rows, which maxima ignore;
/// an eliminated row has multipliers of zero.
namespace tessera::batched::cuda {

namespace {

class CompactLdu {
  public:
    using Shape = CompactShape;

    /// memory: of the thread block.
    __device__ __forceinline__ CompactLdu(unsigned char* memory, int n)
        : memory_(memory),
          warp_lane_(threadIdx.x % 32),
          team_mask_(0xffu << (threadIdx.x & 24)),
          team_offset_(threadIdx.x / Shape::lanes * Shape::bytes),
          n_(n) {}

    /// Loads the matrix at `a` with leading dimension `line`; aligned: 16 bytes at a time.
    __device__ __forceinline__ void load(const float* a, Offset line, bool aligned) {
        constexpr int rows = Shape::rows;
        const int first = lane() * rows;
        float* const staged = &at(team_offset_ + Shape::dummy) + first;
        a += first;
        if (aligned) {
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
            list.offsets[j] = list.columns[j] = (unsigned char)(j * Shape::value);
        }
#pragma unroll
        for (int i = 0; i < rows; ++i) {
            row_offset_[i] = first + i < n_ ? row_start(first + i) : dummy();
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
    /// False where a pivot has no fast reciprocal; the factors are then undefined.
    __device__ __forceinline__ bool eliminate(float tau) {
        bool in_range = true;
        run_phase<0>(tau, in_range);
        if (n_ > 8) compact<1>(), run_phase<1>(tau, in_range);
        if (n_ > 16) compact<2>(), run_phase<2>(tau, in_range);
        if (n_ > 24) compact<3>(), run_phase<3>(tau, in_range);
        return in_range;
    }

    /// Writes the factors, with leading dimension `line`, and the permutations. full: n and line
    /// are 32.
    template <bool full>
    __device__ __forceinline__ void store(float* to, Offset line, Index* rows,
                                          Index* columns) const {
        const CompactLists list = lists();
        const CompactList offsets(list.columns);
        // Lane l has positions l + 8 k, eliminated in phase k.
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            const int t = lane() + Shape::phase * k;
            if (!full && t >= n_) return;
            const int r = list.rows[t];
            if (rows != nullptr) rows[t] = r;
            if (columns != nullptr) columns[t] = list.columns[t] / Shape::value;
            const unsigned row = row_start(r);
            bool in_range = true;
            const FastDivisor<float> divisor(at(row + list.columns[t]), in_range);
            float value[Shape::width];
#pragma unroll
            for (int s = 0; s < Shape::width; ++s) value[s] = at(row + offsets[s]);
#pragma unroll
            for (int s = 0; s < Shape::width; ++s) {
                const bool upper = s >= Shape::phase * (k + 1) || (s > Shape::phase * k && s > t);
                const float quotient = divisor.quotient(value[s]);
                store_if(full || s < n_, to + t + (full ? Shape::width : line) * s,
                         upper ? quotient : value[s]);
            }
        }
    }

  private:
    /// A pivot, known to all lanes of a team: its index among the remaining columns, the byte
    /// offset of its column in a row of shared memory, and the offset of its row.
    struct Pivot {
        float largest;
        float value;
        unsigned column, offset, row_offset;
        bool holds_column;  ///< This lane found the column.
    };

    static __device__ __forceinline__ float nan() {
        return std::numeric_limits<float>::quiet_NaN();
    }
    __device__ __forceinline__ int lane() const { return int(warp_lane_ % Shape::lanes); }
    /// The value at byte offset `bytes`.
    __device__ __forceinline__ float& at(unsigned bytes) const {
        return *reinterpret_cast<float*>(memory_ + bytes);
    }
    __device__ __forceinline__ CompactLists lists() const {
        return CompactLists(memory_ + team_offset_ + Shape::lists);
    }
    /// Offset of row r of the factors; teams begin in different banks.
    __device__ __forceinline__ unsigned row_start(int r) const {
        return team_offset_ + Shape::first_row + warp_lane_ / Shape::lanes * Shape::value +
               Shape::row_bytes * r;
    }
    /// Offset that stands for an eliminated row of this lane.
    __device__ __forceinline__ unsigned dummy() const {
        return team_offset_ + Shape::dummy + warp_lane_ % Shape::lanes * Shape::value;
    }
    /// Broadcasts row i as the pivot row of the team if `condition`, without a branch.
    template <int columns>
    __device__ __forceinline__ void broadcast_row(bool condition, int i) const {
        const unsigned to = tessera::cuda::shared_address(memory_) + team_offset_;
#pragma unroll
        for (int j = 0; j < columns; j += 4) {
            asm volatile(
                "{ .reg .pred p; setp.ne.s32 p, %0, 0; "
                "@p st.shared.v4.f32 [%1], {%2, %3, %4, %5}; }" ::"r"(int(condition)),
                "r"(to + 4 * j), "f"(a_[i][j]), "f"(a_[i][j + 1]), "f"(a_[i][j + 2]),
                "f"(a_[i][j + 3])
                : "memory");
        }
    }
    /// Element c of row i.
    template <int columns>
    __device__ __forceinline__ float select_entry(int i, unsigned c) const {
        float candidates[Shape::width];
#pragma unroll
        for (int j = 0; j < columns; ++j) candidates[j] = a_[i][j];
#pragma unroll
        for (int half = 1; half < columns; half *= 2) {
#pragma unroll
            for (int j = 0; j + half < columns; j += 2 * half) {
                candidates[j] =
                    select_register((c & half) != 0, candidates[j + half], candidates[j]);
            }
        }
        return candidates[0];
    }

    /// Finds the pivot of a step and stores its row as pivot row (NaN in the pivot's column) and
    /// among the factors. row_largest: the largest magnitude of each row; offsets: columns that
    /// this lane searches.
    template <int rows, int each>
    __device__ __forceinline__ Pivot find_pivot(const float (&row_largest)[rows],
                                                const unsigned (&offsets)[each]) {
        Pivot pivot;
        float lane_largest = row_largest[0];
#pragma unroll
        for (int i = 1; i < rows; ++i) lane_largest = max_magnitude(lane_largest, row_largest[i]);
        pivot.largest = team_largest(lane_largest);
        const int winner =
            first_lane(__ballot_sync(full_warp, lane_largest == pivot.largest) & team_mask_);
        unsigned row_offset = row_offset_[rows - 1];
#pragma unroll
        for (int i = rows - 2; i >= 0; --i) {
            row_offset = row_largest[i] == pivot.largest ? row_offset_[i] : row_offset;
        }
        bool wins = winner == int(warp_lane_);
#pragma unroll
        for (int i = 0; i < rows; ++i) {
            const bool chosen = wins && row_largest[i] == pivot.largest;
            broadcast_row<Shape::lanes * each>(chosen, i);
            if (chosen) row_offset_[i] = dummy(), wins = false;
        }
        __syncwarp();
        float* const row = &at(team_offset_);
        float entries[each];
        if constexpr (each == 4) {
            const Pack16<float> quad = reinterpret_cast<const Pack16<float>*>(row)[lane()];
#pragma unroll
            for (int k = 0; k < each; ++k) entries[k] = quad.value[k];
        } else {
#pragma unroll
            for (int k = 0; k < each; ++k) entries[k] = row[lane() * each + k];
        }
        pivot.row_offset = __shfl_sync(full_warp, row_offset, winner);
        unsigned packed = 0;  // Offset and column.
        bool any = false;
#pragma unroll
        for (int k = each - 1; k >= 0; --k) {
            const bool is_largest = fabs(entries[k]) == pivot.largest;
            packed = is_largest ? offsets[k] << 8 | unsigned(lane() * each + k) : packed;
            any = any || is_largest;
        }
        const int finder = first_lane(__ballot_sync(full_warp, any) & team_mask_);
        packed = __shfl_sync(full_warp, packed, finder);
        pivot.column = packed & 31;
        pivot.offset = packed >> 8;
        pivot.value = row[pivot.column];
        __syncwarp();
        pivot.holds_column = finder == int(warp_lane_);
        if (pivot.holds_column) row[pivot.column] = nan();
#pragma unroll
        for (int k = 0; k < each; ++k) {  // NaN: eliminated, already an entry of L.
            if (entries[k] == entries[k]) at(pivot.row_offset + offsets[k]) = entries[k];
        }
        return pivot;
    }

    /// Rows -= l * pivot row; row_largest: their new largest magnitudes.
    template <int columns, int rows>
    __device__ __forceinline__ void update(const float (&l)[rows], float (&row_largest)[rows]) {
        constexpr int parts = columns <= 16 ? 2 : 1;  // Independent chains of maxima per row.
        float part[rows][parts] = {};
#pragma unroll
        for (int j = 0; j < columns; j += 4) {
            const Pack16<float> quad =
                reinterpret_cast<const Pack16<float>*>(&at(team_offset_))[j / 4];
#pragma unroll
            for (int i = 0; i < rows; ++i) {
#pragma unroll
                for (int e = 0; e < 4; ++e) {
                    a_[i][j + e] = fma(-l[i], quad.value[e], a_[i][j + e]);
                    part[i][e % parts] = max_magnitude(part[i][e % parts], a_[i][j + e]);
                }
            }
        }
#pragma unroll
        for (int i = 0; i < rows; ++i)
            row_largest[i] = max_magnitude(part[i][0], part[i][parts - 1]);
    }

    template <int p>
    __device__ __forceinline__ void run_phase(float tau, bool& in_range) {
        constexpr int columns = Shape::columns(p), rows = Shape::lane_rows(p);
        constexpr int each = columns / Shape::lanes;
        float row_largest[rows] = {};
#pragma unroll
        for (int i = 0; i < rows; ++i) {
#pragma unroll
            for (int j = 0; j < columns; ++j)
                row_largest[i] = max_magnitude(row_largest[i], a_[i][j]);
        }
        unsigned offsets[each];
#pragma unroll
        for (int k = 0; k < each; ++k) {
            const int j = lane() * each + k;
            offsets[k] = p == 0 ? unsigned(j * Shape::value) : lists().offsets[j];
        }
        const int steps = min(n_ - Shape::phase * p, Shape::phase);
        unsigned step_record = 0;  // Row, offset and column of step `lane`.
#pragma unroll 1
        for (int s = 0; s < steps; ++s) {
            const Pivot pivot = find_pivot(row_largest, offsets);
            const float d = with_threshold(pivot.value, tau);
            in_range = in_range && pivot.largest > 0.0F;
            if (pivot.holds_column) at(pivot.row_offset + pivot.offset) = d;
            const FastDivisor<float> divisor(d, in_range);
            float entry[rows];
#pragma unroll
            for (int i = 0; i < rows; ++i) entry[i] = select_entry<columns>(i, pivot.column);
            if (pivot.largest < tau) {
#pragma unroll
                for (int i = 0; i < rows; ++i) {  // The pivot row's multiplier is 1.
                    const bool chosen =
                        row_offset_[i] == dummy() && row_largest[i] == pivot.largest;
                    entry[i] = chosen ? d : entry[i];
                }
            }
            __syncwarp();
            float l[rows];
#pragma unroll
            for (int i = 0; i < rows; ++i) {
                l[i] = divisor.quotient(entry[i]);
                at(row_offset_[i] + pivot.offset) = l[i];
            }
            if (lane() == s)
                step_record = pivot.row_offset << 16 | pivot.offset << 8 | pivot.column;
            update<columns>(l, row_largest);
            __syncwarp();
        }
        end_phase<p>(steps, step_record);
    }

    /// Lists the pivots of phase p and stores the remaining entries in shared memory.
    template <int p>
    __device__ __forceinline__ void end_phase(int steps, unsigned step_record) {
        const bool inside = lane() < steps;
        const unsigned r = ((step_record >> 16) - row_start(0)) / Shape::row_bytes & 31;
        const CompactLists list = lists();
        if (inside) {
            list.rows[Shape::phase * p + lane()] = (unsigned char)r;
            list.columns[Shape::phase * p + lane()] = (unsigned char)(step_record >> 8 & 255);
        }
        if (p == 0) live_rows_ = live_columns_ = n_ < 32 ? (1u << n_) - 1 : ~0u;
        live_rows_ &= ~team_or(inside ? 1u << r : 0u);
        live_columns_ &= ~team_or(inside ? 1u << (step_record & 31) : 0u);
        if (p < 3 && n_ > Shape::phase * (p + 1)) {
            const CompactList listed(list.offsets);
            unsigned offsets[Shape::columns(p)];
#pragma unroll
            for (int j = 0; j < Shape::columns(p); ++j) {
                offsets[j] = p == 0 ? unsigned(j * Shape::value) : listed[j];
            }
#pragma unroll
            for (int i = 0; i < Shape::lane_rows(p); ++i) {
                if (row_offset_[i] == dummy()) continue;
#pragma unroll
                for (int j = 0; j < Shape::columns(p); ++j) {
                    if ((live_columns_ >> j & 1) != 0) at(row_offset_[i] + offsets[j]) = a_[i][j];
                }
            }
        }
        __syncwarp();
    }

    /// After 8 p elimination steps: reads the remaining rows and columns from shared memory, packed
    /// to the front and spread evenly over the lanes. Unused places read NaN, which the search for
    /// pivots ignores.
    template <int p>
    __device__ __forceinline__ void compact() {
        constexpr int columns = Shape::columns(p), rows = Shape::lane_rows(p);
        constexpr int each = Shape::rows;
        const CompactLists list = lists();
        unsigned char offset[each];
#pragma unroll
        for (int e = 0; e < each; ++e) {
            const int q = lane() * each + e;
            offset[e] = list.offsets[q];
            list.offsets[q] = (unsigned char)(Shape::width * Shape::value);
            list.next_rows[q] = Shape::width - 1;
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
            if ((live_columns_ >> q & 1) != 0)
                list.offsets[__popc(live_columns_ & below)] = offset[e];
            if ((live_rows_ >> q & 1) != 0) {
                list.next_rows[__popc(live_rows_ & below)] = (unsigned char)q;
            }
        }
        __syncwarp();
        const CompactList offsets(list.offsets);
#pragma unroll
        for (int i = 0; i < rows; ++i) {
            row_offset_[i] = row_start(list.next_rows[lane() * rows + i]);
        }
#pragma unroll
        for (int j = 0; j < columns; ++j) {
#pragma unroll
            for (int i = 0; i < rows; ++i) a_[i][j] = at(row_offset_[i] + offsets[j]);
        }
        const int remaining = n_ - Shape::phase * p;
#pragma unroll
        for (int i = 0; i < rows; ++i) {
            if (lane() * rows + i >= remaining) row_offset_[i] = dummy();
        }
        live_columns_ = (1u << remaining) - 1;
        __syncwarp();
    }

    unsigned char* memory_;  ///< Shared memory of the thread block.
    unsigned warp_lane_;     ///< Lane of the warp.
    unsigned team_mask_;     ///< Mask of the team's lanes.
    unsigned team_offset_;   ///< Offset of the team's memory.
    int n_;
    float a_[Shape::rows][Shape::width];
    unsigned row_offset_[Shape::rows];   ///< Offset of each row, or dummy().
    unsigned live_rows_, live_columns_;  ///< Bit masks of what is not eliminated.
};

}  // namespace

}  // namespace tessera::batched::cuda
