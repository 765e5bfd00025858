#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "precond/block_jacobi/block_jacobi_state.hpp"
#include "precond/singular_policy.hpp"

namespace tessera {

namespace {

struct Block {
    Index block, first_row, rows;
    double condition;  ///< Infinity where singular.
    BlockPrecision format;
};

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
    report.overflow = !state_->adaptive() && summary.overflow != 0;
    report.stored_bytes = state_->bytes.size() - 16;
    report.working_bytes = blocks.entries * Offset(sizeof(T));
    if (summary.rows_from_end != 0) {
        report.first_non_finite_row = blocks.rows - Index(summary.rows_from_end);
    }
    std::vector<Block> all;
    for (std::size_t b = 0; b < info.size(); ++b) {
        const Index n = offsets[b + 1] - offsets[b];
        const double kappa =
            info[b] != 0 ? std::numeric_limits<double>::infinity() : 1 / double(reciprocal[b]);
        all.push_back(
            {Index(b), offsets[b], n, kappa, formats.empty() ? state_->format : formats[b]});
        ++report.formats[std::size_t(all.back().format)];
        if (info[b] != 0) {
            if (report.first_singular.size() < 10) {
                report.first_singular.push_back(
                    {Index(b), offsets[b], n, info[b], shift_exponents[b]});
            }
            continue;
        }
        report.near_singular += kappa > 1 / (10 * n * double(std::numeric_limits<T>::epsilon()));
        // A condition number of 1 may be computed as slightly less.
        const auto last = double(report.conditions.size() - 1);
        ++report.conditions[std::size_t(std::clamp(std::floor(std::log10(kappa)), 0.0, last))];
    }
    const auto shown = all.begin() + std::min<Index>(10, blocks.count);
    std::ranges::partial_sort(all, shown, [](const auto& a, const auto& b) {
        return a.condition != b.condition ? a.condition > b.condition : a.block < b.block;
    });
    report.values = values_of(report, {all.begin(), shown});
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
