#include "precond/incomplete/symbolic/group_pattern.hpp"

#include "tessera/detail/bsr.hpp"

namespace tessera::incomplete {

template <class T>
GroupPattern group_pattern(const Context& context, const CsrView<T>& matrix, Index size) {
    GroupPattern result{size, matrix.rows / size, matrix.row_offsets, matrix.column_indices};
    BsrMatrix<T> blocks;
    if (size > 1) {
        blocks = bsr_pattern(context, matrix, size, size);
        result.offsets = std::as_const(blocks).row_offsets().data();
        result.columns = std::as_const(blocks).column_indices().data();
    }
    if (context.on_gpu()) {
        const Context host = Context::cpu(context.threads());
        const Offset entries = size > 1 ? blocks.blocks() : matrix.nonzeros;
        const auto fetch = [&](auto& own, auto& from, Offset count) {
            own = std::decay_t<decltype(own)>(host, count);
            copy_to_host(context, std::span(from, std::size_t(count)), own.view());
            from = own.data();
        };
        fetch(result.own_offsets, result.offsets, Offset(result.groups) + 1);
        fetch(result.own_columns, result.columns, entries);
    } else if (size > 1) {
        result.own_offsets = std::move(blocks.row_offsets());
        result.own_columns = std::move(blocks.column_indices());
    }
    return result;
}

template decltype(group_pattern<float>) group_pattern<float>;
template decltype(group_pattern<double>) group_pattern<double>;

}  // namespace tessera::incomplete
