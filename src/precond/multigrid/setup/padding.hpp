#pragma once

#include "tessera/amg.hpp"
#include "tessera/detail/blocks.hpp"

namespace tessera::multigrid {

/// For each row of the matrix its unknown, as NodeCoordinates::unknowns, where natural blocks are
/// nodes (are_nodes). Elastic bodies, whatever their shape and material, map translations to zero:
/// a node on a plane or a line of symmetry has the unknowns for which its rows do so. Near other
/// supports, where they do not, the smallest result decides if it is clear, else the neighbours do.
/// Waits.
template <class T>
std::vector<Index> unknowns_of_rows(const Context& context, const CsrView<T>& matrix,
                                    const BlockPartition& natural);

/// Identity rows for unknowns that have no row in a matrix, so that every node has equally many.
class Padding {
  public:
    /// Adds nothing.
    Padding() = default;
    /// `unknowns`: as NodeCoordinates::unknowns, of `rows` rows, each below `padded_rows`. Throws
    /// InvalidArgument for others.
    Padding(const Context& context, const std::vector<Index>& unknowns, Offset padded_rows,
            Index rows);

    bool empty() const { return unknown_of_row_.empty(); }
    /// Rows of a padded matrix.
    Index rows() const { return Index(row_of_unknown_.size()); }
    template <class T>
    CsrMatrix<T> pad(const Context& context, const CsrView<T>& matrix) const;
    /// Vectors with zeros in added rows, and back.
    template <class T>
    void pad(const Context& context, const T* x, T* padded) const;
    template <class T>
    void unpad(const Context& context, const T* padded, T* x) const;
    /// Near-null vectors for a padded matrix, `columns` numbers per row. Waits.
    NearNullSpace pad(const Context& context, const NearNullSpace& given) const;

  private:
    Buffer<Index> unknown_of_row_, row_of_unknown_;
};

}  // namespace tessera::multigrid
