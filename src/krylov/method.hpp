#pragma once

#include <span>

#include "base/scratch/scratch.hpp"
#include "krylov/recurrence.hpp"
#include "tessera/operator.hpp"
#include "tessera/vector_ops.hpp"

namespace tessera {

/// The system that a method solves: A x = right_hand_side from the start in x, preconditioned from
/// the right by `preconditioner` (nullptr: none). With left preconditioning A is a
/// LeftPreconditioned.
template <class T>
struct System {
    const Context& context;
    const Operator<T>& matrix;
    const Operator<T>* preconditioner;
    std::span<const T> right_hand_side;
    std::span<T> x;

    Offset size() const { return Offset(x.size()); }

    /// M^-1 r in z; without a preconditioner r itself, and z is not written.
    std::span<const T> preconditioned(std::span<const T> r, std::span<T> z) const {
        if (preconditioner == nullptr) return r;
        preconditioner->apply(context, r, z);
        return z;
    }

    /// r = b - A x; `product` receives A x.
    void true_residual(std::span<const T> from, std::span<T> product, std::span<T> r) const {
        matrix.apply(context, from, product);
        axpbypcz<T>(context, T(1), right_hand_side, T(-1), product, T(0), r);
    }
};

/// The operator M^-1 A.
template <class T>
class LeftPreconditioned final : public Operator<T> {
  public:
    LeftPreconditioned(const Operator<T>& matrix, const Operator<T>& preconditioner)
        : matrix_(matrix), preconditioner_(preconditioner) {}
    Index rows() const override { return matrix_.rows(); }
    Index columns() const override { return matrix_.columns(); }
    void apply(const Context& context, std::span<const T> x, std::span<T> y) const override {
        const Scratch<T> product(context, rows());
        matrix_.apply(context, x, product.view());
        preconditioner_.apply(context, product.view(), y);
    }

  private:
    const Operator<T>& matrix_;
    const Operator<T>& preconditioner_;
};

/// Vectors of equal length, one after the other.
template <class T>
class VectorSet {
  public:
    VectorSet(const Context& context, Offset size, int count)
        : size_(std::size_t(size)), data_(context, size * count) {}
    std::span<T> operator[](int k) { return vectors(k, 1); }
    /// `count` vectors from the k-th on.
    std::span<T> vectors(int k, int count) {
        return data_.view().subspan(std::size_t(k) * size_, std::size_t(count) * size_);
    }

  private:
    std::size_t size_;
    Buffer<T> data_;
};

/// Interface of a Krylov method on one system. A method allocates in its constructor only; start
/// and iterate only enqueue work, and iterate can be captured in a graph.
template <class T>
class Method {
  public:
    virtual ~Method() = default;
    /// The driver writes right_hand_side - A x here before `start`.
    virtual std::span<T> residual() = 0;
    /// Pointer to memory of the Context; the driver writes it before `start`.
    virtual Recurrence<T>* recurrence() = 0;
    /// Starts at x with residual(); `attempt` counts the starts from 0.
    virtual void start(int attempt) = 0;
    /// Length of the repeating pattern of iterations, such as the restart length of GMRES.
    virtual int period() const { return 1; }
    /// One iteration at `position` (0 .. period() - 1) of the period.
    virtual void iterate(int position) = 0;
    /// Whether `replace_residual` may be called, at position 0 of the period; such a method calls
    /// `Recurrence::track_spike`.
    virtual bool replaces() const { return false; }
    /// Replaces the recursive residual by the true one and continues with the same space. Returns
    /// the number of products with A.
    virtual Offset replace_residual() { return 0; }
    /// Updates x to the iterate of the last residual norm.
    virtual void finish() {}
    /// Products with A in the first `iterations` iterations after a start.
    virtual Offset products(Offset iterations) const { return iterations; }
};

}  // namespace tessera
