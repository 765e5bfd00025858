#pragma once

#include "tessera/batched.hpp"

/// Addresses of matrix and vector b of a batch in host memory. Static, as these are compiled for
/// several instruction sets.
namespace tessera::bench {

template <class T>
static Index rows_of(const batched::BatchView<T>& view, Index b) {
    return view.sizes != nullptr ? view.sizes[b] : view.size;
}

template <class T>
static Offset leading_dimension_of(const batched::BatchView<T>& view, Index b) {
    return view.sizes != nullptr ? view.sizes[b] : view.leading_dimension;
}

/// Start of matrix or vector b of a view.
template <class View>
static auto* start_of(const View& view, Index b) {
    if (view.starts != nullptr) return view.starts[b];
    return view.values + (view.offsets != nullptr ? view.offsets[b] : view.stride * b);
}

}  // namespace tessera::bench
