#include <cuda_runtime_api.h>

#include <memory>

#include "operations/implementations.hpp"
#include "peers/cublas_cuda.hpp"

namespace tessera::bench {

namespace {

/// Arguments of the calls other than the workload; made once per workload.
template <class T>
struct CallOperands {
    explicit CallOperands(Workload<T>& workload)
        : work(workload),
          n(workload.shape().n),
          ld(int(workload.shape().leading_dimension())),
          batch(workload.shape().batch),
          pivots(workload.context(), Offset(n) * batch),
          info(workload.context(), batch),
          handle(workload.context()) {}

    /// Factors a in place, and writes the inverse to x.
    void getrf_getri(Offset set) {
        check(getrf(handle, n, work.a_addresses(set), ld, pivots.data(), info.data(), batch),
              "getrfBatched");
        check(getri(handle, n, work.a_addresses(set), ld, pivots.data(), work.x_addresses(set), ld,
                    info.data(), batch),
              "getriBatched");
    }
    /// Factors a in place, and writes the solutions to w.
    void getrf_getrs(Offset set) {
        check(getrf(handle, n, work.a_addresses(set), ld, pivots.data(), info.data(), batch),
              "getrfBatched");
        const auto stream = static_cast<cudaStream_t>(work.context().stream());
        check(int(cudaMemcpyAsync(work.w(set).values, work.v(set).values,
                                  sizeof(T) * std::size_t(n) * std::size_t(batch),
                                  cudaMemcpyDeviceToDevice, stream)),
              "cudaMemcpyAsync");
        int argument = 0;
        check(getrs(handle, CUBLAS_OP_N, n, 1, work.a_addresses(set), ld, pivots.data(),
                    work.w_addresses(set), n, &argument, batch),
              "getrsBatched");
    }
    void matinv(Offset set) {
        check(matinv_(handle, n, work.a_addresses(set), ld, work.x_addresses(set), ld, info.data(),
                      batch),
              "matinvBatched");
    }
    void gemv(Offset set) {
        const T one = 1, zero = 0;
        check(gemv_(handle, CUBLAS_OP_N, n, n, &one, work.a_addresses(set), ld,
                    work.v_addresses(set), 1, &zero, work.w_addresses(set), 1, batch),
              "gemvBatched");
    }
    void gemv_strided(Offset set) {
        const T one = 1, zero = 0;
        check(gemv_strided_(handle, CUBLAS_OP_N, n, n, &one, work.a(set).values, ld,
                            work.a(set).stride, work.v(set).values, 1, n, &zero, work.w(set).values,
                            1, n, batch),
              "gemvStridedBatched");
    }

    Workload<T>& work;
    int n, ld, batch;
    Buffer<int> pivots, info;
    CublasHandle handle;
    typename Prototypes<T>::Getrf getrf =
        cublas_function<T, typename Prototypes<T>::Getrf>("getrfBatched");
    typename Prototypes<T>::Getri getri =
        cublas_function<T, typename Prototypes<T>::Getri>("getriBatched");
    typename Prototypes<T>::Getrs getrs =
        cublas_function<T, typename Prototypes<T>::Getrs>("getrsBatched");
    typename Prototypes<T>::Matinv matinv_ =
        cublas_function<T, typename Prototypes<T>::Matinv>("matinvBatched");
    typename Prototypes<T>::Gemv gemv_ =
        cublas_function<T, typename Prototypes<T>::Gemv>("gemvBatched");
    typename Prototypes<T>::GemvStrided gemv_strided_ =
        cublas_function<T, typename Prototypes<T>::GemvStrided>("gemvStridedBatched");
};

}  // namespace

template <class T>
Implementations<T> cublas_peers(const std::string& op, Workload<T>& work) {
    const Shape& shape = work.shape();
    const bool inverts = op == "invert";
    const bool solves = op == "solve" && shape.layout == "uniform";
    if ((!inverts && !solves && op != "multiply") || shape.has_varying_sizes() ||
        !work.context().on_gpu() || !cublas_library().found()) {
        return {};
    }
    const auto calls = std::make_shared<CallOperands<T>>(work);
    Implementations<T> implementations;
    if (inverts) {
        implementations.push_back(inversion(work, "cublas_getrf_getri"));
        implementations.back().run = [calls](Offset set) { calls->getrf_getri(set); };
        implementations.back().overwrites = true;
        if (shape.n <= 32) {
            implementations.push_back(inversion(work, "cublas_matinv"));
            implementations.back().run = [calls](Offset set) { calls->matinv(set); };
        }
        return implementations;
    }
    if (solves) {
        implementations.push_back(solution(work, "cublas_getrf_getrs"));
        implementations.back().run = [calls](Offset set) { calls->getrf_getrs(set); };
        implementations.back().overwrites = true;
        return implementations;
    }
    implementations.push_back(product(work, "cublas_gemv"));
    implementations.back().variant = "pointers";
    implementations.back().run = [calls](Offset set) { calls->gemv(set); };
    if (shape.layout != "pointers") {
        implementations.push_back(product(work, "cublas_gemv"));
        implementations.back().variant = "strided";
        implementations.back().run = [calls](Offset set) { calls->gemv_strided(set); };
    }
    return implementations;
}

template Implementations<float> cublas_peers(const std::string&, Workload<float>&);
template Implementations<double> cublas_peers(const std::string&, Workload<double>&);

}  // namespace tessera::bench
