#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tessera/formats.hpp"

namespace tessera::bench {

/// A product y = A x of another library.
struct SpmvPeer {
    std::string name;
    std::function<void()> run;
};

/// cuSPARSE, loaded at run time: CSR by both algorithms (preprocessed), sliced ELLPACK with slices
/// of 32 rows, and, for `block` above 1, BSR and the older bsrmv. Arrays have 32-bit offsets. The
/// arguments must outlive the result. Empty if there is no such library.
template <class T>
std::vector<SpmvPeer> cusparse_products(const Context& context, const CsrView<T>& matrix,
                                        Index block, const T* x, T* y);

/// y = A x by cuSPARSE's CSR product (algorithm 1, preprocessed), for solvers. `matrix` must
/// outlive it. Throws DeviceError without such a library.
std::unique_ptr<Operator<double>> cusparse_csr_operator(const Context& context,
                                                        const CsrView<double>& matrix);

/// y = A x by the kernels of the SBELL paper, in papers/: `threads` (0: one per row) process each
/// slice and its pads together; slices of one block row (BCSR) by lanes that share it. Columns of
/// 32 bits, values of type T. GPU only.
template <class T>
void paper_product(const Context& context, const SlicedMatrix<T>& matrix, int threads, const T* x,
                   T* y);

}  // namespace tessera::bench
