#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "precond/block_jacobi/block_jacobi_state.hpp"
#include "precond/block_jacobi/storage/block_formats.hpp"

namespace tessera {

namespace {

template <class Value>
std::vector<Value> host_copy(const Context& context, const Buffer<Value>& buffer) {
    std::vector<Value> host(std::size_t(buffer.size()));
    copy_to_host(context, buffer.view(), std::span<Value>(host));
    return host;
}

}  // namespace

template <class T>
std::vector<SingularBlock> BlockJacobi<T>::first_singular() const {
    std::vector<SingularBlock> found;
    if (state_->found.singular == 0) return found;
    const Context& context = state_->context;
    const auto info = host_copy(context, state_->info);
    for (std::size_t b = 0; b < info.size() && found.size() < 10; ++b) {
        if (info[b] == 0) continue;
        Index rows[2];
        std::int8_t shift;
        copy_to_host(context, std::span<const Index>(state_->blocks.block_offsets.data() + b, 2),
                     std::span<Index>(rows));
        copy_to_host(context, std::span<const std::int8_t>(state_->shifts.data() + b, 1),
                     std::span<std::int8_t>(&shift, 1));
        found.push_back({Index(b), rows[0], rows[1] - rows[0], info[b], shift});
    }
    return found;
}

template <class T>
BlockJacobiReport BlockJacobi<T>::report() const {
    const Context& context = state_->context;
    const BlockPartition& blocks = state_->blocks;
    const auto offsets = host_copy(context, blocks.block_offsets);
    const auto reciprocal = host_copy(context, state_->reciprocal_condition);
    const auto info = host_copy(context, state_->info);
    const auto formats = host_copy(context, state_->formats);

    BlockJacobiReport report;
    report.singular = state_->found.singular;
    report.rebuilds = state_->rebuilds;
    report.overflow = !state_->adaptive() && state_->found.overflow != 0;
    report.stored_bytes = state_->bytes.size() - 16;
    report.working_bytes = blocks.entries * Offset(sizeof(T));
    if (state_->found.rows_from_end != 0) {
        report.first_non_finite_row = blocks.rows - Index(state_->found.rows_from_end);
    }
    const auto condition = [&](Index b) {
        return info[std::size_t(b)] != 0 ? std::numeric_limits<double>::infinity()
                                         : 1 / double(reciprocal[std::size_t(b)]);
    };
    const auto format = [&](Index b) {
        return formats.empty() ? state_->format : formats[std::size_t(b)];
    };
    constexpr double epsilon = double(std::numeric_limits<T>::epsilon());
    for (Index b = 0; b < blocks.count; ++b) {
        ++report.formats[std::size_t(format(b))];
        if (info[std::size_t(b)] != 0) continue;
        const double kappa = condition(b);
        const Index n = offsets[std::size_t(b) + 1] - offsets[std::size_t(b)];
        report.near_singular += kappa > 1 / (10 * n * epsilon);
        const auto last = double(report.conditions.size() - 1);
        // A condition number of 1 may come out as little less.
        ++report.conditions[std::size_t(std::clamp(std::floor(std::log10(kappa)), 0.0, last))];
    }
    std::vector<Index> order(std::size_t(blocks.count));
    std::iota(order.begin(), order.end(), 0);
    const auto shown = order.begin() + std::min<Index>(10, blocks.count);
    std::partial_sort(order.begin(), shown, order.end(), [&](Index a, Index b) {
        const double of_a = condition(a), of_b = condition(b);
        return of_a != of_b ? of_a > of_b : a < b;
    });
    for (auto b = order.begin(); b != shown; ++b) {
        const Index row = offsets[std::size_t(*b)];
        report.worst.push_back(
            {*b, row, offsets[std::size_t(*b) + 1] - row, condition(*b), format(*b)});
    }
    return report;
}

template std::vector<SingularBlock> BlockJacobi<float>::first_singular() const;
template std::vector<SingularBlock> BlockJacobi<double>::first_singular() const;
template BlockJacobiReport BlockJacobi<float>::report() const;
template BlockJacobiReport BlockJacobi<double>::report() const;

}  // namespace tessera
