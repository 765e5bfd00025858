#include "tessera/detail/accurate_residual.hpp"

#include "base/check_time.hpp"
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
    for (std::size_t i = 0; i < r.size(); ++i) {
        if (i % 1024 == 0) check_time();
        constexpr Offset max_plain = 0;
        const RowTerms row =
            row_terms(a, solution.data(), Offset(i), double(r[i]), 0, 1, max_plain);
        r[i] = T(row.sum + row.error);
    }
    return r;
}

template decltype(accurate_residual<float>) accurate_residual<float>;
template decltype(accurate_residual<double>) accurate_residual<double>;

}  // namespace tessera
