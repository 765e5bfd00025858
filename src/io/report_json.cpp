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

}  // namespace

std::string to_json(const RunReport& report) {
    const SolveReport& solve = report.solve;
    Json residuals = Json::array();
    for (const double residual : solve.residuals) residuals.push_back(number(residual));
    Json phases = Json::array();
    for (const PhaseRecord& phase : report.phases) {
        phases.push_back(phase_json(phase, report.copy_rate));
    }
    const Json json = {
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
          {"nonzeros", report.matrix.nonzeros}}},
        {"blocks",
         {{"count", report.blocks.count},
          {"largest", report.blocks.largest},
          {"singular", report.blocks.singular}}},
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
    // Names of files need not be UTF-8; what is not is replaced.
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace tessera
