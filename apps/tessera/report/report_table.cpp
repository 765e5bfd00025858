#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include <nlohmann/json.hpp>

#include "report/report.hpp"
#include "report/text.hpp"
#include "tessera/detail/report_json.hpp"
#include "tessera/io.hpp"

namespace tessera::cli {

namespace {

using Json = nlohmann::ordered_json;

std::string status_sentence(const SolveReport& solve) {
    const std::string iterations = plural(solve.iterations, "iteration");
    if (solve.status == Status::converged) return "converged in " + iterations;
    if (is_solved(solve.status)) return "solved in " + iterations + ": " + solve.message;
    std::string sentence = "NOT CONVERGED (" + std::string(to_string(solve.status)) + ")";
    if (solve.status != Status::singular_block) sentence += " after " + iterations;
    return solve.message.empty() ? sentence : sentence + ": " + solve.message;
}

std::string blocks_text(const RunReport& report) {
    if (report.setup.blocks == 0) return {};
    std::string result = " (" + plural(report.setup.blocks, "block") + ", largest " +
                         std::to_string(report.setup.largest_block);
    if (report.singular_blocks > 0) {
        result += ", " + std::to_string(report.singular_blocks) + " singular";
    }
    return result + ")";
}

/// The number; NaN for null.
double real(const Json& value) {
    return value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN();
}

/// "f16 120, f64 3; 12.3 MB, 70 % less than in full".
std::string block_precision_text(const Json& blocks) {
    std::string result;
    for (const auto& [format_name, count] : blocks["formats"].items()) {
        if (count == 0) continue;
        result += (result.empty() ? "" : ", ") + format_name + " " + count.dump();
    }
    const double stored = blocks["stored_bytes"], working = blocks["working_bytes"];
    result += "; " + format_bytes(stored);
    if (stored < working)
        result += format(", %.0f %% less than in full", 100 - 100 * stored / working);
    return result;
}

/// "1e0 120, 1e3 4; worst 3.1e+03 in rows 12..17".
std::string condition_text(const Json& blocks) {
    std::string result;
    int decade = 0;
    for (const Json& count : blocks["condition_decades"]) {
        if (count != 0) {
            result += format("%s1e%d %d", result.empty() ? "" : ", ", decade, count.get<int>());
        }
        ++decade;
    }
    if (!blocks["worst"].empty()) {
        const Json& worst = blocks["worst"][0];
        const Index first = worst["first_row"], rows = worst["rows"];
        const double condition = worst["condition"].is_null()
                                     ? std::numeric_limits<double>::infinity()
                                     : worst["condition"].get<double>();
        result += format("%sworst %.1e in rows %d..%d", result.empty() ? "" : "; ", condition,
                         first, first + rows - 1);
    }
    return result;
}

/// For example "degree 6 on [0, 2.31]", with the changes of its upper end.
std::string polynomial_text(const Json& polynomial) {
    std::string result = format("degree %d on [%.4g, %.4g]", polynomial["degree"].get<int>(),
                                real(polynomial["lower"]), real(polynomial["upper"]));
    if (const Offset raised = polynomial["recoveries"]; raised > 0) {
        result += "; its bound was raised " + plural(raised, "time") +
                  ", as it was not positive definite";
    }
    return result;
}

/// "2,500 block rows in 87 levels (rcm), 12,345 blocks (0.20 % of dense), 310 pairs, 62.1 MB".
std::string factor_text(const Json& ldlt) {
    return plural(ldlt["block_rows"], "block row") + " in " + plural(ldlt["levels"], "level") +
           " (" + ldlt["ordering"].get<std::string>() + "), " +
           plural(ldlt["stored_blocks"], "stored block") +
           format(" (%.2f %% of dense), ", 100 * real(ldlt["stored_share"])) +
           (ldlt["pairs"] > 0 ? plural(ldlt["pairs"], "pair") + ", " : "") +
           format_bytes(ldlt["bytes"]);
}

/// "jacobi, sweep 8 of 8, epsilon 0.07, 12 pivots raised, reconstruction error 2.1e-02".
std::string stage_text(const Json& ldlt) {
    std::string result = ldlt["stage"];
    if (result == "none") return result;
    const bool swept = result == "jacobi";
    if (swept) {
        result +=
            format(", sweep %d of %d", ldlt["best_sweep"].get<int>(), ldlt["sweeps"].get<int>());
    }
    result += format(", epsilon %.2g, ", real(ldlt["epsilon"])) +
              plural(ldlt["perturbed"], "pivot") + " raised";
    std::vector<double> errors;
    for (const Json& error : ldlt["reconstruction"]) errors.push_back(real(error));
    if (!errors.empty()) {
        result += format(", reconstruction error %.1e",
                         swept ? *std::ranges::min_element(errors) : errors.back());
    }
    return result;
}

/// "21296 x 3, 912 x 6 unknowns; operator complexity 1.39; values f16; near-null space rigid_body".
std::string hierarchy_text(const Json& values) {
    std::string result;
    for (const Json& level : values["levels"]) {
        result +=
            (result.empty() ? "" : ", ") + level["nodes"].dump() + " x " + level["block"].dump();
    }
    return result + " unknowns; operator complexity " +
           format("%.2f", values["operator_complexity"].get<double>()) + "; values " +
           values["values"].get<std::string>() + "; near-null space " +
           values["near_null"].get<std::string>();
}

/// "LDL^T, 886747 entries, 7.3 MB, 8.7e+07 operations, largest front 280; 3 negative eigenvalues",
/// or "..., row by row" for factors without fronts.
std::string direct_text(const Json& values) {
    const auto number = [&](const char* name) {
        return values.contains(name) ? values[name].get<Offset>() : Offset(0);
    };
    std::string result =
        values["factorisation"].get<std::string>() + ", " +
        std::to_string(number("factor_entries")) + " entries, " +
        format_bytes(double(number("factor_bytes"))) + ", " +
        format("%.1e", values["flops"].get<double>()) + " operations" +
        (number("fronts") == 0 ? ", row by row"
                               : ", largest front " + std::to_string(number("largest_front")));
    const auto add = [&](const char* name, const char* word) {
        if (number(name) > 0) result += "; " + plural(number(name), word);
    };
    add("negative_pivots", "negative eigenvalue");
    add("delayed_pivots", "delayed pivot");
    add("null_pivots", "null pivot");
    return result;
}

/// For example "degree 6, lower 0.1": for a preconditioner without a line of its own.
std::string plain_text(const Json& values) {
    std::string result;
    for (const auto& [name, value] : values.items()) {
        result += (result.empty() ? "" : ", ") + name + " " +
                  (value.is_string() ? value.get<std::string>() : value.dump());
    }
    return result;
}

std::string phase_table(const RunReport& report) {
    if (report.phases.empty()) return {};
    std::size_t width = 5;
    for (const PhaseRecord& phase : report.phases) width = std::max(width, phase.name.size());
    std::string table = format("\n  %-*s %10s %11s %10s %13s\n", int(width), "phase", "calls",
                               "seconds", "bytes", "% of copy BW");
    bool sampled = false;
    for (const PhaseRecord& phase : report.phases) {
        table += format("  %-*s %10lld %11.6f", int(width), phase.name.c_str(),
                        static_cast<long long>(phase.calls), phase.seconds);
        if (phase.bytes > 0) {
            table += format(" %10s", format_bytes(phase.bytes).c_str());
            if (phase.seconds > 0 && report.copy_bandwidth > 0) {
                table +=
                    format(" %13.1f", 100 * phase.bytes / phase.seconds / report.copy_bandwidth);
            }
        }
        table += '\n';
        sampled = sampled || phase.sampled;
    }
    if (report.copy_bandwidth > 0) {
        table += "  copy BW: measured bandwidth of a large memory copy, " +
                 format_bytes(report.copy_bandwidth) + "/s\n";
    }
    if (sampled) table += "  calls and seconds are samples: work in CUDA graphs is not timed\n";
    return table;
}

using Line = std::function<void(const char* name, const std::string& what)>;

void add_devices(const RunReport& report, const Line& line) {
    if (report.devices.empty()) return;
    line("partition", "by " + report.partition + format(", in %.3f s", report.partition_seconds));
    for (std::size_t k = 0; k < report.devices.size(); ++k) {
        const DeviceShare& share = report.devices[k];
        line(("device " + std::to_string(k)).c_str(),
             plural(share.rows, "row") + ", " + plural(share.nonzeros, "nonzero") + ", " +
                 plural(share.neighbours, "neighbour") + ", receives " +
                 format_bytes(double(share.received_bytes)) + " a product, peak memory " +
                 format_bytes(double(share.peak_memory_bytes)) +
                 format(", dealt in %.3f s, set up in %.3f s, waited %.3f s in all",
                        share.deal_seconds, share.setup_seconds, share.wait_seconds));
    }
}

/// What load cases share.
void add_mesh(const RunReport::Structure& structure, const Line& line) {
    const std::string& plane = structure.plane;
    line("mesh", plural(structure.nodes, "node") + ", " + plural(structure.elements, "element") +
                     (plane == "strain"         ? ", plane strain"
                      : plane == "axisymmetric" ? ", axisymmetric"
                                                : ""));
    std::string defaults;
    for (const auto& [name, value] : structure.defaults) {
        defaults += (defaults.empty() ? "--" : ", --") + name + format(" %g", value);
    }
    if (!defaults.empty()) line("defaults", defaults);
}

/// The results of a load case.
void add_results(const RunReport::Structure& structure, const Line& line) {
    const auto vector = [&](const std::array<double, 3>& force) {
        return structure.dimensions == 2
                   ? format("(%.6g, %.6g)", force[0], force[1])
                   : format("(%.6g, %.6g, %.6g)", force[0], force[1], force[2]);
    };
    const auto resultant = [&](const elasticity::Resultant& sum) {
        return "force " + vector(sum.force) + ", moment " +
               (structure.dimensions == 2 ? format("%.6g", sum.moment[2]) : vector(sum.moment));
    };
    const auto largest = [&](const RunReport::Structure::Largest& found) {
        return format("largest %.6g", found.value) + " at " + vector(found.at);
    };
    if (!structure.load_case.empty()) line("case", structure.load_case);
    line("displacement", largest(structure.displacement));
    for (const auto& [group, displacement] : structure.points) {
        line("displacement", vector(displacement) + " of " + group);
    }
    if (structure.has_reactions) line("loads", resultant(structure.loads));
    for (const auto& [group, sum] : structure.reactions) {
        line("reactions", resultant(sum) + " on " + group);
    }
    for (const auto& [name, sum] : structure.constraints) {
        line("constraints", resultant(sum) + " of " + name);
    }
    for (const auto& [group, section] : structure.sections) {
        line("section", resultant(section.sum) + " about " + vector(section.centre) +
                            ", of what lies ahead along " + vector(section.normal) + " of " +
                            group);
    }
    line("von Mises", largest(structure.von_mises));
    line("strain energy", format("%.6g, estimated error of the mesh %.2g %% of the energy norm",
                                 structure.strain_energy, 100 * structure.error_estimate));
}

}  // namespace

std::string to_table(const RunReport& report) {
    const SolveReport& solve = report.solve;
    std::string table = io::printable(status_sentence(solve)) + "\n";
    const auto line = [&](const char* name, const std::string& what) {
        table += format("  %-15s %s\n", name, io::printable(what).c_str());
    };
    line("matrix", report.matrix.name + ", " + plural(report.matrix.rows, "row") + ", " +
                       plural(report.matrix.nonzeros, "nonzero") +
                       (report.matrix.format == "csr" ? "" : ", as " + report.matrix.format));
    line("solver", report.solver);
    line("preconditioner", report.preconditioner + blocks_text(report));
    if (!report.attempts.empty()) line("reason", report.attempts.back().reason);
    const Json values = detail::json_of<Json>(report.setup.values);
    for (const auto& [group, entries] : values.items()) {
        if (group == "blocks" && report.setup.blocks > 0) {
            line("stored blocks", block_precision_text(entries));
            line("conditions", condition_text(entries));
        } else if (group == "amg") {
            line("levels", hierarchy_text(entries));
        } else if (group == "direct") {
            line("factors", direct_text(entries));
        } else if (group == "polynomial") {
            line("polynomial", polynomial_text(entries));
        } else if (group == "block_ldlt" || group == "ilu") {
            line("factor", factor_text(entries));
            line("stage", stage_text(entries));
            line("safeguard", entries["outcome"]);
        } else {
            line(group.c_str(), plain_text(entries));
        }
    }
    line("device", report.device);
    add_devices(report, line);
    line("iterations", std::to_string(solve.iterations) + " (" +
                           plural(solve.operator_applications, "product") + " with A, " +
                           plural(solve.restarts, "restart") + ")");
    if (!std::isnan(solve.true_relative_residual)) {
        line("residual", format("%.3e (recursive %.3e)", solve.true_relative_residual,
                                solve.relative_residual));
    }
    if (!std::isnan(solve.backward_error)) {
        line("backward error", format("%.3e (row %lld)", solve.backward_error,
                                      static_cast<long long>(solve.worst_row)));
    }
    if (!report.structures.empty()) add_mesh(report.structures.front(), line);
    for (const RunReport::Structure& structure : report.structures) {
        add_results(structure, line);
    }
    if (report.right_hand_sides > 1) {
        line("right sides", format("%d, %d solved; the numbers here are those of the worst",
                                   report.right_hand_sides, report.solved_right_hand_sides));
    }
    if (report.forward_error >= 0) line("forward error", format("%.3e", report.forward_error));
    line("seconds",
         format("read %.3f, find blocks %.3f, setup %.3f, solve %.3f", report.seconds.read,
                report.seconds.find_blocks, report.seconds.setup, report.seconds.solve));
    line("peak memory", format_bytes(double(report.peak_memory_bytes)));
    return table + phase_table(report);
}

}  // namespace tessera::cli
