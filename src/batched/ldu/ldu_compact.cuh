#pragma once

#include "batched/factor_lanes.cuh"
#include "batched/ldu/ldu_tile.cuh"

/// A(p, q) = L D U with full pivoting of 17 to 32 rows by teams of 8 or 16 lanes, each lane with
/// whole rows in registers. Every eight steps the rows and columns that are left are moved
/// together, so that the work shrinks with them. The matrix also lies in shared memory, where the
/// pivot row and column are read from; a column that is gone is NaN in all rows, which maxima pass
/// over, and a row that is gone is zero.
namespace tessera::batched::cuda {

namespace {

/// Shared memory of a team: rows of 40 values, first those of L (and the pivot) by their steps,
/// then the columns that were left when the row's phase began.
template <class T, int Lanes>
struct CompactShape {
    static constexpr int width = 32;
    static constexpr int phase = 8;  ///< Steps between the moves.
    static constexpr int matrices = 32 / Lanes;
    static constexpr int row_values = width + phase;
    static constexpr int rows = width / Lanes;  ///< A lane, at first.
    static constexpr int pad = 16 / int(sizeof(T));
    static constexpr int value_bytes = (width * row_values + Lanes * pad) * int(sizeof(T));
    static constexpr int bytes = value_bytes + (5 + width / phase) * width;
    static constexpr int warps = Lanes == 8 ? 2 : 4;  ///< A thread block.
    static_assert(bytes % 16 == 0);

    /// Where row r begins; lanes that write rows together use different banks.
    static __device__ __forceinline__ int start(int r) { return r * row_values + r / rows * pad; }
    /// Columns that are left in a phase, the rows of a lane, and where the row's values are.
    static constexpr int columns(int p) { return width - phase * p; }
    static constexpr int lane_rows(int p) { return (columns(p) + Lanes - 1) / Lanes; }
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

/// Copied: the matrix lies in shared memory, too, in so many phases; else only the pivot row goes
/// there.
template <class T, int Lanes, int Copied>
class CompactLdu {
  public:
    using Shape = CompactShape<T, Lanes>;

    __device__ __forceinline__ CompactLdu(unsigned char* memory, int n)
        : f_(reinterpret_cast<T*>(memory)), lists_(memory + Shape::value_bytes), n_(n) {}

    /// Reads the matrix at `a`, whose columns are `line` apart; quads: in units of 16 bytes.
    __device__ __forceinline__ void load(const T* a, Offset line, bool quads) {
        constexpr int rows = Shape::rows;
        const int first = team_.lane() * rows;
        a += first;
        constexpr bool whole = rows * int(sizeof(T)) == 16;
#pragma unroll
        for (int j = 0; j < Shape::width; ++j) {
            if (whole && quads) {
                typename Quad<T>::type quad{};
                if (j < n_ && first < n_) {
                    quad = *reinterpret_cast<const typename Quad<T>::type*>(a);
                }
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
#pragma unroll
        for (int i = 0; i < rows; ++i) {
            row_[i] = first + i;
            live_[i] = row_[i] < n_;
        }
        for (int j = first; j < first + rows; ++j) lists_.original[j] = lists_.places[j] = j;
        live_rows_ = live_columns_ = n_ < 32 ? (1u << n_) - 1 : ~0u;
    }
    /// False where a pivot is not well inside the range; nothing then means anything.
    __device__ __forceinline__ bool eliminate(T tau) {
        bool plain = true;
        begin_phase<0>();
        run_phase<0>(tau, plain);
        if (n_ > 8) move<1>(), run_phase<1>(tau, plain);
        if (n_ > 16) move<2>(), run_phase<2>(tau, plain);
        if (n_ > 24) move<3>(), run_phase<3>(tau, plain);
        return plain;
    }

    /// Writes the factors, whose columns are `line` apart, and the permutations; by a whole warp
    /// for a matrix whose team is done with it.
    static __device__ __forceinline__ void store(unsigned char* memory, int n, T* to, Offset line,
                                                 Index* rows, Index* columns) {
        const T* const f = reinterpret_cast<const T*>(memory);
        const CompactLists lists(memory + Shape::value_bytes);
        const int t = int(threadIdx.x) % 32;
        const bool inside = t < n;
        const int r = inside ? lists.rows[t] : 0;
        const int c = inside ? lists.columns[t] : 0;
        if (inside && rows != nullptr) rows[t] = r;
        if (inside && columns != nullptr) columns[t] = c;
        // The places by positions instead of columns.
        unsigned char place[4];
#pragma unroll
        for (int p = 0; p < 4; ++p) place[p] = lists.places[32 * p + c];
        __syncwarp();
#pragma unroll
        for (int p = 0; p < 4; ++p) lists.places[32 * p + t] = place[p];
        __syncwarp();
        uint4 words[2];
#pragma unroll
        for (int k = 0; k < 2; ++k) {
            words[k] = reinterpret_cast<const uint4*>(lists.places + t / Shape::phase * 32)[k];
        }
        const T* const row = f + Shape::start(r);
        bool plain = true;
        const PlainDivisor<T> divisor(inside ? row[t] : T(1), plain);
        const int first = (t / Shape::phase + 1) * Shape::phase;
        to += t;
#pragma unroll
        for (int s = 0; s < 32; ++s) {
            const unsigned word = reinterpret_cast<const unsigned*>(words)[s / 4];
            const int behind = first + int(word >> s % 4 * 8 & 31);
            const T value = row[s > t ? behind : s];
            const T result = s > t ? divisor.quotient(value) : value;
            if (inside && s < n) *to = result;
            to += line;
        }
    }

  private:
    template <int p>
    __device__ __forceinline__ void begin_phase() {
#pragma unroll
        for (int i = 0; i < Shape::lane_rows(p); ++i) {
            best_[i] = T(0);
            start_[i] = Shape::start(max(row_[i], 0)) + Shape::first(p);
#pragma unroll
            for (int j = 0; j < Shape::columns(p); ++j) best_[i] = larger(best_[i], a_[i][j]);
            if (p < Copied && live_[i]) store_row<Shape::columns(p)>(i, f_ + start_[i]);
        }
        team_.sync();
    }
    __device__ __forceinline__ void store_quad(int i, int j, T* to) const {
        typename Quad<T>::type quad;
#pragma unroll
        for (int e = 0; e < Quad<T>::width; ++e) reinterpret_cast<T*>(&quad)[e] = a_[i][j + e];
        *reinterpret_cast<typename Quad<T>::type*>(to) = quad;
    }
    template <int columns>
    __device__ __forceinline__ void store_row(int i, T* to) const {
#pragma unroll
        for (int j = 0; j < columns; j += Quad<T>::width) store_quad(i, j, to + j);
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

    template <int p>
    __device__ __forceinline__ void run_phase(T tau, bool& plain) {
        constexpr int columns = Shape::columns(p), rows = Shape::lane_rows(p);
        constexpr int lane_columns = (columns + Lanes - 1) / Lanes;
        constexpr int w = Quad<T>::width;
        constexpr bool copied = p < Copied;
        const int lane = team_.lane();
        const int end = min(n_, Shape::phase * (p + 1));
#pragma unroll 1
        for (int s = Shape::phase * p; s < end; ++s) {
            T lane_best = best_[0];
            int r = row_[rows - 1], c = lane * lane_columns;
#pragma unroll
            for (int i = 1; i < rows; ++i) lane_best = larger(lane_best, best_[i]);
            const T most = team_.max_size(lane_best);
#pragma unroll
            for (int i = rows - 2; i >= 0; --i) r = best_[i] == most ? row_[i] : r;
            r = team_.from(r, team_.first(lane_best == most));
            T* const pivot_row = f_ + Shape::start(max(r, 0)) + Shape::first(p);
            if constexpr (!copied) {
#pragma unroll
                for (int i = 0; i < rows; ++i) {
                    if (row_[i] == r) store_row<columns>(i, pivot_row);
                }
                team_.sync();
            }
            T own[lane_columns];
            if constexpr (columns == Lanes * w) {
                const auto quad = reinterpret_cast<const typename Quad<T>::type*>(pivot_row)[lane];
#pragma unroll
                for (int k = 0; k < w; ++k) own[k] = reinterpret_cast<const T*>(&quad)[k];
            } else {
#pragma unroll
                for (int k = 0; k < lane_columns; ++k) own[k] = pivot_row[c + k];
            }
            bool found = false;
#pragma unroll
            for (int k = lane_columns - 1; k >= 0; --k) {
                const int j = lane * lane_columns + k;
                const bool inside = columns % Lanes == 0 || j < columns;
                if (inside && fabs(own[k]) == most) c = j, found = true;
            }
            c = team_.from(c, team_.first(found));
            const T raw = pivot_row[c];
            plain = plain && most > T(0);
            const PlainDivisor<T> divisor(raised(raw, tau), plain);
            T l[rows];
#pragma unroll
            for (int i = 0; i < rows; ++i) {
                const T entry = copied ? f_[start_[i] + c] : taken<columns>(i, c);
                l[i] = live_[i] ? divisor.quotient(entry) : T(0);
                if (row_[i] == r) {
                    live_[i] = false;
                    l[i] = T(1);  // Makes the row zero.
                }
                if (live_[i]) f_[start_[i] - Shape::first(p) + s] = l[i];
            }
            team_.sync();
            if (lane == 0) {
                pivot_row[c] = std::numeric_limits<T>::quiet_NaN();
                pivot_row[s - Shape::first(p)] = divisor.d;
            }
            if (lane == s % Shape::phase) pivot_ = make_short2(short(r), short(c));
            live_rows_ &= ~(1u << r);
            live_columns_ &= ~(1u << c);
            last_column_ = c;
            team_.sync();
#pragma unroll
            for (int i = 0; i < rows; ++i) best_[i] = T(0);
#pragma unroll
            for (int j = 0; j < columns; j += w) {
                const auto entries =
                    *reinterpret_cast<const typename Quad<T>::type*>(pivot_row + j);
#pragma unroll
                for (int i = 0; i < rows; ++i) {
#pragma unroll
                    for (int e = 0; e < w; ++e) {
                        const T entry = reinterpret_cast<const T*>(&entries)[e];
                        a_[i][j + e] = fma(-l[i], entry, a_[i][j + e]);
                        best_[i] = larger(best_[i], a_[i][j + e]);
                    }
                    if (copied && live_[i]) store_quad(i, j, f_ + start_[i] + j);
                }
            }
            if (copied) team_.sync();
        }
        if (!copied && p < 3 && n_ > end) {  // For the move.
#pragma unroll
            for (int i = 0; i < rows; ++i) {
                if (live_[i]) store_row<columns>(i, f_ + start_[i]);
            }
        }
        if (lane < end - Shape::phase * p) {
            lists_.rows[Shape::phase * p + lane] = (unsigned char)pivot_.x;
            lists_.columns[Shape::phase * p + lane] = lists_.original[pivot_.y];
        }
        team_.sync();
    }

    /// Moves what is left after phase p - 1 together.
    template <int p>
    __device__ __forceinline__ void move() {
        constexpr int columns = Shape::columns(p), rows = Shape::lane_rows(p);
        constexpr int each = 32 / Lanes;
        const int lane = team_.lane();
        unsigned char original[each];
#pragma unroll
        for (int e = 0; e < each; ++e) {
            original[e] = lists_.original[lane * each + e];
            // What lies behind the columns that are left is to be NaN, as the last pivot column is.
            lists_.place_of[lane * each + e] = (unsigned char)last_column_;
            lists_.row_of[lane * each + e] = 0;
        }
        team_.sync();
#pragma unroll
        for (int e = 0; e < each; ++e) {
            const int q = lane * each + e;
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
        team_.sync();
        const int left = __popc(live_rows_);
        int from[rows];
#pragma unroll
        for (int i = 0; i < rows; ++i) {
            const int place = lane * rows + i;
            const int row = lists_.row_of[place];
            live_[i] = place < left;
            row_[i] = live_[i] ? row : -1;
            from[i] = Shape::start(row) + Shape::first(p - 1);
        }
#pragma unroll
        for (int j = 0; j < columns; ++j) {
            const int place = lists_.place_of[j];
#pragma unroll
            for (int i = 0; i < rows; ++i) a_[i][j] = f_[from[i] + place];
        }
#pragma unroll
        for (int i = 0; i < rows; ++i) {
            if (live_[i]) continue;
#pragma unroll
            for (int j = 0; j < columns; ++j) a_[i][j] = T(0);
        }
        live_columns_ = (1u << left) - 1;
        team_.sync();
        begin_phase<p>();
    }

    WarpTeam<Lanes> team_;
    T* f_;
    CompactLists lists_;
    int n_;
    T a_[Shape::rows][Shape::width];
    T best_[Shape::rows];  ///< The largest magnitude of each row.
    int row_[Shape::rows];
    int start_[Shape::rows];  ///< Where the columns of the row that are left are.
    bool live_[Shape::rows];
    unsigned live_rows_, live_columns_;  ///< By row, and by place.
    int last_column_ = 0;
    short2 pivot_{0, 0};  ///< That of the step of this lane in the phase.
};

/// The matrices of a warp whose bit is set in `odd` by the general kernel. Apart, so that what is
/// rarely wanted takes no registers.
template <class T>
__device__ __noinline__ void factorise_odd_compact(const SizeClasses& classes,
                                                   const FactorJob<T>& job, unsigned odd,
                                                   Offset first, int n, unsigned char* memory) {
    using Team = WarpTeam<32>;
    const Team team;
    const auto mine = team_memory<T, Team>(memory, factor_bytes<T>(32, 32), 0, n);
    for (; odd != 0; odd &= odd - 1) {
        __syncwarp();
        factorise<Ldu<Pivoting::full>, T, Team, SharedRows<T>>(
            team, mine, job, false, n, classes.matrix(first + __ffs(int(odd)) - 1), true);
    }
}

template <class T, int Lanes, int Copied, int blocks>
__global__ void __launch_bounds__(32 * CompactShape<T, Lanes>::warps, blocks)
    factor_compact_kernel(const __grid_constant__ SizeClasses classes,
                          const __grid_constant__ FactorJob<T> job, bool quads) {
    using Shape = CompactShape<T, Lanes>;
    static_assert(Shape::matrices * Shape::bytes >= factor_bytes<T>(32, 32));
    extern __shared__ __align__(16) unsigned char compact_memory[];
    begin_dependent();
    const TeamBatch batch = classes.of_block(Shape::warps * Shape::matrices);
    const int n = batch.n;
    const int warp = int(threadIdx.x) / 32;
    const int mine = int(threadIdx.x) % 32 / Lanes;
    unsigned char* const memory = compact_memory + warp * Shape::matrices * Shape::bytes;
    const Offset first = batch.first + warp * Shape::matrices;
    const bool here = first + mine < batch.end;
    unsigned odd;
    {
        const Offset b = classes.matrix(here ? first + mine : batch.end - 1);
        CompactLdu<T, Lanes, Copied> ldu(memory + mine * Shape::bytes, n);
        ldu.load(start_of(job.a, b), job.a.sizes != nullptr ? n : job.a.leading_dimension, quads);
        const bool plain = ldu.eliminate(threshold_of(job.options, b, T(1)));
        odd = __ballot_sync(full_warp, here && !plain && int(threadIdx.x) % Lanes == 0);
    }
    unsigned left = 0;
#pragma unroll 1
    for (int m = 0; m < Shape::matrices && first + m < batch.end; ++m) {
        if ((odd >> m * Lanes & 1) != 0) {
            left |= 1u << m;
            continue;
        }
        const Offset b = classes.matrix(first + m);
        const auto& p = job.permutations;
        const Offset start = p.offsets != nullptr ? p.offsets[b] : b * p.stride;
        CompactLdu<T, Lanes, Copied>::store(memory + m * Shape::bytes, n, start_of(job.f, b),
                                            job.f.sizes != nullptr ? n : job.f.leading_dimension,
                                            p.rows != nullptr ? p.rows + start : nullptr,
                                            p.columns != nullptr ? p.columns + start : nullptr);
        if (threadIdx.x % 32 == 0 && job.results.info != nullptr) job.results.info[b] = 0;
    }
    if (left != 0) factorise_odd_compact(classes, job, left, first, n, memory);
}

/// The matrices of 17 .. 32 rows of a job, if it asks for no more than factors, permutations and
/// info; else false.
template <class T, int Lanes, int Copied, int blocks>
bool ldu_by_compact(const Context& context, const FactorJob<T>& job) {
    using Shape = CompactShape<T, Lanes>;
    if (is_told(job.results) || job.options.relative ||
        job.options.workspace == Workspace::shared_memory) {
        return false;
    }
    const StagedLaunch launch = factor_launch(job, 17, 32, 32, Shape::warps * Shape::matrices);
    if (launch.blocks == 0) return true;
    const bool quads = job.a.size % 4 == 0 && is_aligned_run(job.a);
    launch_dependent(factor_compact_kernel<T, Lanes, Copied, blocks>, launch.blocks,
                     32 * Shape::warps, Shape::warps * Shape::matrices * Shape::bytes,
                     stream_of(context), launch.classes, job, quads);
    return true;
}

}  // namespace

}  // namespace tessera::batched::cuda
