#include <array>
#include <utility>

#include "base/parallel.hpp"
#include "batched/plan/kernels.hpp"

namespace tessera::batched::cpu {

Index sort_by_size(const Context& context, Index count, const Index* sizes, Index* begin,
                   Index* order) {
    const Offset parts = std::clamp<Offset>(count / parallel_grain, 1, context.threads());
    struct Part {
        Index first_invalid = -1;
        std::array<Index, largest_size + 1> next{};  ///< Matrices per size, then positions.
    };
    std::vector<Part> found(static_cast<std::size_t>(parts));
    parallel_parts(context.threads(), count, parts, [&](Offset p, Offset first, Offset last) {
        Part& part = found[std::size_t(p)];
        for (Offset b = first; b < last; ++b) {
            if (sizes[b] < 0 || sizes[b] > largest_size) {
                part.first_invalid = Index(b);
                return;
            }
            ++part.next[std::size_t(sizes[b])];
        }
    });
    for (const Part& part : found) {
        if (part.first_invalid >= 0) return part.first_invalid;
    }
    Index position = 0;
    for (Index n = 0; n <= largest_size; ++n) {
        begin[n] = position;
        for (Part& part : found) position += std::exchange(part.next[std::size_t(n)], position);
    }
    begin[largest_size + 1] = position;
    parallel_parts(context.threads(), count, parts, [&](Offset p, Offset first, Offset last) {
        Part& part = found[std::size_t(p)];
        for (Offset b = first; b < last; ++b) {
            order[part.next[std::size_t(sizes[b])]++] = Index(b);
        }
    });
    return -1;
}

}  // namespace tessera::batched::cpu
