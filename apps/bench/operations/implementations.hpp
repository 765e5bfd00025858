#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness/workload.hpp"

namespace tessera::bench {

/// One implementation of an operation on a workload.
template <class T>
struct Implementation {
    std::string op, name;
    double bytes = 0;       ///< Least memory traffic.
    double operations = 0;  ///< Floating-point operations, as counted in papers.
    double bound = 1;       ///< Upper bound of `error`.
    std::function<void(Offset set)> run = {};
    /// Error of the result for matrix b of set 0; see Json batched(...).
    std::function<double(Index b)> error = {};
    bool writes_info = false;
    bool overwrites = false;   ///< Overwrites its inputs.
    std::string variant = {};  ///< The fastest variant of a name is reported.
};

template <class T>
using Implementations = std::vector<Implementation<T>>;

/// Common data of all inversions of a workload; their inverses are in x.
template <class T>
Implementation<T> inversion(Workload<T>& work, const std::string& name);
/// Common data of the solutions w of A w = v.
template <class T>
Implementation<T> solution(Workload<T>& work, const std::string& name);
/// Common data of the products w = A v.
template <class T>
Implementation<T> product(Workload<T>& work, const std::string& name);

// Implementations that support `op` on `work`, which must outlive them.
template <class T>
Implementations<T> library(const std::string& op, Workload<T>& work);
/// Reading (norms) or copying (products) an equal number of bytes on the GPU, uncached too; for
/// layout uniform.
template <class T>
Implementations<T> bandwidth(const std::string& op, Workload<T>& work);
/// The papers' kernels; for layout uniform and n <= 32 on a GPU.
template <class T>
Implementations<T> paper_peers(const std::string& op, Workload<T>& work);
/// cuBLAS, found at run time; for matrices of one size.
template <class T>
Implementations<T> cublas_peers(const std::string& op, Workload<T>& work);
/// OpenBLAS, found at run time, and Eigen, on the CPU.
template <class T>
Implementations<T> lapack_peers(const std::string& op, Workload<T>& work);
template <class T>
Implementations<T> eigen_peers(const std::string& op, Workload<T>& work);

}  // namespace tessera::bench
