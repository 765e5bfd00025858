#include "gpu/for_each.cuh"
#include "sparse/borrow/steps.hpp"

namespace tessera::cuda {

using std::int32_t, std::int64_t;

template void for_each_index(const Context&, Offset,
                             const borrow::ConvertIndices<int32_t, Offset>&);
template void for_each_index(const Context&, Offset, const borrow::ConvertIndices<int64_t, Index>&);
template void for_each_index(const Context&, Offset, const borrow::CheckRow<int32_t, int32_t>&);
template void for_each_index(const Context&, Offset, const borrow::CheckRow<int32_t, int64_t>&);
template void for_each_index(const Context&, Offset, const borrow::CheckRow<int64_t, int32_t>&);
template void for_each_index(const Context&, Offset, const borrow::CheckRow<int64_t, int64_t>&);
template void for_each_index(const Context&, Offset, const borrow::ExpandRow<int32_t, int32_t>&);
template void for_each_index(const Context&, Offset, const borrow::ExpandRow<int32_t, int64_t>&);
template void for_each_index(const Context&, Offset, const borrow::ExpandRow<int64_t, int32_t>&);
template void for_each_index(const Context&, Offset, const borrow::ExpandRow<int64_t, int64_t>&);
TESSERA_FOR_EACH_REAL(borrow::GatherSums)
TESSERA_FOR_EACH_REAL(borrow::ExpandValues)

}  // namespace tessera::cuda
