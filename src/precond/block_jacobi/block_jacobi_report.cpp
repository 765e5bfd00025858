#include <algorithm>
#include <limits>

#include "precond/block_jacobi/block_jacobi_state.hpp"
#include "precond/singular_policy.hpp"

namespace tessera {

namespace {

struct Block {
    Index block, first_row, rows;
    double condition;  ///< Infinity where singular.
    BlockPrecision format;

    bool is_worse_than(const Block& other) const {
        return condition != other.condition ? condition > other.condition : block < other.block;
    }
};

/// Inserts a block into the list of the ten worst blocks, worst first, if it belongs there.
void add_to_worst(std::vector<Block>& worst, const Block& block) {
    if (worst.size() == 10) {
        if (!block.is_worse_than(worst.back())) return;
        worst.pop_back();
    }
    worst.insert(std::ranges::upper_bound(worst, block, &Block::is_worse_than), block);
}

/// The index d in BlockJacobiReport::conditions of a condition number.
std::size_t decade(double condition) {
    static constexpr auto powers = [] {
        std::array<double, std::tuple_size_v<decltype(BlockJacobiReport::conditions)>> made{1};
        for (std::size_t d = 1; d < made.size(); ++d) made[d] = 10 * made[d - 1];
        return made;
    }();
    const auto above = std::ranges::upper_bound(powers, condition);
    // A condition number of 1 may be computed as slightly less.
    return above == powers.begin() ? 0 : std::size_t(above - powers.begin()) - 1;
}

/// Named values of the report, and the blocks of largest condition numbers.
ReportValues values_of(const BlockJacobiReport& report, std::span<const Block> blocks) {
    ReportValues formats, decades, worst;
    for (std::size_t k = 0; k < report.formats.size(); ++k) {
        formats.push_back({to_string(BlockPrecision(k)), report.formats[k]});
    }
    for (const Index count : report.conditions) decades.push_back({"", count});
    for (const Block& block : blocks) {
        worst.push_back({"", ReportValues{{"block", block.block},
                                          {"first_row", block.first_row},
                                          {"rows", block.rows},
                                          {"condition", block.condition},
                                          {"format", to_string(block.format)}}});
    }
    return {{"blocks", ReportValues{{"near_singular", report.near_singular},
                                    {"stored_bytes", report.stored_bytes},
                                    {"working_bytes", report.working_bytes},
                                    {"rebuilds", report.rebuilds},
                                    {"formats", std::move(formats)},
                                    {"condition_decades", std::move(decades)},
                                    {"worst", std::move(worst)}}}};
}

}  // namespace

template <class T>
BlockJacobiReport BlockJacobi<T>::report() const {
    const Context& context = state_->context;
    const BlockPartition& blocks = state_->blocks;
    const SetupSummary& summary = state_->fetched_summary;
    const auto offsets = copy_to_host(context, blocks.block_offsets);
    const auto reciprocal = copy_to_host(context, state_->reciprocal_condition);
    const auto info = copy_to_host(context, state_->info);
    const auto formats = copy_to_host(context, state_->formats);
    const auto shift_exponents = summary.singular > 0
                                     ? copy_to_host(context, state_->shift_exponents)
                                     : std::vector<std::int8_t>();

    BlockJacobiReport report;
    report.blocks = blocks.count;
    report.largest_block = blocks.largest;
    report.partition = &blocks;
    report.unusable = singular_blocks_sentence(options().singular, summary.singular, blocks.count);
    report.rebuilds = state_->rebuilds;
    report.overflow = !state_->adaptive() && summary.outside != 0;
    report.stored_bytes = state_->bytes.size() - 16;
    report.working_bytes = blocks.entries * Offset(sizeof(T));
    if (summary.rows_from_end != 0) {
        report.first_non_finite_row = blocks.rows - Index(summary.rows_from_end);
    }
    std::vector<Block> worst;
    for (std::size_t b = 0; b < info.size(); ++b) {
        const Index n = offsets[b + 1] - offsets[b];
        const double kappa =
            info[b] != 0 ? std::numeric_limits<double>::infinity() : 1 / double(reciprocal[b]);
        const BlockPrecision format = formats.empty() ? state_->format : formats[b];
        add_to_worst(worst, {Index(b), offsets[b], n, kappa, format});
        ++report.formats[std::size_t(format)];
        if (info[b] != 0) {
            if (report.first_singular.size() < 10) {
                report.first_singular.push_back(
                    {Index(b), offsets[b], n, info[b], shift_exponents[b]});
            }
            continue;
        }
        report.near_singular += kappa > 1 / (10 * n * double(std::numeric_limits<T>::epsilon()));
        ++report.conditions[decade(kappa)];
    }
    report.values = values_of(report, worst);
    return report;
}

template <class T>
PreconditionerReport BlockJacobi<T>::make_report() const {
    return report();
}

template BlockJacobiReport BlockJacobi<float>::report() const;
template BlockJacobiReport BlockJacobi<double>::report() const;
template PreconditionerReport BlockJacobi<float>::make_report() const;
template PreconditionerReport BlockJacobi<double>::make_report() const;

}  // namespace tessera
