#include <cublas_v2.h>
#include <cusolverDn.h>

#include <memory>

#include "operations/factor.hpp"
#include "peers/cublas.hpp"

namespace tessera::bench {

namespace {

void check(int status, const char* call) {
    if (status != 0) {
        throw DeviceError(std::string(call) + " returned status " + std::to_string(status));
    }
}

template <class T>
struct Prototypes;
template <>
struct Prototypes<float> {
    static constexpr char letter = 'S';
    using Getrf = decltype(&cublasSgetrfBatched);
    using Potrf = decltype(&cusolverDnSpotrfBatched);
};
template <>
struct Prototypes<double> {
    static constexpr char letter = 'D';
    using Getrf = decltype(&cublasDgetrfBatched);
    using Potrf = decltype(&cusolverDnDpotrfBatched);
};

const SharedLibrary& cusolver() {
    static const SharedLibrary library("cuSOLVER", {"libcusolver.so.12", "libcusolver.so"});
    return library;
}

/// The addresses of the matrices of all sets, in the memory of the context.
template <class T>
Buffer<T*> addresses_of(FactorWork<T>& work) {
    std::vector<T*> addresses;
    for (Offset set = 0; set < work.sets; ++set) {
        for (Index b = 0; b < work.batch; ++b) {
            addresses.push_back(work.factors_of_set(set) + Offset(b) * work.n * work.n);
        }
    }
    return copy_to_buffer(work.context, addresses);
}

template <class T>
struct Getrf {
    explicit Getrf(FactorWork<T>& work_) : work(work_), addresses(addresses_of(work_)) {
        check(cublas_library().symbol<decltype(&cublasCreate)>("cublasCreate_v2")(&handle),
              "cublasCreate");
        const auto set_stream =
            cublas_library().symbol<decltype(&cublasSetStream)>("cublasSetStream_v2");
        check(set_stream(handle, static_cast<cudaStream_t>(work.context.stream())),
              "cublasSetStream");
    }
    Getrf(const Getrf&) = delete;
    Getrf& operator=(const Getrf&) = delete;
    ~Getrf() { cublas_library().symbol<decltype(&cublasDestroy)>("cublasDestroy_v2")(handle); }
    void run(Offset set) {
        check(getrf(handle, work.n, addresses.data() + set * work.batch, work.n, work.rows.data(),
                    work.info.data(), work.batch),
              "getrfBatched");
    }

    FactorWork<T>& work;
    Buffer<T*> addresses;
    cublasHandle_t handle = nullptr;
    typename Prototypes<T>::Getrf getrf = cublas_library().symbol<typename Prototypes<T>::Getrf>(
        "cublas" + std::string(1, Prototypes<T>::letter) + "getrfBatched");
};

template <class T>
struct Potrf {
    explicit Potrf(FactorWork<T>& work_) : work(work_), addresses(addresses_of(work_)) {
        check(cusolver().symbol<decltype(&cusolverDnCreate)>("cusolverDnCreate")(&handle),
              "cusolverDnCreate");
        const auto set_stream =
            cusolver().symbol<decltype(&cusolverDnSetStream)>("cusolverDnSetStream");
        check(set_stream(handle, static_cast<cudaStream_t>(work.context.stream())),
              "cusolverDnSetStream");
    }
    Potrf(const Potrf&) = delete;
    Potrf& operator=(const Potrf&) = delete;
    ~Potrf() { cusolver().symbol<decltype(&cusolverDnDestroy)>("cusolverDnDestroy")(handle); }
    void run(Offset set) {
        check(potrf(handle, CUBLAS_FILL_MODE_LOWER, work.n, addresses.data() + set * work.batch,
                    work.n, work.info.data(), work.batch),
              "potrfBatched");
    }

    FactorWork<T>& work;
    Buffer<T*> addresses;
    cusolverDnHandle_t handle = nullptr;
    typename Prototypes<T>::Potrf potrf = cusolver().symbol<typename Prototypes<T>::Potrf>(
        "cusolverDn" + std::string(1, Prototypes<T>::letter) + "potrfBatched");
};

}  // namespace

template <class T>
std::vector<FactorPeer> cuda_factorisations(const std::string& op, FactorWork<T>& work) {
    if (!work.context.on_gpu()) return {};
    if (op == "ldu" && cublas_library().found()) {
        const auto calls = std::make_shared<Getrf<T>>(work);
        return {{"cublas_getrf", "partial", true, [calls](Offset set) { calls->run(set); }}};
    }
    if (op == "llt" && cusolver().found()) {
        const auto calls = std::make_shared<Potrf<T>>(work);
        return {{"cusolver_potrf", "static", true, [calls](Offset set) { calls->run(set); }}};
    }
    return {};
}

template std::vector<FactorPeer> cuda_factorisations(const std::string&, FactorWork<float>&);
template std::vector<FactorPeer> cuda_factorisations(const std::string&, FactorWork<double>&);

}  // namespace tessera::bench
