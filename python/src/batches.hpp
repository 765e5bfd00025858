#pragma once

#include <algorithm>

#include "core.hpp"

namespace python_module {

/// Where a batch of matrices, or of their vectors, is: `count` of one size, or of `sizes`, each
/// after the other from `offsets`.
struct Batch {
    Index count = 0, size = 0;
    Address sizes = 0, offsets = 0;  ///< 0: of one size.
    bool row_major = true;

    bool packed() const { return sizes != 0; }
    /// Numbers between matrices with `columns` columns; not 0, which stands for one address of all.
    Offset stride(Offset columns) const { return std::max<Offset>(size * columns, 1); }

    template <class T>
    batched::BatchView<T> matrices(Address values, bool column_major = false) const {
        const auto layout =
            row_major && !column_major ? batched::Layout::row_major : batched::Layout::column_major;
        if (!packed()) {
            return batched::BatchView<T>::strided(count, size, size, stride(size),
                                                  pointer<T>(values), layout);
        }
        return batched::BatchView<T>::packed(count, pointer<const Index>(sizes),
                                             pointer<const Offset>(offsets), pointer<T>(values),
                                             layout);
    }
};

/// The plan of a packed batch, else none. Waits.
class BatchPlan {
  public:
    BatchPlan(const Context& context, const Batch& batch) {
        if (batch.packed()) {
            plan_ = batched::Plan(context, batch.count, pointer<const Index>(batch.sizes));
            packed_ = true;
        }
    }
    const batched::Plan* get() const { return packed_ ? &plan_ : nullptr; }

  private:
    batched::Plan plan_;
    bool packed_ = false;
};

}  // namespace python_module
