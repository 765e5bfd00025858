#pragma once

#include "batched/invert/kernels.hpp"
#include "gpu/tiles/runs.cuh"

namespace tessera::batched::cuda {

/// What kernels are told of matrices of one size that are one run of memory.
template <class T>
struct RunJob {
    const T* a;
    T* x;  ///< Null: not stored.
    Index count;
    Index* info;              ///< Null: not told.
    T* reciprocal_condition;  ///< Null: not wanted.
};

template <class T>
RunJob<T> run_job(const InvertJob<T>& job) {
    return {job.a.values, job.store ? job.x.values : nullptr, job.a.count, job.results.info,
            job.results.reciprocal_condition};
}

/// Whether a job is such a run, and asks for no more.
template <class T>
bool is_one_run(const InvertJob<T>& job) {
    using tessera::cuda::is_aligned_run;
    return job.results.pivot_growth == nullptr && is_aligned_run(job.a) &&
           (!job.store || is_aligned_run(job.x));
}

}  // namespace tessera::batched::cuda
