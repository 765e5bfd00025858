#include "precond/block_ldlt/config.hpp"

namespace tessera {

template <class T>
PreconditionerReport BlockLdlt<T>::make_report() const {
    const BlockLdltReport& found = report();
    std::vector<Fact> reconstruction, probes;
    for (const double error : found.reconstruction) reconstruction.push_back({"", error});
    for (const auto stage : {BlockLdltStage::jacobi, BlockLdltStage::level,
                             BlockLdltStage::block_jacobi, BlockLdltStage::none}) {
        const double residual = found.probe[int(stage)];
        if (residual >= 0) probes.push_back({to_string(stage), residual});
    }
    PreconditionerReport report;
    report.facts.push_back(
        {"block_ldlt", std::vector<Fact>{{"block_rows", found.block_rows},
                                         {"padding", found.padding},
                                         {"pairs", found.pairs},
                                         {"structural_rank", found.structural_rank},
                                         {"ordering", to_string(found.ordering)},
                                         {"levels", found.levels},
                                         {"stored_blocks", found.stored_blocks},
                                         {"stored_share", found.stored_share},
                                         {"triples", found.triples},
                                         {"bytes", found.bytes},
                                         {"pushed", found.pushed},
                                         {"stage", to_string(found.stage)},
                                         {"sweeps", found.sweeps},
                                         {"best_sweep", found.best_sweep},
                                         {"restarts", found.restarts},
                                         {"epsilon", found.epsilon},
                                         {"perturbed", found.perturbed},
                                         {"smallest_pivot", found.smallest_pivot},
                                         {"reconstruction", std::move(reconstruction)},
                                         {"probes", std::move(probes)},
                                         {"probe_products", found.probe_products},
                                         {"outcome", found.outcome}}});
    return report;
}

template PreconditionerReport BlockLdlt<float>::make_report() const;
template PreconditionerReport BlockLdlt<double>::make_report() const;

}  // namespace tessera
