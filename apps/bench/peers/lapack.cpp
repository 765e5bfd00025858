#include <algorithm>
#include <array>

#include "operations/implementations.hpp"
#include "peers/host_matrices.hpp"
#include "peers/openblas.hpp"

namespace tessera::bench {

namespace {

template <class T>
using Getri = void (*)(const int* n, T* a, const int* ld, const int* pivots, T* work,
                       const int* work_size, int* info);
template <class T>
using Gemv = void (*)(const char* transpose, const int* m, const int* n, const T* alpha, const T* a,
                      const int* ld, const T* x, const int* step_x, const T* beta, T* y,
                      const int* step_y, std::size_t transpose_length);

constexpr std::size_t largest = batched::largest_size;

template <class T>
void invert_all(Getrf<T> getrf, Getri<T> getri, Workload<T>& work, Offset set) {
    const batched::BatchView<const T> a = work.a(set);
    const batched::BatchView<T> x = work.x(set);
    Index* const info = work.info(set);
    const int threads = work.context().threads();
#pragma omp parallel for num_threads(threads) schedule(static)
    for (Index b = 0; b < a.count; ++b) {
        std::array<int, largest> pivots;
        std::array<T, 32 * largest> scratch;
        const int scratch_size = int(scratch.size());
        const int n = rows_of(a, b), ld = int(leading_dimension_of(x, b));
        const T* const from = start_of(a, b);
        T* const to = start_of(x, b);
        std::copy(from, from + Offset(ld) * (n - 1) + n, to);
        getrf(&n, &n, to, &ld, pivots.data(), &info[b]);
        getri(&n, to, &ld, pivots.data(), scratch.data(), &scratch_size, &info[b]);
    }
}

template <class T>
void multiply_all(Gemv<T> gemv, Workload<T>& work, Offset set) {
    const batched::BatchView<const T> a = work.a(set);
    const batched::VectorsView<const T> v = work.v(set);
    const batched::VectorsView<T> w = work.w(set);
    const int threads = work.context().threads();
#pragma omp parallel for num_threads(threads) schedule(static)
    for (Index b = 0; b < a.count; ++b) {
        const int n = rows_of(a, b), ld = int(leading_dimension_of(a, b)), step = 1;
        const T one = 1, zero = 0;
        gemv("N", &n, &n, &one, start_of(a, b), &ld, start_of(v, b), &step, &zero, start_of(w, b),
             &step, 1);
    }
}

}  // namespace

template <class T>
Implementations<T> lapack_peers(const std::string& op, Workload<T>& work) {
    Implementations<T> implementations;
    if ((op != "invert" && op != "multiply") || work.context().on_gpu() || !openblas().found()) {
        return implementations;
    }
    if (op == "invert") {
        implementations.push_back(inversion(work, "lapack"));
        implementations.back().run = [&work, getrf = openblas_function<T, Getrf<T>>("getrf"),
                                      getri = openblas_function<T, Getri<T>>("getri")](Offset set) {
            invert_all(getrf, getri, work, set);
        };
    } else {
        implementations.push_back(product(work, "lapack"));
        implementations.back().run = [&work, gemv = openblas_function<T, Gemv<T>>("gemv")](
                                         Offset set) { multiply_all(gemv, work, set); };
    }
    return implementations;
}

template Implementations<float> lapack_peers(const std::string&, Workload<float>&);
template Implementations<double> lapack_peers(const std::string&, Workload<double>&);

}  // namespace tessera::bench
