#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tessera/batched.hpp"

namespace tessera::bench {

/// Number, size and layout of the matrices of one row.
struct Shape {
    Index n = 0;               ///< 0 if sizes vary.
    Index batch = 0;           ///< At least 1.
    std::string layout;        ///< uniform, strided, variable or pointers.
    std::vector<Index> sizes;  ///< Size of every matrix; empty unless they vary.

    bool has_varying_sizes() const { return !sizes.empty(); }
    Index size(Index b) const { return has_varying_sizes() ? sizes[std::size_t(b)] : n; }
    Offset leading_dimension() const { return layout == "strided" ? n + 1 : n; }
    /// The sum of n_b^power.
    double sum(int power) const;
};

/// Sizes drawn uniformly from `from`, equal for equal arguments.
Shape variable_shape(Index batch, const std::vector<int>& from);
Shape uniform_shape(Index batch, Index n, const std::string& layout);

/// Input and output arrays for the operations on a batch, in enough sets that inputs are no longer
/// cached when they are read. Inputs are random, normally distributed.
template <class T>
class Workload {
  public:
    /// Without `rotate` there is one set only, for work that is not timed.
    Workload(const Context& context, Shape shape, bool rotate = true);

    const Context& context() const { return context_; }
    const Shape& shape() const { return shape_; }
    const batched::Plan* plan() const { return plan_ ? &*plan_ : nullptr; }
    /// Number of sets; a set is identified by its index below.
    Offset sets() const { return sets_; }

    batched::BatchView<const T> a(Offset set) const {
        return view(const_cast<T*>(a_.data()), a_starts_, set);
    }
    batched::BatchView<T> x(Offset set) { return view(x_.data(), x_starts_, set); }
    /// Right-hand sides v and their products w, one vector per matrix.
    batched::VectorsView<const T> v(Offset set) const {
        return vectors(const_cast<T*>(v_.data()), set);
    }
    batched::VectorsView<T> w(Offset set) { return vectors(w_.data(), set); }
    Index* info(Offset set) { return info_.data() + set * shape_.batch; }
    /// Three arrays of one number per matrix.
    T* numbers(int which, Offset set) { return numbers_[which].data() + set * numbers_step(); }

    /// Restores the matrices of all sets after operations that overwrite them.
    void restore_inputs();
    /// Makes all outputs NaN to detect those that an operation does not write.
    void fill_outputs_with_nan();

    /// Addresses of the matrices of a set as an array in the memory of the context, for every
    /// layout; for interfaces with arrays of pointers.
    T* const* a_addresses(Offset set) { return addresses(a_, a_starts_, set); }
    T* const* x_addresses(Offset set) { return addresses(x_, x_starts_, set); }
    /// Addresses of the vectors v and w.
    T* const* v_addresses(Offset set) { return vector_addresses(v_, v_starts_, set); }
    T* const* w_addresses(Offset set) { return vector_addresses(w_, w_starts_, set); }

    // Host copies of the data of matrix b of set 0; n x n ones without padding.
    std::vector<T> host_a(Index b) const { return host_matrix(a_, b); }
    std::vector<T> host_x(Index b) const { return host_matrix(x_, b); }
    std::vector<T> host_v(Index b) const { return host_vector(v_, b); }
    std::vector<T> host_w(Index b) const { return host_vector(w_, b); }
    T host_number(int which, Index b) const;

  private:
    Offset numbers_step() const { return shape_.batch; }
    Offset start(Index b) const;
    Offset vector_start(Index b) const;
    batched::BatchView<T> view(T* values, const Buffer<T*>& starts, Offset set) const;
    batched::VectorsView<T> vectors(T* values, Offset set) const;
    template <class Start>
    T* const* addresses(Buffer<T>& values, Buffer<T*>& starts, Offset set, Offset step,
                        const Start& start_of);
    T* const* addresses(Buffer<T>& values, Buffer<T*>& starts, Offset set);
    T* const* vector_addresses(Buffer<T>& values, Buffer<T*>& starts, Offset set);
    std::vector<T> host_matrix(const Buffer<T>& values, Index b) const;
    std::vector<T> host_vector(const Buffer<T>& values, Index b) const;

    Context context_;
    Shape shape_;
    std::vector<Offset> host_offsets_, host_vector_offsets_;  // For varying sizes.
    Offset sets_ = 1, step_ = 0, vector_step_ = 0;            // Steps between sets.
    Buffer<T> a_, x_, v_, w_, numbers_[3];
    Buffer<T*> a_starts_, x_starts_, v_starts_, w_starts_;
    Buffer<Index> info_, sizes_;
    Buffer<Offset> offsets_, vector_offsets_;
    std::optional<batched::Plan> plan_;
};

}  // namespace tessera::bench
