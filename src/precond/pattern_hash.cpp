#include "precond/pattern_hash.hpp"

#include <numeric>

#include "base/zeros.hpp"

namespace tessera {

template <class T>
std::uint64_t pattern_hash(const Context& context, const CsrView<T>& matrix) {
    const RowsOfThread rows(context.on_gpu(), matrix.rows);
    Buffer<std::uint64_t> sums = zeros<std::uint64_t>(context, RowsOfThread::results);
    for_each_index(context, rows.threads, HashPattern<T>{rows, matrix, sums.data()});
    const auto found = copy_to_host(context, sums);
    return std::accumulate(found.begin(), found.end(), std::uint64_t(0));
}

template std::uint64_t pattern_hash(const Context&, const CsrView<float>&);
template std::uint64_t pattern_hash(const Context&, const CsrView<double>&);

}  // namespace tessera
