#pragma once

#include "tessera/batched.hpp"

/// Where matrix and vector b of a batch in host memory are. Static, as these are compiled for more
/// than one instruction set.
namespace tessera::bench {

template <class T>
static Index rows_of(const batched::BatchView<T>& view, Index b) {
    return view.sizes != nullptr ? view.sizes[b] : view.size;
}

template <class T>
static Offset leading_dimension_of(const batched::BatchView<T>& view, Index b) {
    return view.sizes != nullptr ? view.sizes[b] : view.leading_dimension;
}

/// Of a BatchView or a VectorsView.
template <class View>
static auto* start_of(const View& view, Index b) {
    if (view.starts != nullptr) return view.starts[b];
    return view.values + (view.offsets != nullptr ? view.offsets[b] : view.stride * b);
}

}  // namespace tessera::bench
