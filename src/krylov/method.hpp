#pragma once

#include <span>

#include "base/context_state.hpp"
#include "base/scratch/scratch.hpp"
#include "krylov/recurrence.hpp"
#include "tessera/operator.hpp"
#include "tessera/vector_ops.hpp"

namespace tessera {

/// The systems that a method solves: A x_c = b_c from the start in x_c for each column c of x and
/// right_hand_sides, preconditioned from the right by `preconditioner` (nullptr: none). With left
/// preconditioning A is a LeftPreconditioned.
template <class T>
struct System {
    const Context& context;
    const Operator<T>& matrix;
    const Operator<T>* preconditioner;
    Vectors<const T> right_hand_sides;
    Vectors<T> x;

    Offset size() const { return x.size; }

    /// M^-1 r in z; without a preconditioner r itself, and z is not written.
    std::span<const T> preconditioned(std::span<const T> r, std::span<T> z) const {
        if (preconditioner == nullptr) return r;
        preconditioner->apply(context, r, z);
        return z;
    }
    Vectors<const T> preconditioned(Vectors<const T> r, Vectors<T> z) const {
        if (preconditioner == nullptr) return r;
        preconditioner->apply_vectors(context, r, z);
        return z;
    }

    /// y_c = F x_c and *results[c] = x_c^T y_c for all columns.
    void apply_dot(const Operator<T>& f, Vectors<const T> from, Vectors<T> to,
                   const NumberPerVector<T>& results) const {
        if (from.count == 1) return f.apply_dot(context, from[0], to[0], results.first);
        f.apply_vectors(context, from, to);
        dot_each<T>(context, from, to, results);
    }

    /// r = b_c - A x; `product` receives A x.
    void true_residual(int c, std::span<const T> from, std::span<T> product, std::span<T> r) const {
        matrix.apply(context, from, product);
        axpbypcz<T>(context, T(1), right_hand_sides[c], T(-1), product, T(0), r);
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
    void apply_vectors(const Context& context, Vectors<const T> x, Vectors<T> y) const override {
        const Scratch<T> memory(context, Offset(x.count) * rows());
        const Vectors<T> products{memory.data(), rows(), x.count, rows()};
        matrix_.apply_vectors(context, x, products);
        preconditioner_.apply_vectors(context, products, y);
    }

  private:
    const Operator<T>& matrix_;
    const Operator<T>& preconditioner_;
};

/// `count` vectors of equal length for each of `columns` systems; those of one system follow one
/// another.
template <class T>
class VectorSet {
  public:
    VectorSet(const Context& context, Offset size, int count, int columns = 1)
        : size_(size), count_(count), data_(untouched(context, size * count * columns)) {}
    /// Vector k of column c.
    std::span<T> operator()(int c, int k) { return vectors(c, k, 1); }
    /// `number` vectors of column c from the k-th on.
    std::span<T> vectors(int c, int k, int number) {
        return {data_.data() + (c * count_ + k) * size_, std::size_t(number * size_)};
    }
    /// Vector k of the first columns.
    Vectors<T> first(int columns, int k) {
        return {data_.data() + k * size_, size_, columns, count_ * size_};
    }
    /// Copies the vectors of a column.
    void copy_column(const Context& context, int from, int to) {
        copy(context, std::span<const T>(vectors(from, 0, int(count_))),
             vectors(to, 0, int(count_)));
    }

  private:
    /// A solve may end before it needs the last of many vectors.
    static Buffer<T> untouched(const Context& context, Offset numbers) {
        const LaterTouched guard(context.state());
        return {context, numbers};
    }

    Offset size_, count_;
    Buffer<T> data_;
};

/// Interface of a Krylov method on one or several systems with one matrix. A method allocates in
/// its constructor only; start and iterate only enqueue work, and iterate can be captured in a
/// graph.
template <class T>
class Method {
  public:
    virtual ~Method() = default;
    /// The driver writes b_c - A x_c here before `start`.
    virtual std::span<T> residual(int c) = 0;
    /// Pointer to memory of the Context; the driver writes it before `start`.
    virtual Recurrence<T>* recurrence(int c) = 0;
    /// Starts column c at x_c with residual(c); `attempt` counts the starts from 0.
    virtual void start(int c, int attempt) = 0;
    /// Length of the repeating pattern of iterations, such as the restart length of GMRES.
    virtual int period() const { return 1; }
    /// One iteration of the first columns() columns at `position` (0 .. period() - 1) of the
    /// period.
    virtual void iterate(int position) = 0;
    /// Whether `replace_residual` may be called, at position 0 of the period; such a method calls
    /// `Recurrence::track_spike`.
    virtual bool replaces() const { return false; }
    /// Replaces the recursive residual by the true one and continues with the same space. Returns
    /// the number of products with A.
    virtual Offset replace_residual(int) { return 0; }
    /// Updates x_c to the iterate of the last residual norm.
    virtual void finish(int) {}
    /// Whether x_c is that after each iteration, before `finish`.
    virtual bool keeps_x() const { return true; }
    /// Products with A in the first `iterations` iterations after a start.
    virtual Offset products(Offset iterations) const { return iterations; }
    /// Copies all that the method keeps of a column. Only of methods for several columns.
    virtual void copy_column(int, int) {}

    int columns() const { return columns_; }
    void set_columns(int columns) { columns_ = columns; }

  private:
    int columns_ = 1;
};

}  // namespace tessera
