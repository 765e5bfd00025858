#include <nlohmann/json.hpp>

#include "report/report.hpp"
#include "tessera/detail/report_json.hpp"

namespace tessera::cli {

namespace {

using Json = nlohmann::ordered_json;

Json number(double value) { return detail::json_number<Json>(value); }

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

void add_devices(const RunReport& report, Json& json) {
    if (report.devices.empty()) return;
    json["partition"] = {{"by", report.partition}, {"seconds", number(report.partition_seconds)}};
    for (const DeviceShare& share : report.devices) {
        json["devices"].push_back({{"device", share.device},
                                   {"rows", share.rows},
                                   {"nonzeros", share.nonzeros},
                                   {"neighbours", share.neighbours},
                                   {"received_bytes", share.received_bytes},
                                   {"peak_memory_bytes", share.peak_memory_bytes},
                                   {"deal_seconds", number(share.deal_seconds)},
                                   {"setup_seconds", number(share.setup_seconds)},
                                   {"wait_seconds", number(share.wait_seconds)}});
    }
}

/// Adds the results of a load case.
void add_results(const RunReport::Structure& structure, Json& json) {
    const auto vector = [&](const std::array<double, 3>& force) {
        Json components = Json::array();
        for (int i = 0; i < structure.dimensions; ++i) {
            components.push_back(number(force[std::size_t(i)]));
        }
        return components;
    };
    json["largest_displacement"] = number(structure.displacement.value);
    json["largest_displacement_at"] = vector(structure.displacement.at);
    json["largest_von_mises"] = number(structure.von_mises.value);
    json["largest_von_mises_at"] = vector(structure.von_mises.at);
    json["strain_energy"] = number(structure.strain_energy);
    json["error_estimate"] = number(structure.error_estimate);
    for (const auto& [group, displacement] : structure.points) {
        json["points"].push_back({{"group", group}, {"displacement", vector(displacement)}});
    }
    const auto moment = [&](const elasticity::Resultant& sum) {
        return structure.dimensions == 2 ? number(sum.moment[2]) : vector(sum.moment);
    };
    for (const auto& [group, section] : structure.sections) {
        json["sections"].push_back({{"group", group},
                                    {"normal", vector(section.normal)},
                                    {"centre", vector(section.centre)},
                                    {"force", vector(section.sum.force)},
                                    {"moment", moment(section.sum)}});
    }
    if (!structure.has_reactions) return;
    json["loads"] = vector(structure.loads.force);
    json["loads_moment"] = moment(structure.loads);
    json["reactions"] = Json::array();
    for (const auto& [group, sum] : structure.reactions) {
        json["reactions"].push_back(
            {{"group", group}, {"force", vector(sum.force)}, {"moment", moment(sum)}});
    }
    for (const auto& [name, sum] : structure.constraints) {
        json["constraints"].push_back(
            {{"name", name}, {"force", vector(sum.force)}, {"moment", moment(sum)}});
    }
}

/// Size and results of a system made from a mesh.
Json structure_json(const std::vector<RunReport::Structure>& structures) {
    const RunReport::Structure& first = structures.front();
    Json defaults = Json::object();
    for (const auto& [name, value] : first.defaults) defaults[name] = value;
    Json json = {
        {"nodes", first.nodes}, {"elements", first.elements}, {"defaults", std::move(defaults)}};
    if (!first.plane.empty()) json["plane"] = first.plane;
    for (const RunReport::Structure& structure : structures) {
        if (structure.load_case.empty()) {
            add_results(structure, json);
        } else {
            Json results = {{"name", structure.load_case}};
            add_results(structure, results);
            json["cases"].push_back(std::move(results));
        }
    }
    return json;
}

}  // namespace

std::string to_json(const RunReport& report) {
    Json json = {{"schema", "tessera-run/2"},
                 {"version", version()},
                 {"commit", commit()},
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
                   {"singular", report.singular_blocks}}}};
    detail::add_fields(json, report.solve, report.setup);
    json.erase("setup_seconds");  // In these.
    json["seconds"] = {{"read", number(report.seconds.read)},
                       {"find_blocks", number(report.seconds.find_blocks)},
                       {"setup", number(report.seconds.setup)},
                       {"solve", number(report.seconds.solve)}};
    add_devices(report, json);
    json["phases"] = Json::array();
    for (const PhaseRecord& phase : report.phases) {
        json["phases"].push_back(phase_json(phase, report.copy_bandwidth));
    }
    json["peak_memory_bytes"] = report.peak_memory_bytes;
    json["copy_bytes_per_second"] =
        report.copy_bandwidth > 0 ? number(report.copy_bandwidth) : Json(nullptr);
    if (report.right_hand_sides > 1) {
        json["right_hand_sides"] = report.right_hand_sides;
        json["solved_right_hand_sides"] = report.solved_right_hand_sides;
    }
    json["forward_error"] = report.forward_error < 0 ? Json(nullptr) : number(report.forward_error);
    for (const RunReport::Tried& tried : report.attempts) {
        json["attempts"].push_back({{"solver", tried.solver},
                                    {"preconditioner", tried.preconditioner},
                                    {"format", tried.format},
                                    {"reason", tried.reason},
                                    {"iterations", tried.iterations}});
    }
    if (!report.structures.empty()) json["structure"] = structure_json(report.structures);
    // Names of files need not be UTF-8; invalid bytes are replaced.
    return json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace tessera::cli
