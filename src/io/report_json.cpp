#include <cmath>
#include <nlohmann/json.hpp>

#include "tessera/report.hpp"

namespace tessera {

namespace {

using Json = nlohmann::ordered_json;

/// JSON has no NaN and no infinity.
Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json phase_json(const PhaseRecord& phase, double copy_rate) {
    const bool known = phase.bytes > 0 && phase.seconds > 0 && copy_rate > 0;
    return {{"name", phase.name},
            {"calls", phase.calls},
            {"seconds", number(phase.seconds)},
            {"bytes", number(phase.bytes)},
            {"fraction_of_copy",
             known ? number(phase.bytes / phase.seconds / copy_rate) : Json(nullptr)},
            {"sampled", phase.sampled}};
}

Json blocks_json(const RunReport::Blocks& blocks) {
    Json json = {
        {"count", blocks.count}, {"largest", blocks.largest}, {"singular", blocks.singular}};
    const BlockJacobiReport& jacobi = blocks.jacobi;
    if (jacobi.working_bytes == 0) return json;
    json["near_singular"] = jacobi.near_singular;
    json["stored_bytes"] = jacobi.stored_bytes;
    json["working_bytes"] = jacobi.working_bytes;
    json["rebuilds"] = jacobi.rebuilds;
    for (std::size_t k = 0; k < jacobi.formats.size(); ++k) {
        json["formats"][to_string(BlockPrecision(k))] = jacobi.formats[k];
    }
    json["condition_decades"] = jacobi.conditions;
    json["worst"] = Json::array();
    for (const BlockJacobiReport::Block& block : jacobi.worst) {
        json["worst"].push_back({{"block", block.block},
                                 {"first_row", block.first_row},
                                 {"rows", block.rows},
                                 {"condition", number(block.condition)},
                                 {"format", to_string(block.format)}});
    }
    return json;
}

Json factor_json(const BlockLdltReport& ldlt) {
    Json reconstruction = Json::array(), probes = Json::object();
    for (const double error : ldlt.reconstruction) reconstruction.push_back(number(error));
    for (const auto stage : {BlockLdltStage::jacobi, BlockLdltStage::level,
                             BlockLdltStage::block_jacobi, BlockLdltStage::none}) {
        const double residual = ldlt.probe[int(stage)];
        if (residual >= 0) probes[to_string(stage)] = number(residual);
    }
    return {{"block_rows", ldlt.block_rows},
            {"padding", ldlt.padding},
            {"pairs", ldlt.pairs},
            {"structural_rank", ldlt.structural_rank},
            {"ordering", to_string(ldlt.ordering)},
            {"levels", ldlt.levels},
            {"stored_blocks", ldlt.stored_blocks},
            {"stored_share", number(ldlt.stored_share)},
            {"triples", ldlt.triples},
            {"bytes", ldlt.bytes},
            {"pushed", ldlt.pushed},
            {"stage", to_string(ldlt.stage)},
            {"sweeps", ldlt.sweeps},
            {"best_sweep", ldlt.best_sweep},
            {"restarts", ldlt.restarts},
            {"epsilon", number(ldlt.epsilon)},
            {"perturbed", ldlt.perturbed},
            {"smallest_pivot", number(ldlt.smallest_pivot)},
            {"reconstruction", std::move(reconstruction)},
            {"probes", std::move(probes)},
            {"probe_products", ldlt.probe_products}};
}

}  // namespace

std::string to_json(const RunReport& report) {
    const SolveReport& solve = report.solve;
    Json residuals = Json::array();
    for (const double residual : solve.residuals) residuals.push_back(number(residual));
    Json phases = Json::array();
    for (const PhaseRecord& phase : report.phases) {
        phases.push_back(phase_json(phase, report.copy_rate));
    }
    Json json = {
        {"schema", "tessera-run/1"},
        {"version", version()},
        {"commit", commit()},
        {"status", to_string(solve.status)},
        {"message", solve.message},
        {"solver", report.solver},
        {"preconditioner", report.preconditioner},
        {"device", report.device},
        {"threads", report.threads},
        {"matrix",
         {{"name", report.matrix.name},
          {"rows", report.matrix.rows},
          {"nonzeros", report.matrix.nonzeros},
          {"format", report.matrix.format}}},
        {"blocks", blocks_json(report.blocks)},
        {"iterations", solve.iterations},
        {"operator_applications", solve.operator_applications},
        {"relative_residual", number(solve.relative_residual)},
        {"true_relative_residual", number(solve.true_relative_residual)},
        {"residuals", std::move(residuals)},
        {"restarts", solve.restarts},
        {"seconds",
         {{"read", number(report.seconds.read)},
          {"find_blocks", number(report.seconds.find_blocks)},
          {"setup", number(report.seconds.setup)},
          {"solve", number(report.seconds.solve)}}},
        {"phases", std::move(phases)},
        {"peak_memory_bytes", report.peak_memory_bytes},
        {"copy_bytes_per_second", report.copy_rate > 0 ? number(report.copy_rate) : Json(nullptr)},
        {"forward_error", report.forward_error < 0 ? Json(nullptr) : number(report.forward_error)}};
    if (report.block_ldlt.block_rows > 0) json["block_ldlt"] = factor_json(report.block_ldlt);
    if (report.polynomial.degree > 0) {
        json["polynomial"] = {{"degree", report.polynomial.degree},
                              {"lower", number(report.polynomial.lower)},
                              {"upper", number(report.polynomial.upper)},
                              {"mends", report.polynomial.mends}};
    }
    if (report.structure.nodes > 0) {
        json["structure"] = {
            {"nodes", report.structure.nodes},
            {"elements", report.structure.elements},
            {"largest_displacement", number(report.structure.largest_displacement)},
            {"largest_von_mises", number(report.structure.largest_von_mises)}};
    }
    // Names of files need not be UTF-8; what is not is replaced.
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace tessera
