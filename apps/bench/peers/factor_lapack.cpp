#include <algorithm>
#include <array>

#include "operations/factor.hpp"
#include "peers/openblas.hpp"

namespace tessera::bench {

namespace {

template <class T>
using Potrf = void (*)(const char* triangle, const int* n, T* a, const int* ld, int* info,
                       std::size_t triangle_length);
template <class T>
using Sytrf = void (*)(const char* triangle, const int* n, T* a, const int* ld, int* pivots,
                       T* work, const int* work_size, int* info, std::size_t triangle_length);

/// one(matrix, pivots, info) for a copy of every matrix of a set.
template <class T, class One>
void for_all(FactorWork<T>& work, Offset set, const One& one) {
    const T* const from = work.matrices_of_set(set);
    T* const to = work.factors_of_set(set);
    const Offset step = Offset(work.n) * work.n;
    const int threads = work.context.threads();
#pragma omp parallel for num_threads(threads) schedule(static)
    for (Index b = 0; b < work.batch; ++b) {
        std::copy(from + b * step, from + (b + 1) * step, to + b * step);
        one(to + b * step, work.rows.data() + Offset(b) * work.n, work.info.data() + b);
    }
}

}  // namespace

template <class T>
std::vector<FactorPeer> lapack_factorisations(const std::string& op, FactorWork<T>& work) {
    if (work.context.on_gpu() || !openblas().found()) return {};
    const int n = work.n;
    if (op == "ldu") {
        return {{"lapack_getrf", "partial", false,
                 [&work, n, getrf = openblas_function<T, Getrf<T>>("getrf")](Offset set) {
                     for_all(work, set, [&](T* a, int* pivots, int* info) {
                         getrf(&n, &n, a, &n, pivots, info);
                     });
                 }}};
    }
    if (op == "llt") {
        return {{"lapack_potrf", "static", false,
                 [&work, n, potrf = openblas_function<T, Potrf<T>>("potrf")](Offset set) {
                     for_all(work, set,
                             [&](T* a, int*, int* info) { potrf("L", &n, a, &n, info, 1); });
                 }}};
    }
    return {{"lapack_sytrf", "bunch_kaufman", false,
             [&work, n, sytrf = openblas_function<T, Sytrf<T>>("sytrf")](Offset set) {
                 for_all(work, set, [&](T* a, int* pivots, int* info) {
                     std::array<T, 64 * batched::largest_size> scratch;
                     const int size = int(scratch.size());
                     sytrf("L", &n, a, &n, pivots, scratch.data(), &size, info, 1);
                 });
             }}};
}

template std::vector<FactorPeer> lapack_factorisations(const std::string&, FactorWork<float>&);
template std::vector<FactorPeer> lapack_factorisations(const std::string&, FactorWork<double>&);

}  // namespace tessera::bench
