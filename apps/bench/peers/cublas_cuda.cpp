#include <cublas_v2.h>

#include <memory>

#include "operations/implementations.hpp"
#include "peers/cublas.hpp"
#include "tessera/types.hpp"

namespace tessera::bench {

namespace {

void check(cublasStatus_t status, const char* call) {
    if (status != CUBLAS_STATUS_SUCCESS) {
        throw DeviceError(std::string(call) + " returned status " + std::to_string(int(status)));
    }
}

template <class T>
struct Prototypes;
template <>
struct Prototypes<float> {
    static constexpr char letter = 'S';
    using Getrf = decltype(&cublasSgetrfBatched);
    using Getri = decltype(&cublasSgetriBatched);
    using Matinv = decltype(&cublasSmatinvBatched);
    using Gemv = decltype(&cublasSgemvBatched);
    using GemvStrided = decltype(&cublasSgemvStridedBatched);
};
template <>
struct Prototypes<double> {
    static constexpr char letter = 'D';
    using Getrf = decltype(&cublasDgetrfBatched);
    using Getri = decltype(&cublasDgetriBatched);
    using Matinv = decltype(&cublasDmatinvBatched);
    using Gemv = decltype(&cublasDgemvBatched);
    using GemvStrided = decltype(&cublasDgemvStridedBatched);
};

template <class T, class Function>
Function function(const std::string& name) {
    return cublas_library().symbol<Function>("cublas" + std::string(1, Prototypes<T>::letter) +
                                             name);
}

/// Arguments of the calls other than the workload; made once per workload.
template <class T>
struct Calls {
    explicit Calls(Workload<T>& workload)
        : work(workload),
          n(workload.shape().n),
          ld(int(workload.shape().leading_dimension())),
          batch(workload.shape().batch),
          pivots(workload.context(), Offset(n) * batch),
          info(workload.context(), batch) {
        check(cublas_library().symbol<decltype(&cublasCreate)>("cublasCreate_v2")(&handle),
              "cublasCreate");
        const auto set_stream =
            cublas_library().symbol<decltype(&cublasSetStream)>("cublasSetStream_v2");
        check(set_stream(handle, static_cast<cudaStream_t>(work.context().stream())),
              "cublasSetStream");
    }
    Calls(const Calls&) = delete;
    Calls& operator=(const Calls&) = delete;
    ~Calls() { cublas_library().symbol<decltype(&cublasDestroy)>("cublasDestroy_v2")(handle); }

    /// Factors a in place, and writes the inverse to x.
    void getrf_getri(Offset set) {
        check(getrf(handle, n, work.a_addresses(set), ld, pivots.data(), info.data(), batch),
              "getrfBatched");
        check(getri(handle, n, work.a_addresses(set), ld, pivots.data(), work.x_addresses(set), ld,
                    info.data(), batch),
              "getriBatched");
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
    cublasHandle_t handle = nullptr;
    typename Prototypes<T>::Getrf getrf =
        function<T, typename Prototypes<T>::Getrf>("getrfBatched");
    typename Prototypes<T>::Getri getri =
        function<T, typename Prototypes<T>::Getri>("getriBatched");
    typename Prototypes<T>::Matinv matinv_ =
        function<T, typename Prototypes<T>::Matinv>("matinvBatched");
    typename Prototypes<T>::Gemv gemv_ = function<T, typename Prototypes<T>::Gemv>("gemvBatched");
    typename Prototypes<T>::GemvStrided gemv_strided_ =
        function<T, typename Prototypes<T>::GemvStrided>("gemvStridedBatched");
};

}  // namespace

template <class T>
Implementations<T> cublas_peers(const std::string& op, Workload<T>& work) {
    const Shape& shape = work.shape();
    const bool inverts = op == "invert";
    if ((!inverts && op != "multiply") || shape.varies() || !work.context().on_gpu() ||
        !cublas_library().found()) {
        return {};
    }
    const auto calls = std::make_shared<Calls<T>>(work);
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
