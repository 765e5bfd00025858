#include <algorithm>
#include <cstdio>

#include "operations/implementations.hpp"

#if TESSERA_WITH_EIGEN
// One declaration for each instruction set that eigen_loops.cpp is compiled for.
#define TESSERA_EIGEN_SET eigen_avx2
#include "peers/eigen_loops.hpp"
#undef TESSERA_EIGEN_SET
#define TESSERA_EIGEN_SET eigen_avx512
#include "peers/eigen_loops.hpp"
#endif

namespace tessera::bench {

namespace {

void say_left_out(const char* reason) {
    static bool reported = false;
    if (!reported) std::fprintf(stderr, "tessera-bench: Eigen is left out: %s\n", reason);
    reported = true;
}

}  // namespace

#if TESSERA_WITH_EIGEN
template <class T>
Implementations<T> eigen_peers(const std::string& op, Workload<T>& work) {
    const Shape& shape = work.shape();
    const Index largest = shape.has_varying_sizes()
                              ? *std::max_element(shape.sizes.begin(), shape.sizes.end())
                              : shape.n;
    if ((op != "invert" && op != "multiply") || work.context().on_gpu() || largest > 32) return {};
    Implementations<T> implementations;
    const auto add = [&](const char* variant, auto invert, auto multiply) {
        implementations.push_back(op == "invert" ? inversion(work, "eigen")
                                                 : product(work, "eigen"));
        implementations.back().variant = variant;
        implementations.back().run = [&work, invert, multiply,
                                      inverts = op == "invert"](Offset set) {
            const int threads = work.context().threads();
            if (inverts)
                invert(threads, work.a(set), work.x(set));
            else
                multiply(threads, work.a(set), work.v(set), work.w(set));
        };
    };
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        add("avx2", eigen_avx2::invert_all<T>, eigen_avx2::multiply_all<T>);
    }
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) {
        add("avx512", eigen_avx512::invert_all<T>, eigen_avx512::multiply_all<T>);
    }
    if (implementations.empty()) say_left_out("this CPU has no AVX2");
    return implementations;
}
#else
template <class T>
Implementations<T> eigen_peers(const std::string&, Workload<T>& work) {
    if (!work.context().on_gpu()) say_left_out("built without its headers, or not for x86-64");
    return {};
}
#endif

template Implementations<float> eigen_peers(const std::string&, Workload<float>&);
template Implementations<double> eigen_peers(const std::string&, Workload<double>&);

}  // namespace tessera::bench
