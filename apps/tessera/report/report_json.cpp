#include "report/report.hpp"
#include "report/values.hpp"

namespace tessera::cli {

namespace {

Json phase_json(const PhaseRecord& phase, double copy_bandwidth) {
    const bool known = phase.bytes > 0 && phase.seconds > 0 && copy_bandwidth > 0;
    return {{"name", phase.name},
            {"calls", phase.calls},
            {"seconds", number(phase.seconds)},
            {"bytes", number(phase.bytes)},
            {"fraction_of_copy",
             known ? number(phase.bytes / phase.seconds / copy_bandwidth) : Json(nullptr)},
            {"sampled", phase.sampled}};
}

}  // namespace

std::string to_json(const RunReport& report) {
    const SolveReport& solve = report.solve;
    Json residuals = Json::array();
    for (const double residual : solve.residuals) residuals.push_back(number(residual));
    Json phases = Json::array();
    for (const PhaseRecord& phase : report.phases) {
        phases.push_back(phase_json(phase, report.copy_bandwidth));
    }
    Json json = {
        {"schema", "tessera-run/2"},
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
        {"blocks",
         {{"count", report.setup.blocks},
          {"largest", report.setup.largest_block},
          {"singular", report.singular_blocks}}},
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
        {"copy_bytes_per_second",
         report.copy_bandwidth > 0 ? number(report.copy_bandwidth) : Json(nullptr)},
        {"forward_error", report.forward_error < 0 ? Json(nullptr) : number(report.forward_error)}};
    if (!report.attempts.empty()) {
        Json attempts = Json::array();
        for (const RunReport::Tried& tried : report.attempts) {
            attempts.push_back({{"solver", tried.solver},
                                {"preconditioner", tried.preconditioner},
                                {"format", tried.format},
                                {"reason", tried.reason},
                                {"iterations", tried.iterations}});
        }
        json["attempts"] = std::move(attempts);
    }
    if (!report.setup.warnings.empty()) json["warnings"] = report.setup.warnings;
    const Json groups = to_json(report.setup.values);
    for (const auto& [group, values] : groups.items()) json[group].update(values);
    if (report.structure.nodes > 0) {
        Json defaults = Json::object();
        for (const auto& [name, value] : report.structure.defaults) defaults[name] = value;
        json["structure"] = {
            {"nodes", report.structure.nodes},
            {"elements", report.structure.elements},
            {"largest_displacement", number(report.structure.largest_displacement)},
            {"largest_von_mises", number(report.structure.largest_von_mises)},
            {"defaults", std::move(defaults)}};
    }
    // Names of files need not be UTF-8; invalid bytes are replaced.
    return json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace tessera::cli
