#include "precond/block_ldlt/symbolic/level_groups.hpp"

#include <algorithm>

#include "base/dispatch.hpp"
#include "precond/block_ldlt/symbolic/split_rows.hpp"

namespace tessera::block_ldlt {

namespace {

/// Products of 8 x 8 blocks that a level of a run has at most, and what the factorisation of a
/// diagonal block counts for. Measured: see docs/decisions/block-ldlt.md.
constexpr Offset most_products = 512;
constexpr Offset row_products = 16;

}  // namespace

std::vector<LevelSpan> level_spans(const BlockPattern& pattern, Index k) {
    std::vector<LevelSpan> spans;
    const Offset tile = std::max(1, k / 8);
    const auto span = [](const std::vector<Offset>& offsets, Offset i, Offset j) {
        return offsets[std::size_t(j)] - offsets[std::size_t(i)];
    };
    for (Index l = 0; l < pattern.levels(); ++l) {
        const Offset first = pattern.level_offsets[std::size_t(l)];
        const Offset last = pattern.level_offsets[std::size_t(l) + 1];
        const Offset begin = pattern.column_offsets[std::size_t(first)];
        const Offset end = pattern.column_offsets[std::size_t(last)];
        const Offset products = (last - first) * row_products + (end - begin) +
                                span(pattern.row_offsets, first, last) +
                                span(pattern.triple_offsets, begin, end);
        bool run = products * tile * tile <= most_products;
        for (Offset i = first; i < last && run; ++i) {
            run = span(pattern.row_offsets, i, i + 1) <= longest_piece;
        }
        for (Offset b = begin; b < end && run; ++b) {
            run = span(pattern.triple_offsets, b, b + 1) <= longest_piece;
        }
        if (spans.empty() || spans.back().run != run) spans.push_back({l, l, run});
        spans.back().last = l + 1;
    }
    return spans;
}

template <class T>
void factor_run(const Context& context, const PatternView<T>& a, const LevelFactor<T>& factor,
                Index first, Index last) {
    void (*const run)(const Context&, const PatternView<T>&, const LevelFactor<T>&, Index, Index) =
        TESSERA_IF_CUDA(cuda::factor_run<T>);
    if (run == nullptr) throw_cuda_not_built();
    run(context, a, factor, first, last);
}

template void factor_run<float>(const Context&, const PatternView<float>&,
                                const LevelFactor<float>&, Index, Index);
template void factor_run<double>(const Context&, const PatternView<double>&,
                                 const LevelFactor<double>&, Index, Index);

}  // namespace tessera::block_ldlt
