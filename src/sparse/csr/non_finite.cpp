#include <algorithm>
#include <cmath>

#include "base/checks.hpp"
#include "base/zeros.hpp"
#include "sparse/csr/flag_non_finite.hpp"
#include "tessera/csr.hpp"

namespace tessera {

template <class T>
Index first_non_finite_row(const Context& context, const CsrView<T>& matrix) {
    check_matrix("first_non_finite_row", matrix);
    check_memory(context, "first_non_finite_row", matrix);
    std::vector<T> copied;
    std::span<const T> values = matrix.values_span();
    if (context.on_gpu()) {
        Buffer<int> fault = zeros<int>(context, 1);
        for_each_index(context, matrix.nonzeros, FlagNonFinite<T>{matrix.values, fault.data()});
        if (copy_to_host(context, fault)[0] == 0) return -1;
        copied.resize(values.size());
        copy_to_host(context, values, std::span<T>(copied));
        values = copied;
    }
    const auto found = std::ranges::find_if(values, [](T value) { return !std::isfinite(value); });
    if (found == values.end()) return -1;
    std::vector<Offset> offsets(std::size_t(matrix.rows) + 1);
    copy_to_host(context, matrix.row_offsets_span(), std::span<Offset>(offsets));
    return Index(std::ranges::upper_bound(offsets, Offset(found - values.begin())) -
                 offsets.begin()) -
           1;
}

template Index first_non_finite_row(const Context&, const CsrView<float>&);
template Index first_non_finite_row(const Context&, const CsrView<double>&);

}  // namespace tessera
