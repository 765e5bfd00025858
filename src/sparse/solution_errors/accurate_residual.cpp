#include "tessera/detail/accurate_residual.hpp"

#include "base/parallel.hpp"
#include "sparse/solution_errors/row_errors.hpp"

namespace tessera {

template <class T>
std::vector<T> accurate_residual(const Context& context, const CsrView<T>& matrix,
                                 std::span<const T> b, std::span<const T> x) {
    CsrMatrix<T> copied;
    if (context.on_gpu()) copied = copy_to_host(context, matrix);
    const CsrView<T> a = context.on_gpu() ? copied.view() : matrix;
    std::vector<T> r(b.size()), solution(x.size());
    copy_to_host(context, b, std::span<T>(r));
    copy_to_host(context, x, std::span<T>(solution));
    in_pieces(0, Offset(r.size()), 1024, [&](Offset first, Offset last) {
        cpu::measure_residuals<T>(context, a, r.data(), solution.data(), r.data(), first, last);
    });
    return r;
}

template decltype(accurate_residual<float>) accurate_residual<float>;
template decltype(accurate_residual<double>) accurate_residual<double>;

}  // namespace tessera
