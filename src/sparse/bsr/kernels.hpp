#pragma once

#include "base/dispatch.hpp"
#include "tessera/detail/bsr.hpp"

namespace tessera {

TESSERA_BACKENDS(
    /// The pattern of A B; values are not set. Waits.
    template <class T> BsrMatrix<T> product_pattern(const Context& context, const BsrView<T>& a,
                                                    const BsrView<T>& b);
    /// The values of A B; of the blocks on and above the diagonal only if `upper`.
    template <class T> void sum_products(const Context& context, const BsrView<T>& a,
                                         const BsrView<T>& b, BsrMatrix<T>& product, bool upper);)

}  // namespace tessera
