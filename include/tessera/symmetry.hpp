#pragma once

#include "tessera/csr.hpp"

namespace tessera {

/// Tells whether matrices are symmetric: every entry (i, j) has a mirror image that differs by at
/// most 1000 eps min(max_k |a_ik|, max_k |a_jk|), and all values are finite. Columns ascend within
/// rows, as everywhere.
template <class T>
class TESSERA_API SymmetryCheck {
  public:
    /// Takes the memory that matrices with `rows` rows need: `rows` values on a GPU.
    SymmetryCheck(const Context& context, Index rows);

    bool is_symmetric(const Context& context, const CsrView<T>& matrix);
    /// Throws InvalidArgument that begins with `who` and names the first entry (in row order) at
    /// fault, or what else is wrong. Waits.
    void require_symmetric(const Context& context, const CsrView<T>& matrix, const char* who);

  private:
    Index rows_;
    Buffer<T> largest_;
    Buffer<int> faults_;
};

}  // namespace tessera
