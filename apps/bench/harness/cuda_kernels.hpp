#pragma once

#include <functional>

#include "tessera/blocks.hpp"
#include "tessera/context.hpp"
#include "tessera/csr.hpp"
#include "tessera/factor.hpp"

/// Kernels for comparison only; defined where the CUDA backend is built.
namespace tessera::bench {

/// Seconds between two events around `count` runs of `work` on the stream of `context`.
double seconds_on_gpu(const Context& context, int count, const std::function<void()>& work);

/// One pass over the arrays of a CSR matrix: the cheapest kernel that reads every byte of them.
void read_csr(const Context& context, const CsrView<double>& matrix, double* sink);

/// One pass over an array, aligned to 16 bytes and a multiple of them long; and its plain copy.
void read_values(const Context& context, const double* values, Offset count, double* sink);
void copy_values(const Context& context, const double* from, Offset count, double* to);

/// The paper's inversion kernels on `batch` column-major n x n matrices one after the other,
/// 1 <= n <= 32. In both a thread holds one row in registers and every loop is unrolled.
///   single    one problem per warp, padded to 32 x 32; the first n steps are run;
///   multiple  32 / p problems per warp, p the smallest power of two not below n; a kernel for each
///             n.
/// Singular matrices give non-finite values; there is no info.
template <class T>
void paper_single(const Context& context, int n, Offset batch, const T* in, T* out);
template <class T>
void paper_multiple(const Context& context, int n, Offset batch, const T* in, T* out);

/// The setup of block Jacobi with the extractions of the paper from CSR, blocks of at most 32 rows;
/// the inverse of block b is packed and column-major from entry_offsets[b] on, as in BlockJacobi.
enum class PaperExtraction { cached, shared_full, shared };
template <class T>
void paper_block_jacobi_setup(const Context& context, PaperExtraction extraction,
                              const CsrView<T>& matrix, const BlockPartition& blocks,
                              std::span<const Offset> entry_offsets, T* inverses);

/// Resources of a kernel on a multiprocessor.
struct KernelResources {
    int registers = 0;    ///< Per thread.
    int local_bytes = 0;  ///< Per thread: spilled registers and arrays that are indexed.
    int threads = 0;      ///< Per thread block.
    int blocks = 0;       ///< Active thread blocks per multiprocessor.
};
template <class T>
KernelResources paper_single_use();
template <class T>
KernelResources paper_multiple_use(int n);

/// The workspace in which a matrix of up to 32 rows is factored.
enum class Workspace : std::uint8_t { registers, shared_memory };

template <class T>
struct FactorArguments {
    batched::BatchView<const T> a;
    batched::BatchView<T> f;
    batched::PermutationsView<Index> permutations;
    batched::FactorResults<T> results;
};

namespace paper {

/// batched::ldu and llt for uniform batches of at most 32 rows in the given workspace; false,
/// without work, if the library uses that workspace.
template <batched::Pivoting pivoting, class T>
bool ldu_in(const Context& context, Workspace workspace, const FactorArguments<T>& arguments);
template <batched::Pivoting pivoting, class T>
bool llt_in(const Context& context, Workspace workspace, const FactorArguments<T>& arguments);

}  // namespace paper

}  // namespace tessera::bench
