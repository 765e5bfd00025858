#pragma once

#include "tessera/amg.hpp"

namespace tessera::multigrid {

/// Identity rows for unknowns that have no row in a matrix, so that every node has as many rows as
/// its coordinates have dimensions: see NodeCoordinates::unknowns.
class Padding {
  public:
    /// Adds nothing.
    Padding() = default;
    /// Throws InvalidArgument for unknowns that are not ascending, or not those of the coordinates.
    Padding(const Context& context, const NodeCoordinates& coordinates, Index rows);

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
    /// Near-null vectors for a padded matrix, `columns` numbers per row.
    NearNullSpace pad(const NearNullSpace& given, const NodeCoordinates& coordinates) const;

  private:
    Buffer<Index> unknown_of_row_, row_of_unknown_;
};

}  // namespace tessera::multigrid
