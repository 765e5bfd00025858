#include "precond/block_ldlt/block_factor.hpp"

namespace tessera::block_ldlt {

/// x = (I + V)^-1 x: level by level, or by the iteration x = b - V x from x = b; one sweep leaves
/// x as it is, as many as there are levels are exact.
template <class T>
void BlockFactor<T>::lower_solve(const Context& context, int sweeps, const Set& set, T* x) const {
    if (sweeps == 0) {
        block_ldlt::lower_levels<T>(context, view_, level_offsets_, set.v.data(), x);
        return;
    }
    T* b = vectors_[2].data();
    T* y = vectors_[3].data();
    copy(context, std::span<const T>(x, vectors_[2].view().size()), vectors_[2].view());
    for (int s = 1; s < sweeps; ++s) {
        lower_product(context, view_, 0, view_.block_rows, set.v.data(), T(-1), x, b, y);
        copy(context, std::as_const(vectors_[3]).view(),
             std::span<T>(x, vectors_[3].view().size()));
    }
}

/// x = (I + V)^-T x in the same ways.
template <class T>
void BlockFactor<T>::upper_solve(const Context& context, int sweeps, const Set& set, T* x) const {
    if (sweeps == 0) {
        block_ldlt::upper_levels<T>(context, view_, level_offsets_, set.v.data(), x);
        return;
    }
    T* b = vectors_[2].data();
    T* y = vectors_[3].data();
    copy(context, std::span<const T>(x, vectors_[2].view().size()), vectors_[2].view());
    for (int s = 1; s < sweeps; ++s) {
        upper_product(context, view_, 0, view_.block_rows, set.v.data(), T(-1), x, b, y);
        copy(context, std::as_const(vectors_[3]).view(),
             std::span<T>(x, vectors_[3].view().size()));
    }
}

template <class T>
void BlockFactor<T>::solve(const Context& context, std::span<const T> scale, int sweeps, const T* r,
                           T* z) const {
    const Set& set = sets_[std::size_t(current_)];
    T* x = vectors_[0].data();
    T* y = vectors_[1].data();
    gather(context, slots_.size(), slots_.data(), scale.data(), r, x);
    lower_solve(context, sweeps, set, x);
    diagonal_product(context, view_, set.inverses.data(), x, y);
    upper_solve(context, sweeps, set, y);
    scatter(context, slots_.size(), slots_.data(), scale.data(), y, z);
}

template class BlockFactor<float>;
template class BlockFactor<double>;

}  // namespace tessera::block_ldlt
