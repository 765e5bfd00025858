#pragma once

#include "tessera/detail/bsr.hpp"

namespace tessera {

/// The pattern of A B, without values: update_product (tessera/products.hpp) computes these, in a
/// Buffer that may be longer. Waits.
template <class T>
TESSERA_API BsrMatrix<T> pattern_of_product(const Context& context, const BsrView<T>& a,
                                            const BsrView<T>& b);

/// A B, whose blocks in the first columns, as many as it has rows, make a symmetric matrix of
/// square blocks: those below its diagonal are copied from above, not summed. Columns may follow.
/// Waits. Throws InvalidArgument where the pattern is not symmetric.
template <class T>
TESSERA_API BsrMatrix<T> multiply_symmetric(const Context& context, const BsrView<T>& a,
                                            const BsrView<T>& b);
/// Its values for other values of A and B, on the pattern of `product`. Bitwise as
/// multiply_symmetric. Allocates the values if there are none; waits.
template <class T>
TESSERA_API void update_symmetric_product(const Context& context, const BsrView<T>& a,
                                          const BsrView<T>& b, BsrMatrix<T>& product);

}  // namespace tessera
