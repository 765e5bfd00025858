#include "report/report.hpp"

#include <nlohmann/json.hpp>

#include "support/messages.hpp"

namespace tessera::cli {
namespace {

using Json = nlohmann::ordered_json;
using test::expect_contains;

RunReport sample() {
    RunReport report;
    report.solver = "idr:4";
    report.preconditioner = "block_jacobi:32";
    report.device = "CPU, 2 threads, AVX2";
    report.threads = 2;
    report.matrix = {"ship \"2\".mtx", 1200, 34567};
    report.setup.blocks = 40;
    report.setup.largest_block = 32;
    report.solve.iterations = 17;
    report.solve.operator_applications = 86;
    report.solve.relative_residual = 0x1.2345678p-30;
    report.solve.true_relative_residual = 0x1.3p-30;
    report.solve.residuals = {1.0, 0.25, 0x1.2345678p-30};
    report.solve.restarts = 1;
    report.seconds = {0.5, 0.25, 0.125, 2.0};
    report.phases = {{"spmv", PhaseStep::solve, 86, 0.5, 2e9, false},
                     {"setup", PhaseStep::setup, 1, 0.125, 0, true}};
    report.copy_bandwidth = 8e9;
    report.peak_memory_bytes = 123456;
    return report;
}

std::vector<std::string> keys(const Json& object) {
    std::vector<std::string> names;
    for (const auto& [key, value] : object.items()) names.push_back(key);
    return names;
}

TEST(report, json_has_exactly_the_keys_of_its_schema) {
    const Json json = Json::parse(to_json(sample()));
    const std::vector<std::string> expected = {"schema",
                                               "version",
                                               "commit",
                                               "solver",
                                               "preconditioner",
                                               "device",
                                               "threads",
                                               "matrix",
                                               "blocks",
                                               "status",
                                               "message",
                                               "iterations",
                                               "operator_applications",
                                               "relative_residual",
                                               "true_relative_residual",
                                               "backward_error",
                                               "worst_row",
                                               "null_space_part",
                                               "residuals",
                                               "restarts",
                                               "recoveries",
                                               "seconds",
                                               "phases",
                                               "peak_memory_bytes",
                                               "copy_bytes_per_second",
                                               "forward_error"};
    EXPECT_EQ(keys(json), expected);
    EXPECT_EQ(keys(json["matrix"]),
              (std::vector<std::string>{"name", "rows", "nonzeros", "format"}));
    EXPECT_EQ(keys(json["blocks"]), (std::vector<std::string>{"count", "largest", "singular"}));
    EXPECT_EQ(keys(json["seconds"]),
              (std::vector<std::string>{"read", "find_blocks", "setup", "solve"}));
    EXPECT_EQ(keys(json["phases"][0]),
              (std::vector<std::string>{"name", "calls", "seconds", "bytes", "fraction_of_copy",
                                        "sampled"}));
}

/// Sample report of block Jacobi.
ReportValue block_sample() {
    const ReportValues formats = {{"f64", 3}, {"f32", 0}, {"f16", 37}};
    const ReportValues decades = {{"", 30}, {"", 0}, {"", 0}, {"", 0}, {"", 10}};
    const auto block = [](Offset at, Offset first, Offset rows, double condition) {
        return ReportValue{"", ReportValues{{"block", at},
                                            {"first_row", first},
                                            {"rows", rows},
                                            {"condition", condition},
                                            {"format", "f64"}}};
    };
    const ReportValues worst = {block(7, 12, 6, 3.25e4),
                                block(9, 40, 2, std::numeric_limits<double>::infinity())};
    return {"blocks", ReportValues{{"near_singular", 2},
                                   {"stored_bytes", 3000},
                                   {"working_bytes", 12000},
                                   {"rebuilds", 0},
                                   {"formats", formats},
                                   {"condition_decades", decades},
                                   {"worst", worst}}};
}

TEST(report, block_jacobi_lists_formats_and_conditions) {
    RunReport report = sample();
    report.setup.values = {block_sample()};
    const Json blocks = Json::parse(to_json(report))["blocks"];
    EXPECT_EQ(keys(blocks),
              (std::vector<std::string>{"count", "largest", "singular", "near_singular",
                                        "stored_bytes", "working_bytes", "rebuilds", "formats",
                                        "condition_decades", "worst"}));
    EXPECT_EQ(blocks["formats"]["f16"], 37);
    EXPECT_EQ(blocks["condition_decades"][4], 10);
    EXPECT_EQ(blocks["worst"][0]["first_row"], 12);
    EXPECT_EQ(blocks["worst"][0]["condition"], 3.25e4);
    EXPECT_TRUE(blocks["worst"][1]["condition"].is_null());
    const std::string table = to_table(report);
    EXPECT_NE(table.find("stored blocks   f64 3, f16 37; 3.0 kB, 75 % less than in full\n"),
              std::string::npos)
        << table;
    EXPECT_NE(table.find("conditions      1e0 30, 1e4 10; worst 3.2e+04 in rows 12..17\n"),
              std::string::npos)
        << table;
}

TEST(report, json_reads_back_equal) {
    const RunReport report = sample();
    const Json json = Json::parse(to_json(report));
    EXPECT_EQ(json["schema"], "tessera-run/2");
    EXPECT_EQ(json["version"], version());
    EXPECT_EQ(json["status"], "converged");
    EXPECT_EQ(json["matrix"]["name"], report.matrix.name);
    EXPECT_EQ(json["matrix"]["nonzeros"], report.matrix.nonzeros);
    EXPECT_EQ(json["iterations"], report.solve.iterations);
    EXPECT_EQ(json["relative_residual"].get<double>(), report.solve.relative_residual);
    EXPECT_EQ(json["residuals"].get<std::vector<double>>(), report.solve.residuals);
    EXPECT_EQ(json["phases"][0]["fraction_of_copy"], 0.5);
    EXPECT_TRUE(json["phases"][1]["fraction_of_copy"].is_null());
    EXPECT_TRUE(json["phases"][1]["sampled"].get<bool>());
    EXPECT_TRUE(json["forward_error"].is_null());
}

TEST(report, json_writes_null_for_what_is_not_finite) {
    RunReport report = sample();
    const double infinity = std::numeric_limits<double>::infinity();
    report.solve.status = Status::non_finite;
    report.solve.true_relative_residual = std::numeric_limits<double>::quiet_NaN();
    report.solve.relative_residual = -infinity;
    report.solve.residuals = {1.0, infinity};
    report.forward_error = infinity;
    report.copy_bandwidth = 0;
    const Json json = Json::parse(to_json(report));
    EXPECT_EQ(json["status"], "non_finite");
    EXPECT_TRUE(json["relative_residual"].is_null());
    EXPECT_TRUE(json["true_relative_residual"].is_null());
    EXPECT_TRUE(json["residuals"][1].is_null());
    EXPECT_EQ(json["residuals"][0], 1.0);
    EXPECT_TRUE(json["forward_error"].is_null());
    EXPECT_TRUE(json["copy_bytes_per_second"].is_null());
    EXPECT_TRUE(json["phases"][0]["fraction_of_copy"].is_null());
}

TEST(report, json_survives_a_name_that_is_not_utf8) {
    RunReport report = sample();
    report.matrix.name = "caf\xe9.mtx";
    const Json json = Json::parse(to_json(report));
    EXPECT_EQ(json["matrix"]["name"], "caf\xef\xbf\xbd.mtx");
}

TEST(report, values_of_any_preconditioner_are_shown) {
    RunReport report = sample();
    const ReportValues values = {{"order", 3}, {"shift", 0.5}, {"kind", "new"}};
    report.setup.values = {{"toy", values}};
    EXPECT_EQ(Json::parse(to_json(report))["toy"]["shift"], 0.5);
    EXPECT_NE(to_table(report).find("toy             order 3, shift 0.5, kind new\n"),
              std::string::npos)
        << to_table(report);
}

TEST(report, defaults_of_a_structure_are_said) {
    RunReport report = sample();
    report.structures.resize(1);
    report.structures[0].nodes = 8;
    EXPECT_EQ(to_table(report).find("defaults"), std::string::npos);
    EXPECT_EQ(Json::parse(to_json(report))["structure"]["defaults"], Json::object());
    report.structures[0].defaults = {{"young", 1}, {"poisson", 0.3}};
    expect_contains(to_table(report), "  defaults        --young 1, --poisson 0.3\n");
    EXPECT_EQ(Json::parse(to_json(report))["structure"]["defaults"]["poisson"], 0.3);
}

TEST(report, table_says_what_a_person_asks) {
    RunReport report = sample();
    report.forward_error = 0.125;
    const std::string table = to_table(report);
    EXPECT_TRUE(table.starts_with("converged in 17 iterations\n")) << table;
    for (const char* part :
         {"ship \"2\".mtx, 1200 rows, 34567 nonzeros", "idr:4", "block_jacobi:32 (40 blocks, ",
          "largest 32)", "CPU, 2 threads, AVX2", "86 products with A, 1 restart)", "1.250e-01",
          "solve 2.000", "123.5 kB", "spmv", "  50.0", "8.0 GB/s", "samples"}) {
        expect_contains(table, part);
    }
}

TEST(report, table_says_why_a_solve_failed) {
    RunReport report = sample();
    report.solve.status = Status::stagnated;
    report.solve.message = "no progress in 2000 iterations";
    expect_contains(to_table(report),
                    "NOT CONVERGED (stagnated) after 17 iterations: no progress in 2000");
    report.solve.status = Status::singular_block;
    report.solve.message = "3 of 40 blocks are singular";
    report.solve.true_relative_residual = std::numeric_limits<double>::quiet_NaN();
    report.singular_blocks = 3;
    const std::string table = to_table(report);
    expect_contains(table, "NOT CONVERGED (singular_block): 3 of 40 blocks are singular");
    expect_contains(table, "largest 32, 3 singular)");
    EXPECT_EQ(table.find("nan"), std::string::npos);
}

}  // namespace
}  // namespace tessera::cli
