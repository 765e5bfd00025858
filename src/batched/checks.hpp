#pragma once

#include <optional>
#include <string>

#include "base/dispatch.hpp"
#include "tessera/factor.hpp"

// Checks of the arguments of the public batched operations.

namespace tessera::batched {

/// Throws InvalidArgument with the name of the operation unless `condition`.
inline void require_argument(bool condition, const char* name, const char* message) {
    if (!condition) throw InvalidArgument(std::string(name) + ": " + message);
}

/// Checks the fields of a view; arrays in device memory are not read.
template <class T>
void check_batch(const char* name, const BatchView<T>& a) {
    require_argument(a.count >= 0, name, "the number of matrices is negative");
    if (a.sizes == nullptr && (a.size < 0 || a.size > largest_size)) {
        throw InvalidArgument(std::string(name) + ": the matrices have " + std::to_string(a.size) +
                              " rows; a matrix of a batch has 0.." + std::to_string(largest_size));
    }
    require_argument(a.sizes != nullptr || a.leading_dimension >= a.size, name,
                     "the leading dimension is smaller than the number of rows");
}

/// Rows of the largest matrix.
template <class T>
Index max_rows(const BatchView<T>& a, const Plan* plan) {
    if (a.count == 0) return 0;
    return plan != nullptr ? plan->largest() : a.size;
}

/// Checks that the values of a batch, or of vectors, are present if a matrix has rows.
template <class View>
void check_values(const char* name, Index largest, const View& view) {
    require_argument(largest == 0 || view.values != nullptr || view.starts != nullptr, name,
                     "values of matrices or vectors are missing");
}

/// Checks an output batch, or vectors: a stride of 0 would store all at one address.
template <class View>
void check_output(const char* name, Index count, const View& written) {
    require_argument(count <= 1 || written.starts != nullptr || written.offsets != nullptr ||
                         written.stride != 0,
                     name, "the results overlap; give a stride, offsets or starts");
}

/// Checks input and output vectors of `count` matrices with up to `largest` rows; false if there
/// are no vectors.
template <class X, class Y>
bool has_valid_vectors(const char* name, Index count, Index largest, const X& x, const Y& y) {
    require_argument(x.vectors >= 0 && x.vectors == y.vectors, name,
                     "the numbers of vectors on both sides must be equal");
    if (largest == 0 || x.vectors == 0) return false;
    check_values(name, largest, x);
    check_values(name, largest, y);
    require_argument(
        x.vectors == 1 || (x.leading_dimension >= largest && y.leading_dimension >= largest), name,
        "the leading dimension of vectors is smaller than the number of rows");
    check_output(name, count, y);
    return true;
}

/// The plan that the kernels use: null for matrices of one size; else the given plan or, if none is
/// given, a new one that is stored in `own`.
template <class T>
const Plan* resolve_plan(const char* name, const Context& context, const BatchView<T>& a,
                         const Plan* given, std::optional<Plan>& own) {
    require_argument(given == nullptr || given->count() == a.count, name,
                     "the plan was made for another number of matrices");
    if (a.sizes == nullptr) given = nullptr;
    if (a.sizes != nullptr && given == nullptr) given = &own.emplace(context, a.count, a.sizes);
    check_values(name, max_rows(a, given), a);
    return given;
}

/// Values in all matrices, or, with power 1, rows of all matrices.
template <class T>
double value_count(const BatchView<T>& a, const Plan* plan, int power = 2) {
    const auto values = [&](Index n) { return power == 2 ? double(n) * n : double(n); };
    if (plan == nullptr) return double(a.count) * values(a.size);
    double sum = 0;
    for (Index n = 1; n <= plan->largest(); ++n) {
        sum += double(plan->begin(n + 1) - plan->begin(n)) * values(n);
    }
    return sum;
}

/// Checks an input and an output batch of the same sizes and layout.
template <class A, class X>
void check_input_output(const char* name, const BatchView<A>& a, const BatchView<X>& x,
                        bool allow_row_major = false) {
    check_batch(name, a);
    check_batch(name, x);
    require_argument(allow_row_major || a.layout == Layout::column_major, name,
                     "matrices must be column-major");
    require_argument(a.layout == x.layout, name, "the batches differ in their layout");
    require_argument(a.count == x.count, name, "the batches differ in their number of matrices");
    require_argument(
        (a.sizes == nullptr) == (x.sizes == nullptr) && (a.sizes != nullptr || a.size == x.size),
        name, "the batches differ in the sizes of their matrices");
    check_output(name, x.count, x);
}

template <class I>
void check_permutations(const char* name, Index count, Index largest,
                        const PermutationsView<I>& permutations) {
    const bool given = permutations.rows != nullptr || permutations.columns != nullptr;
    require_argument(
        !given || count <= 1 || permutations.offsets != nullptr || permutations.stride >= largest,
        name, "the permutations overlap; give a stride or offsets");
}

}  // namespace tessera::batched
