#pragma once

#include "base/dispatch.hpp"
#include "tessera/detail/bsr.hpp"

namespace tessera {

TESSERA_BACKENDS(
    /// The pattern of A B, without values. Waits.
    template <class T> BsrMatrix<T> product_pattern(const Context& context, const BsrView<T>& a,
                                                    const BsrView<T>& b);
    /// The values of A B on the pattern of `product`; of the blocks on and above the diagonal only
    /// if `upper`.
    template <class T>
    void sum_products(const Context& context, const BsrView<T>& a, const BsrView<T>& b,
                      const BsrView<T>& product, T* values, bool upper);)

}  // namespace tessera
