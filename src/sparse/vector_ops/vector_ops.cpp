#include <algorithm>

#include "base/checks.hpp"
#include "base/phases.hpp"
#include "base/rank_sums.hpp"
#include "sparse/vector_ops/elements.hpp"
#include "sparse/vector_ops/kernels.hpp"
#include "tessera/detail/rank_rows.hpp"

namespace tessera {

namespace {

template <class T>
double bytes_of(std::size_t n, int vectors) {
    return double(n) * double(sizeof(T)) * vectors;
}

/// Throws unless the vectors are as long as the first one, and not null.
template <class T, class... Vectors>
void check_equal(const char* who, std::span<T> first, Vectors... others) {
    require(((others.size() == first.size()) && ...), who, ": sizes differ");
    require(first.empty() || ((first.data() != nullptr) && ... && (others.data() != nullptr)), who,
            ": a vector is null");
}

/// Likewise for `count` vectors x as long as y, and their coefficients or results.
template <class T, class Y>
void check_several(const char* who, int count, std::span<const T> x, std::span<Y> y,
                   const T* numbers) {
    require(count >= 0 && x.size() == y.size() * std::size_t(count), who, ": sizes differ");
    require(y.empty() || (y.data() != nullptr && (count == 0 || x.data() != nullptr)), who,
            ": a vector is null");
    require(count == 0 || numbers != nullptr, who, ": the array of numbers is null");
}

/// Maximum vectors of one call of a backend: a grid has no more thread blocks in y.
constexpr int max_vectors = 65535;

/// Throws unless all have as many vectors of `size` elements, not null.
template <class First, class... Others>
void check_all(const char* who, Offset size, const First& first, const Others&... others) {
    check_vectors(who, "a vector", first, size);
    (check_vectors(who, "a vector", others, size), ...);
    require(((others.count == first.count) && ...), who, ": the numbers of vectors differ");
}

}  // namespace

template <class T>
void fill(const Context& context, std::type_identity_t<T> value, std::span<T> x) {
    check_equal("fill", x);
    const Phase phase(context, "vectors", bytes_of<T>(x.size(), 1));
    for_each_index(context, Offset(x.size()), Fill<T>{value, x.data()});
}

template <class T>
void dot(const Context& context, Input<T> x, Input<T> y, T* result) {
    dots<T>(context, 1, x, y, result);
}

template <class T>
void dots(const Context& context, int count, Input<T> x, Input<T> y, T* results) {
    check_several<T>("dots", count, x, y, results);
    const int passes = (count + vectors_per_pass - 1) / vectors_per_pass;
    const Phase phase(context, "dots", bytes_of<T>(y.size(), count + passes));
    TESSERA_RUN(dots<T>, context, count, x.data(), y.data(), Offset(y.size()), results);
    sum_over_ranks(context, results, count);
}

template <class T>
void axpby(const Context& context, Scalar<std::type_identity_t<T>> alpha, Input<T> x,
           Scalar<std::type_identity_t<T>> beta, std::span<T> y) {
    check_equal("axpby", y, x);
    const Phase phase(context, "vectors", bytes_of<T>(y.size(), 3));
    TESSERA_RUN(axpbypcz<T>, context, alpha, x.data(), T(0), x.data(), beta, y.data(),
                Offset(y.size()));
}

template <class T>
void axpbypcz(const Context& context, Scalar<std::type_identity_t<T>> alpha, Input<T> x,
              Scalar<std::type_identity_t<T>> beta, Input<T> y,
              Scalar<std::type_identity_t<T>> gamma, std::span<T> z) {
    check_equal("axpbypcz", z, x, y);
    const Phase phase(context, "vectors", bytes_of<T>(z.size(), 4));
    TESSERA_RUN(axpbypcz<T>, context, alpha, x.data(), beta, y.data(), gamma, z.data(),
                Offset(z.size()));
}

template <class T>
void combine(const Context& context, int count, Input<T> x,
             const std::type_identity_t<T>* coefficients, Scalar<std::type_identity_t<T>> beta,
             std::span<T> y) {
    check_several<T>("combine", count, x, y, coefficients);
    const int passes = (count + vectors_per_pass - 1) / vectors_per_pass;
    const Phase phase(context, "vectors", bytes_of<T>(y.size(), count + 2 * passes));
    TESSERA_RUN(combine<T>, context, count, x.data(), coefficients, beta, y.data(),
                Offset(y.size()));
}

template <class T>
void axpy_pair_dot(const Context& context, Scalar<std::type_identity_t<T>> alpha, Input<T> p,
                   Input<T> q, std::span<std::type_identity_t<T>> x,
                   std::span<std::type_identity_t<T>> r, T* rr) {
    check_equal("axpy_pair_dot", x, p, q, r);
    require(rr != nullptr, "axpy_pair_dot: the result is null");
    const Phase phase(context, "vectors", bytes_of<T>(x.size(), 6));
    TESSERA_RUN(axpy_pair_dot<T>, context, alpha, p.data(), q.data(), x.data(), r.data(), rr,
                Offset(x.size()));
    sum_over_ranks(context, rr);
}

template <class T>
void multiply_elementwise(const Context& context, Input<T> d, Input<T> x, std::span<T> y) {
    check_equal("multiply_elementwise", y, d, x);
    multiply_elementwise_each<T>(context, d, one_vector(x), one_vector(y));
}

template <class T>
void multiply_elementwise_each(const Context& context, Input<T> d, const Vectors<const T>& x,
                               const Vectors<T>& y) {
    check_equal("multiply_elementwise", d);
    check_all("multiply_elementwise", Offset(d.size()), x, y);
    const Phase phase(context, "vectors", bytes_of<T>(d.size(), 1 + 2 * x.count));
    for (int first = 0; first < x.count; first += max_vectors) {
        const int count = std::min(max_vectors, x.count - first);
        TESSERA_RUN(multiply_elementwise_each<T>, context, d.data(), x.part(first, count),
                    y.part(first, count));
    }
}

template <class T>
void dot_each(const Context& context, const Vectors<const T>& x, const Vectors<const T>& y,
              const NumberPerVector<T>& results) {
    check_all("dot_each", x.size, x, y);
    require(results.first != nullptr, "dot_each: the array of results is null");
    const Phase phase(context, "dots", bytes_of<T>(std::size_t(x.size), 2 * x.count));
    TESSERA_RUN(dot_each<T>, context, x, y, results);
    sum_over_ranks(context, results.first, x.count, results.stride);
}

template <class T>
void xpby_each(const Context& context, const Vectors<const T>& x, const NumberPerVector<T>& beta,
               const Vectors<T>& y) {
    check_all("xpby_each", y.size, x, y);
    require(y.count <= max_vectors, "xpby_each: there are more than ", max_vectors, " vectors");
    require(beta.first != nullptr, "xpby_each: the array of numbers is null");
    const Phase phase(context, "vectors", bytes_of<T>(std::size_t(y.size), 3 * y.count));
    TESSERA_RUN(xpby_each<T>, context, x, beta, y);
}

template <class T>
void axpy_pair_dot_each(const Context& context, const NumberPerVector<T>& alpha,
                        const Vectors<const T>& p, const Vectors<const T>& q, const Vectors<T>& x,
                        const Vectors<T>& r, const NumberPerVector<T>& rr) {
    check_all("axpy_pair_dot_each", x.size, x, p, q, r);
    require(alpha.first != nullptr && rr.first != nullptr,
            "axpy_pair_dot_each: an array of numbers is null");
    const Phase phase(context, "vectors", bytes_of<T>(std::size_t(x.size), 6 * x.count));
    TESSERA_RUN(axpy_pair_dot_each<T>, context, alpha, p, q, x, r, rr);
    sum_over_ranks(context, rr.first, x.count, rr.stride);
}

template <class T>
void recurrence_step(const Context& context, const RecurrenceStep<std::type_identity_t<T>>& step,
                     Input<T> q, Input<T> x, Input<T> y, Input<T> r, std::span<T> next) {
    const std::size_t n = next.size();
    check_equal("recurrence_step", next, q, x, y, r);
    const int passes = 2 + (step.beta != 0) + (step.gamma != 0) + (step.delta != 0);
    const Phase phase(context, "vectors", bytes_of<T>(n, passes));
    TESSERA_RUN(recurrence_step<T>, context, step, q.data(), x.data(), y.data(), r.data(),
                next.data(), Offset(n));
}

template <class T>
void multiply_elementwise_dot(const Context& context, Input<T> d, Input<T> x,
                              std::span<std::type_identity_t<T>> y, T* xy) {
    check_equal("multiply_elementwise_dot", y, d, x);
    require(xy != nullptr, "multiply_elementwise_dot: the result is null");
    const Phase phase(context, "vectors", bytes_of<T>(x.size(), 3));
    TESSERA_RUN(multiply_elementwise_dot<T>, context, d.data(), x.data(), y.data(),
                Offset(x.size()), xy);
    sum_over_ranks(context, xy);
}

template <class From, class To>
void convert(const Context& context, std::span<const From> x, std::span<To> y,
             const double* square) {
    check_equal("convert", y, x);
    const Phase phase(context, "vectors", bytes_of<From>(x.size(), 1) + bytes_of<To>(x.size(), 1));
    for_each_index(context, Offset(x.size()), Convert<From, To>{x.data(), y.data(), square});
}

template <class T>
void fill_uniform(const Context& context, std::uint64_t seed, std::span<T> x) {
    check_equal("fill_uniform", x);
    for_each_index(context, Offset(x.size()), FillUniform<T>{seed, x.data()});
}

template <class T>
void fill_normal(const Context& context, std::uint64_t seed, std::span<T> x) {
    fill_normal_from(context, seed, 0, x);
}

template <class T>
void fill_normal_from(const Context& context, std::uint64_t seed, Offset first, std::span<T> x) {
    check_equal("fill_normal", x);
    for_each_index(context, Offset(x.size()), FillNormal<T>{seed, first, x.data()});
}

#define TESSERA_INSTANTIATE(T)                                          \
    TESSERA_INSTANTIATE_VECTOR_OPS(T)                                   \
    template decltype(fill<T>) fill<T>;                                 \
    template void dot(const Context&, Input<T>, Input<T>, T*);          \
    template decltype(axpby<T>) axpby<T>;                               \
    template decltype(multiply_elementwise<T>) multiply_elementwise<T>; \
    template decltype(fill_uniform<T>) fill_uniform<T>;                 \
    template decltype(fill_normal<T>) fill_normal<T>;                   \
    template decltype(fill_normal_from<T>) fill_normal_from<T>;
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)
template decltype(convert<double, float>) convert<double, float>;
template decltype(convert<float, double>) convert<float, double>;

}  // namespace tessera
