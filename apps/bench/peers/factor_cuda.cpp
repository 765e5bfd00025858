#include <cusolverDn.h>

#include <memory>

#include "operations/factor.hpp"
#include "peers/cublas_cuda.hpp"

namespace tessera::bench {

namespace {

template <class T>
using PotrfFunction =
    std::conditional_t<std::is_same_v<T, float>, decltype(&cusolverDnSpotrfBatched),
                       decltype(&cusolverDnDpotrfBatched)>;

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
    explicit Getrf(FactorWork<T>& work_)
        : work(work_), addresses(addresses_of(work_)), handle(work_.context) {}
    void run(Offset set) {
        check(getrf(handle, work.n, addresses.data() + set * work.batch, work.n, work.rows.data(),
                    work.info.data(), work.batch),
              "getrfBatched");
    }

    FactorWork<T>& work;
    Buffer<T*> addresses;
    CublasHandle handle;
    typename Prototypes<T>::Getrf getrf =
        cublas_function<T, typename Prototypes<T>::Getrf>("getrfBatched");
};

template <class T>
struct Potrf {
    explicit Potrf(FactorWork<T>& work_)
        : work(work_),
          addresses(addresses_of(work_)),
          handle(cusolver(), "cusolverDn", "", work_.context) {}
    void run(Offset set) {
        check(potrf(handle, CUBLAS_FILL_MODE_LOWER, work.n, addresses.data() + set * work.batch,
                    work.n, work.info.data(), work.batch),
              "potrfBatched");
    }

    FactorWork<T>& work;
    Buffer<T*> addresses;
    LibraryHandle<cusolverDnHandle_t, cusolverStatus_t> handle;
    PotrfFunction<T> potrf = cusolver().symbol<PotrfFunction<T>>(
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
