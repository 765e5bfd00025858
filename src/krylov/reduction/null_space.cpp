#include "krylov/null_space.hpp"

#include <cmath>

#include "base/checks.hpp"
#include "base/context_state.hpp"
#include "base/scratch/scratch.hpp"
#include "krylov/reduction/null_space_rows.hpp"
#include "krylov/row_scan.hpp"
#include "tessera/vector_ops.hpp"

namespace tessera {

namespace {

/// The largest |A z| of a row, relative to the sum of its absolute terms.
template <class T>
double product_size(const Context& context, const CsrView<T>& matrix, std::span<const T> z) {
    const Scratch<Offset> largest(context, 1);
    context.state().fill_bytes(largest.data(), 0, Offset(sizeof(Offset)));
    for_each_index(context, matrix.rows, ProductSize<T>{matrix, z.data(), largest.data()});
    Offset bits = 0;
    copy_to_host(context, std::span<const Offset>(largest.view()), std::span<Offset>(&bits, 1));
    return std::bit_cast<double>(bits);
}

/// In rows without nonzeros no vector says anything about b, which would lose its zeros there.
template <class T>
void clear_empty_rows(const Context& context, const CsrView<T>& matrix, Buffer<T>& z) {
    for_each_index(context, matrix.rows, ClearEmptyRows<T>{matrix, z.data()});
}

}  // namespace

template <class T>
Buffer<T> column_of(const Context& context, const NearNullSpace& vectors, int c) {
    std::vector<T> numbers;
    for (std::size_t k = std::size_t(c); k < vectors.values.size();
         k += std::size_t(vectors.columns)) {
        numbers.push_back(T(vectors.values[k]));
    }
    return copy_to_buffer(context, numbers);
}

NearNullSpace null_vector_candidates(const MatrixFacts& facts, const NodeCoordinates& points) {
    const Offset nodes =
        points.values.empty() ? 0 : Offset(points.values.size()) / std::max(points.dimensions, 1);
    if (nodes > 0 && points.unknowns.empty() && nodes * points.dimensions == facts.rows &&
        points.dimensions > 1) {
        return rigid_body_modes(points);
    }
    const Index block = facts.rows_per_node;
    if (block > 1 && facts.rows % block == 0) return translations(facts.rows / block, block);
    return translations(facts.rows, 1);
}

template <class T>
void NullSpace<T>::add(const Context& context, std::span<const T> z) {
    const Scratch<T> memory(context, Offset(z.size()));
    copy<T>(context, z, memory.view());
    const double before = std::sqrt(double(dot_to_host<T>(context, memory.view(), memory.view())));
    remove_from(context, memory.view());
    const double size = std::sqrt(double(dot_to_host<T>(context, memory.view(), memory.view())));
    if (!(size > 1e-6 * before)) return;
    axpby<T>(context, T(1 / size), memory.view(), T(0), memory.view());
    Buffer<T> longer(context, basis_.size() + Offset(z.size()));
    copy<T>(context, basis_.view(), longer.view().first(std::size_t(basis_.size())));
    copy<T>(context, memory.view(), longer.view().subspan(std::size_t(basis_.size())));
    basis_ = std::move(longer);
    ++count_;
}

template <class T>
double NullSpace<T>::remove_from(const Context& context, std::span<T> v) const {
    if (count_ == 0) return 0;
    const Scratch<T> coefficients(context, count_);
    double removed = 0;
    for (int pass = 0; pass < 2; ++pass) {  // The second one removes the rounding errors.
        dots<T>(context, count_, basis_.view(), v, coefficients.data());
        if (pass == 0) {
            std::vector<T> parts(std::size_t(count_), T(0));
            copy_to_host(context, std::span<const T>(coefficients.view()), std::span<T>(parts));
            for (const T part : parts) removed = std::hypot(removed, double(part));
        }
        axpby<T>(context, T(-1), coefficients.view(), T(0), coefficients.view());
        combine<T>(context, count_, basis_.view(), coefficients.data(), T(1), v);
    }
    return removed;
}

template <class T>
NullSpace<T>::NullSpace(const Context& context, const CsrView<T>& matrix,
                        const NearNullSpace& vectors) {
    require_argument("null_space",
                     vectors.columns > 0 &&
                         Offset(vectors.values.size()) == Offset(matrix.rows) * vectors.columns,
                     "null space: ", vectors.values.size(), " numbers are not ", vectors.columns,
                     " vectors of ", matrix.rows, " elements");
    const double limit = sizeof(T) == 8 ? 1e-6 : 1e-3;
    for (int c = 0; c < vectors.columns; ++c) {
        Buffer<T> z = column_of<T>(context, vectors, c);
        const double size = product_size<T>(context, matrix, z.view());
        require_argument("null_space", size <= limit, "null space: A times vector ", c,
                         " is not 0: an element is ", size, " of the sum of its absolute terms");
        clear_empty_rows(context, matrix, z);
        add(context, z.view());
    }
}

template <class T>
NullSpace<T> NullSpace<T>::found(const Context& context, const CsrView<T>& matrix,
                                 const MatrixFacts& facts, const NodeCoordinates& coordinates) {
    NullSpace space;
    if (!facts.row_sums_vanish || facts.rows == 0) return space;
    const NearNullSpace vectors = null_vector_candidates(facts, coordinates);
    for (int c = 0; c < vectors.columns; ++c) {
        Buffer<T> z = column_of<T>(context, vectors, c);
        if (product_size<T>(context, matrix, z.view()) <= balance_limit<T>) {
            clear_empty_rows(context, matrix, z);
            space.add(context, z.view());
        }
    }
    if (space.vectors() > 0) return space;
    Buffer<T> constant(context, matrix.rows);
    fill(context, T(1), constant.view());
    clear_empty_rows(context, matrix, constant);
    space.add(context, constant.view());
    return space;
}

template <class T>
NullSpace<T> NullSpace<T>::times(const Context& context, const std::vector<double>& factors) const {
    NullSpace product;
    const auto n = factors.size();
    const Buffer<T> d = copy_to_buffer(context, std::vector<T>(factors.begin(), factors.end()));
    Buffer<T> z(context, Offset(n));
    for (int k = 0; k < count_; ++k) {
        multiply_elementwise<T>(context, d.view(), vector(k), z.view());
        product.add(context, z.view());
    }
    return product;
}

template Buffer<float> column_of(const Context&, const NearNullSpace&, int);
template Buffer<double> column_of(const Context&, const NearNullSpace&, int);
template class NullSpace<float>;
template class NullSpace<double>;

}  // namespace tessera
