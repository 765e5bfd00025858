#pragma once

/// Updates of 16 x 8 tiles in the registers of a warp. Lane 4 q + i holds the entries (q, 2 i + e)
/// and (q + 8, 2 i + e), e = 0 or 1, of a tile in registers e and 2 + e.
namespace tessera::cuda {

/// d = c + L U, L of 16 rows and 8 columns, U of 8 rows and 8 columns.
template <class T>
struct RankEight;

/// FP64: one tensor instruction (m16n8k8), before compute capability 9.0 four (m8n8k4).
template <>
struct RankEight<double> {
    double left[4];

    /// `l` is the entry (0, 0) of L in shared memory, by columns, `pitch` apart.
    __device__ __forceinline__ void load_left(const double* l, int pitch, int lane) {
        const double* const from = l + lane % 4 * pitch + lane / 4;
        left[0] = from[0];
        left[1] = from[8];
        left[2] = from[4 * pitch];
        left[3] = from[4 * pitch + 8];
    }
    /// u(k) is row k of U in shared memory.
    template <class Row>
    __device__ __forceinline__ void add(double (&d)[4], const double (&c)[4], Row&& u,
                                        int lane) const {
        const double right[2] = {u(lane % 4)[lane / 4], u(lane % 4 + 4)[lane / 4]};
#if __CUDA_ARCH__ >= 900
        asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
            "{%8,%9}, {%10,%11,%12,%13};"
            : "=d"(d[0]), "=d"(d[1]), "=d"(d[2]), "=d"(d[3])
            : "d"(left[0]), "d"(left[1]), "d"(left[2]), "d"(left[3]), "d"(right[0]), "d"(right[1]),
              "d"(c[0]), "d"(c[1]), "d"(c[2]), "d"(c[3]));
#else
        const double start[4] = {c[0], c[1], c[2], c[3]};
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            double first = start[2 * half], second = start[2 * half + 1];
#pragma unroll
            for (int k = 0; k < 2; ++k) {
                asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
                    : "+d"(first), "+d"(second)
                    : "d"(left[half + 2 * k]), "d"(right[k]));
            }
            d[2 * half] = first;
            d[2 * half + 1] = second;
        }
#endif
    }
};

/// FP32: multiplications and additions of single values.
template <>
struct RankEight<float> {
    float left[8][2];

    __device__ __forceinline__ void load_left(const float* l, int pitch, int lane) {
#pragma unroll
        for (int k = 0; k < 8; ++k) {
            left[k][0] = l[k * pitch + lane / 4];
            left[k][1] = l[k * pitch + lane / 4 + 8];
        }
    }
    template <class Row>
    __device__ __forceinline__ void add(float (&d)[4], const float (&c)[4], Row&& u,
                                        int lane) const {
        float sum[4] = {c[0], c[1], c[2], c[3]};
#pragma unroll
        for (int k = 0; k < 8; ++k) {
            const float2 right = *reinterpret_cast<const float2*>(u(k) + lane % 4 * 2);
            sum[0] = fmaf(left[k][0], right.x, sum[0]);
            sum[1] = fmaf(left[k][0], right.y, sum[1]);
            sum[2] = fmaf(left[k][1], right.x, sum[2]);
            sum[3] = fmaf(left[k][1], right.y, sum[3]);
        }
#pragma unroll
        for (int e = 0; e < 4; ++e) d[e] = sum[e];
    }
};

}  // namespace tessera::cuda
