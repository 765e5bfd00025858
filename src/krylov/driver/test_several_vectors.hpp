#pragma once

#include "krylov/test_systems.hpp"

namespace tessera::test {

/// Column-major vectors with a leading dimension above their size, in host memory.
template <class T>
struct HostVectors {
    HostVectors(Offset size, int count)
        : size_(size), count_(count), values(std::size_t(leading() * count), pad) {}
    Offset leading() const { return size_ + 3; }
    std::span<T> operator[](int j) {
        return std::span<T>(values).subspan(std::size_t(j * leading()), std::size_t(size_));
    }
    bool pads_are_whole() const {
        for (int j = 0; j < count_; ++j) {
            for (Offset i = size_; i < leading(); ++i) {
                if (values[std::size_t(j * leading() + i)] != pad) return false;
            }
        }
        return true;
    }
    Vectors<T> view(T* data) const { return {data, size_, count_, leading()}; }

    static constexpr T pad = T(-12345);
    Offset size_;
    int count_;
    std::vector<T> values;
};

template <class T>
HostVectors<T> random_vectors(Offset size, int count) {
    HostVectors<T> vectors(size, count);
    auto random = generator();
    for (int j = 0; j < count; ++j) {
        std::ranges::copy(random_vector<T>(random, std::size_t(size)), vectors[j].begin());
    }
    return vectors;
}

template <class T>
CsrMatrix<T> test_matrix() {
    CsrMatrix<T> matrix = laplacian_2d<T>(19);
    const CsrView<T> view = matrix.view();
    for (Index i = 0; i < view.rows; ++i) {
        for (Offset k = view.row_offsets[i]; k < view.row_offsets[i + 1]; ++k) {
            if (view.column_indices[k] == i) matrix.values().data()[k] += T(0.01 * (1 + i % 7));
        }
    }
    return matrix;
}

}  // namespace tessera::test
