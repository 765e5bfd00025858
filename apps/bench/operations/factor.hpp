#pragma once

#include <functional>

#include "harness/bench.hpp"

namespace tessera::bench {

struct FactorBench {
    /// ldu, llt, ldlt.
    std::vector<std::string> ops = {"ldu", "llt", "ldlt"};
    std::vector<std::string> types = {"f64"};
    std::vector<int> sizes = {4, 8, 16, 32};
    std::vector<int> batches = {10000};
    /// Workspaces on a GPU: fastest, registers, shared_memory.
    std::vector<std::string> workspaces = {"fastest"};
    /// Numbers of right-hand sides for solve with the factors, if any.
    std::vector<int> solves;
    bool peers = false;
    double seconds = 0.1;  ///< Each row is measured for at least this time.
};

/// Measures the batched factorisations out of place on random matrices (symmetric for ldlt,
/// positive definite for llt). GFLOP/s are nominal: 2 n^3 / 3 for ldu, n^3 / 3 for llt and ldlt,
/// whatever the pivoting. Rows of ldlt hold the share of rows in 2 x 2 pivots; those of the library
/// residual_ratio, the worst ||A(p, q) - L D U|| over 10 n eps || |L| |D| |U| || of some matrices,
/// which is checked; peers are not. Solves use the factors of partial (ldu), static (llt) and
/// Bunch-Kaufman (ldlt) pivoting; their bytes are all of the factors, once, and the vectors.
Json factor(const Context& context, const FactorBench& options);

/// Contiguous column-major matrices, in enough sets to exceed the caches.
template <class T>
struct FactorWork {
    Context context;
    Index n;
    Index batch;
    Offset sets;
    Buffer<T> a, f;
    Buffer<Index> rows, columns, info;

    const T* matrices_of_set(Offset set) const { return a.data() + set * batch * n * n; }
    T* factors_of_set(Offset set) { return f.data() + set * batch * n * n; }
};

/// Another library's factorisation of a set of the matrices. `in_place`: its run overwrites
/// factors_of_set(set), which holds A.
struct FactorPeer {
    std::string name;
    std::string pivoting;
    bool in_place = false;
    std::function<void(Offset set)> run;
};

/// OpenBLAS' getrf, potrf, sytrf in a parallel loop, found at run time.
template <class T>
std::vector<FactorPeer> lapack_factorisations(const std::string& op, FactorWork<T>& work);
/// cuBLAS' getrfBatched and cuSOLVER's potrfBatched, found at run time.
template <class T>
std::vector<FactorPeer> cuda_factorisations(const std::string& op, FactorWork<T>& work);

}  // namespace tessera::bench
