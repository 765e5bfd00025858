#include "precond/multigrid/config.hpp"
#include "precond/multigrid/ranks/distributed_amg.hpp"

namespace tessera {

namespace {

/// A level of at most so many nodes is gathered: there messages take longer than the work that
/// ranks would share. Groups of threads share the memory that each of them would read.
constexpr Offset gather_nodes(bool on_gpu) { return on_gpu ? 10'000 : 2'000; }

}  // namespace

PreconditionerOverRanks AmgConfig::make_over_ranks(const Context& context, OwnRows matrix,
                                                   const PreconditionerInputs& own) const {
    AmgOptions chosen = options;
    chosen.coordinates = own.coordinates;
    chosen.near_null = own.near_null;
    const int block = matrix.rows.view().height;
    auto m = std::make_unique<DistributedAmg<double>>(
        context, std::move(matrix), chosen,
        multigrid::RankOptions{.gather_nodes = gather_nodes(context.on_gpu())});
    PreconditionerOverRanks made;
    chosen.block = block;
    made.text = text_of(chosen);
    made.report.warnings = m->warnings();
    const NodeCoordinates& points = *own.coordinates;
    const bool is_given = !own.near_null->values.empty();
    const AmgNearNull kind = m->near_null_kind();
    if (!is_given && options.near_null_kind == AmgNearNull::automatic &&
        kind == AmgNearNull::translations) {
        const std::string warning = translations_warning(points, block);
        if (!warning.empty()) made.report.warnings.insert(made.report.warnings.begin(), warning);
    }
    const int vectors = is_given                            ? own.near_null->columns
                        : kind == AmgNearNull::translations ? block
                        : block == 2                        ? 3
                                                            : 6;
    made.report.values.push_back(amg_report(is_given ? "given" : near_null_name(kind, block),
                                            vectors, m->operator_complexity(), m->stored_values(),
                                            m->recoveries(), m->levels()));
    made.m = std::move(m);
    return made;
}

}  // namespace tessera
