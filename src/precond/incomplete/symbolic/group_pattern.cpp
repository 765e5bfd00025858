#include "precond/incomplete/symbolic/group_pattern.hpp"

#include "tessera/detail/bsr.hpp"

namespace tessera::incomplete {

template <class T>
GroupPattern group_pattern(const Context& context, const CsrView<T>& matrix, Index size) {
    GroupPattern result{size, matrix.rows / size, matrix.nonzeros, matrix.row_offsets,
                        matrix.column_indices};
    if (size == 1) return result;
    BsrMatrix<T> blocks = bsr_pattern(context, matrix, size, size);
    result.entries = blocks.blocks();
    result.own_offsets = std::move(blocks.row_offsets());
    result.own_columns = std::move(blocks.column_indices());
    result.offsets = result.own_offsets.data();
    result.columns = result.own_columns.data();
    return result;
}

template decltype(group_pattern<float>) group_pattern<float>;
template decltype(group_pattern<double>) group_pattern<double>;

}  // namespace tessera::incomplete
