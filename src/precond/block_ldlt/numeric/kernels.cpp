#include "precond/block_ldlt/numeric/kernels.hpp"

#include "base/dispatch.hpp"

namespace tessera::block_ldlt {

template <class T>
void schur_diagonals(const Context& context, const PatternView<T>& a, Index first, Index last,
                     const T* v, const T* w, T* b) {
    select(context, &cpu::schur_diagonals<T>, TESSERA_IF_CUDA(cuda::schur_diagonals<T>))(
        context, a, first, last, v, w, b);
}

template <class T>
void schur_blocks(const Context& context, const PatternView<T>& a, Offset first, Offset last,
                  const T* v, const T* w, const T* inverses, T* v_out, T* w_out) {
    select(context, &cpu::schur_blocks<T>, TESSERA_IF_CUDA(cuda::schur_blocks<T>))(
        context, a, first, last, v, w, inverses, v_out, w_out);
}

template <class T>
void lower_product(const Context& context, const PatternView<T>& a, Index first, Index last,
                   const T* v, T alpha, const T* x, const T* b, T* y) {
    select(context, &cpu::lower_product<T>, TESSERA_IF_CUDA(cuda::lower_product<T>))(
        context, a, first, last, v, alpha, x, b, y);
}

template <class T>
void upper_product(const Context& context, const PatternView<T>& a, Index first, Index last,
                   const T* v, T alpha, const T* x, const T* b, T* y) {
    select(context, &cpu::upper_product<T>, TESSERA_IF_CUDA(cuda::upper_product<T>))(
        context, a, first, last, v, alpha, x, b, y);
}

template <class T>
void solve_by_levels(const Context& context, const PatternView<T>& a, std::span<const Index> levels,
                     const SolveTasks<T>& tasks, const T* v, const T* inverses, T* x, T* middle,
                     T* y, unsigned* started) {
    select(context, &cpu::solve_by_levels<T>, TESSERA_IF_CUDA(cuda::solve_by_levels<T>))(
        context, a, levels, tasks, v, inverses, x, middle, y, started);
}

template <class T>
void diagonal_product(const Context& context, const PatternView<T>& a, const T* inverses,
                      const T* x, T* y) {
    select(context, &cpu::diagonal_product<T>, TESSERA_IF_CUDA(cuda::diagonal_product<T>))(
        context, a, inverses, x, y);
}

template <class T>
void factor_product(const Context& context, const PatternView<T>& a, const T* factors,
                    const Index* permutations, const T* x, T* y) {
    select(context, &cpu::factor_product<T>, TESSERA_IF_CUDA(cuda::factor_product<T>))(
        context, a, factors, permutations, x, y);
}

template <class T>
void matrix_product(const Context& context, const PatternView<T>& a, const T* x, T* y) {
    select(context, &cpu::matrix_product<T>, TESSERA_IF_CUDA(cuda::matrix_product<T>))(context, a,
                                                                                       x, y);
}

template <class T>
void gather_values(const Context& context, Offset count, const Offset* source,
                   const Index* row_slots, const Index* column_slots, const Index* slots,
                   const T* scale, const T* matrix, T* values) {
    select(context, &cpu::gather_values<T>, TESSERA_IF_CUDA(cuda::gather_values<T>))(
        context, count, source, row_slots, column_slots, slots, scale, matrix, values);
}

template <class T>
void check_sources(const Context& context, Offset count, const Offset* source,
                   const Index* row_slots, const Index* column_slots, const Index* slots,
                   const CsrView<T>& matrix, int* fault) {
    select(context, &cpu::check_sources<T>, TESSERA_IF_CUDA(cuda::check_sources<T>))(
        context, count, source, row_slots, column_slots, slots, matrix, fault);
}

template <class T>
void largest_magnitude(const Context& context, Offset count, const T* x, T* partial, T* largest) {
    select(context, &cpu::largest_magnitude<T>, TESSERA_IF_CUDA(cuda::largest_magnitude<T>))(
        context, count, x, partial, largest);
}

template <class T>
void largest_in_diagonals(const Context& context, const PatternView<T>& a, T* largest) {
    select(context, &cpu::largest_in_diagonals<T>, TESSERA_IF_CUDA(cuda::largest_in_diagonals<T>))(
        context, a, largest);
}

template <class T>
void row_norms(const Context& context, const PatternView<T>& a, T* y) {
    select(context, &cpu::row_norms<T>, TESSERA_IF_CUDA(cuda::row_norms<T>))(context, a, y);
}

template <class T>
void set_thresholds(const Context& context, Index count, double epsilon, const T* size,
                    const T* of_block, T* thresholds) {
    select(context, &cpu::set_thresholds<T>, TESSERA_IF_CUDA(cuda::set_thresholds<T>))(
        context, count, epsilon, size, of_block, thresholds);
}

template <class T>
void summarise_pivots(const Context& context, Index count, const Index* perturbed,
                      const T* smallest, PivotSummary* summary) {
    select(context, &cpu::summarise_pivots<T>, TESSERA_IF_CUDA(cuda::summarise_pivots<T>))(
        context, count, perturbed, smallest, summary);
}

template <class T>
void gather(const Context& context, Offset count, const Index* slots, const T* scale, const T* r,
            T* x) {
    select(context, &cpu::gather<T>, TESSERA_IF_CUDA(cuda::gather<T>))(context, count, slots, scale,
                                                                       r, x);
}

template <class T>
void scatter(const Context& context, Offset count, const Index* slots, const T* scale, const T* x,
             T* z) {
    select(context, &cpu::scatter<T>, TESSERA_IF_CUDA(cuda::scatter<T>))(context, count, slots,
                                                                         scale, x, z);
}

#define TESSERA_INSTANTIATE(T)                                                                     \
    template void schur_diagonals<T>(const Context&, const PatternView<T>&, Index, Index,          \
                                     const T*, const T*, T*);                                      \
    template void schur_blocks<T>(const Context&, const PatternView<T>&, Offset, Offset, const T*, \
                                  const T*, const T*, T*, T*);                                     \
    template void lower_product<T>(const Context&, const PatternView<T>&, Index, Index, const T*,  \
                                   T, const T*, const T*, T*);                                     \
    template void upper_product<T>(const Context&, const PatternView<T>&, Index, Index, const T*,  \
                                   T, const T*, const T*, T*);                                     \
    template void solve_by_levels<T>(const Context&, const PatternView<T>&,                        \
                                     std::span<const Index>, const SolveTasks<T>&, const T*,       \
                                     const T*, T*, T*, T*, unsigned*);                             \
    template void diagonal_product<T>(const Context&, const PatternView<T>&, const T*, const T*,   \
                                      T*);                                                         \
    template void factor_product<T>(const Context&, const PatternView<T>&, const T*, const Index*, \
                                    const T*, T*);                                                 \
    template void matrix_product<T>(const Context&, const PatternView<T>&, const T*, T*);          \
    template void gather_values<T>(const Context&, Offset, const Offset*, const Index*,            \
                                   const Index*, const Index*, const T*, const T*, T*);            \
    template void check_sources<T>(const Context&, Offset, const Offset*, const Index*,            \
                                   const Index*, const Index*, const CsrView<T>&, int*);           \
    template void largest_magnitude<T>(const Context&, Offset, const T*, T*, T*);                  \
    template void largest_in_diagonals<T>(const Context&, const PatternView<T>&, T*);              \
    template void row_norms<T>(const Context&, const PatternView<T>&, T*);                         \
    template void set_thresholds<T>(const Context&, Index, double, const T*, const T*, T*);        \
    template void summarise_pivots<T>(const Context&, Index, const Index*, const T*,               \
                                      PivotSummary*);                                              \
    template void gather<T>(const Context&, Offset, const Index*, const T*, const T*, T*);         \
    template void scatter<T>(const Context&, Offset, const Index*, const T*, const T*, T*);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)
#undef TESSERA_INSTANTIATE

}  // namespace tessera::block_ldlt
