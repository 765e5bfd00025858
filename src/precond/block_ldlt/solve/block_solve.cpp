#include "precond/block_ldlt/numeric/block_factor.hpp"

namespace tessera::block_ldlt {

/// The iteration x = b - V x from x = b: one sweep leaves x as it is, as many as there are levels
/// are exact.
template <class T>
void BlockFactor<T>::iterate(const Context& context, bool upper, int sweeps, const Set& set,
                             T* x) const {
    T* b = vectors_[2].data();
    T* y = vectors_[3].data();
    const auto elements = vectors_[2].view().size();
    copy(context, std::span<const T>(x, elements), vectors_[2].view());
    for (int s = 1; s < sweeps; ++s) {
        const auto product = upper ? &upper_product<T> : &lower_product<T>;
        product(context, view_, 0, view_.block_rows, set.v.data(), T(-1), x, b, y);
        copy(context, std::as_const(vectors_[3]).view(), std::span<T>(x, elements));
    }
}

template <class T>
void BlockFactor<T>::solve(const Context& context, std::span<const T> scale, int sweeps, const T* r,
                           T* z) const {
    const Set& set = sets_[std::size_t(current_)];
    T* x = vectors_[0].data();
    T* y = vectors_[1].data();
    gather(context, slots_.size(), slots_.data(), scale.data(), r, x);
    if (sweeps == 0) {
        solve_by_levels<T>(context, view_, level_offsets_, tasks_, set.v.data(),
                           set.inverses.data(), x, vectors_[2].data(), y, started_.data());
    } else {
        iterate(context, false, sweeps, set, x);
        diagonal_product(context, view_, set.inverses.data(), x, y);
        iterate(context, true, sweeps, set, y);
    }
    scatter(context, slots_.size(), slots_.data(), scale.data(), y, z);
}

template class BlockFactor<float>;
template class BlockFactor<double>;

}  // namespace tessera::block_ldlt
