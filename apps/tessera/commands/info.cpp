#include <array>
#include <cstdio>
#include <filesystem>
#include <map>

#include "commands/checks.hpp"
#include "commands/commands.hpp"
#include "commands/singular_blocks.hpp"
#include "report/text.hpp"
#include "run/interrupt.hpp"
#include "run/output.hpp"
#include "system/matrix_statistics.hpp"
#include "system/system.hpp"
#include "tessera/tessera.hpp"

namespace tessera::cli {

namespace {

constexpr std::array<Index, 4> bounds = {4, 8, 16, 32};

/// Sizes of the blocks of one partition and how often each occurs.
using Histogram = std::map<Index, Offset>;

Histogram histogram(const BlockPartition& blocks) {
    Histogram sizes;
    const Index* const offsets = blocks.block_offsets.data();
    for (Index b = 0; b < blocks.count; ++b) ++sizes[offsets[b + 1] - offsets[b]];
    return sizes;
}

/// The diagonal blocks that a bound on their rows leads to.
struct BoundStatistics {
    Index bound = 0;
    Histogram sizes;
    Offset inverse_bytes = 0;
    Index singular = 0;  ///< Number of singular blocks.
};

/// A matrix format for products.
struct NamedFormat {
    std::string name;
    FormatStatistics statistics;
};

/// What auto does on a backend.
struct Choice {
    std::string device;
    std::vector<Attempt> attempts;
};

/// The output of `tessera info` for a matrix.
struct MatrixInfo {
    std::string name, format, field;
    Offset rows = 0, columns = 0, nonzeros = 0, csr_bytes = 0;
    Offset duplicates = 0;
    RowStatistics row;
    bool square = false;
    SymmetryStatistics symmetry;
    bool symmetric = false;  ///< Symmetric up to rounding.
    DiagonalStatistics diagonal;
    Histogram natural;
    std::vector<BoundStatistics> agglomerated;
    std::vector<NamedFormat> formats;
    bool known_singular = false;
    std::vector<Choice> choices;
    std::string suggestion;
};

BoundStatistics find_bound(const Context& host, const CsrView<double>& matrix, Index bound) {
    BlockPartition blocks = find_blocks(host, matrix, bound);
    BoundStatistics result{bound, histogram(blocks), blocks.entries * Offset(sizeof(double)), 0};
    result.singular = BlockJacobi<double>(host, matrix, std::move(blocks)).singular_blocks();
    return result;
}

/// One format of each kind, with the natural block of the matrix and slices for a GPU.
std::vector<NamedFormat> find_formats(const Context& host, const CsrView<double>& matrix) {
    const auto statistics_of = [&](const std::string& name) {
        return format_statistics(host, matrix, parse_format(Spec(name)));
    };
    const std::string block = std::to_string(statistics_of("sbell,slice=32").block);
    std::vector<NamedFormat> formats;
    for (const std::string& name :
         {std::string("csr"), std::string("ell"), std::string("sell:32,sort_window=1"),
          "bell:" + block, "bcsr:" + block, "sbell:" + block + ",slice=32,sort_window=1",
          "sbell:" + block + ",slice=32,sort_window=all"}) {
        formats.push_back({name, statistics_of(name)});
    }
    return formats;
}

/// The attempts of auto on the CPU and on a GPU.
std::vector<Choice> find_choices(MatrixFacts facts) {
    std::vector<Choice> choices;
    for (const bool on_gpu : {false, true}) {
        facts.on_gpu = on_gpu;
        choices.push_back({on_gpu ? "cuda" : "cpu", choose(facts, "auto", "auto", "auto")});
    }
    return choices;
}

std::string suggest(const InfoArguments& arguments, const MatrixInfo& info) {
    std::string command = "tessera solve " + shell_file(arguments.matrix);
    // Few right-hand sides have a solution.
    if (info.row.empty > 0) command += " --rhs solution:random";
    if (info.known_singular) command += " --allow-singular";
    if (arguments.allow_empty_rows) command += " --allow-empty-rows";
    return command;
}

MatrixInfo gather(const InfoArguments& arguments) {
    const Context host = Context::cpu(arguments.threads);
    const System<double> system = load_system<double>(
        host, arguments.matrix, arguments.allow_empty_rows, &arguments.mesh, false);
    const CsrView<double> matrix = system.matrix.view();
    MatrixInfo info;
    info.name = system.name;
    info.format = system.file.format.empty() ? "generated" : system.file.format;
    info.field = system.file.field;
    info.duplicates = system.file.duplicates;
    info.rows = matrix.rows;
    info.columns = matrix.columns;
    info.nonzeros = matrix.nonzeros;
    info.csr_bytes =
        Offset(matrix.row_offsets_span().size_bytes() + matrix.column_indices_span().size_bytes() +
               matrix.values_span().size_bytes());
    info.row = find_rows(matrix);
    info.square = matrix.rows == matrix.columns;
    info.known_singular = system.known_singular;
    info.formats = find_formats(host, matrix);
    if (!info.square) return info;
    info.symmetry = find_symmetry(matrix);
    const MatrixFacts facts = find_facts(host, matrix, *system.coordinates);
    info.symmetric = facts.symmetric;
    info.diagonal = find_diagonal(matrix);
    info.natural = histogram(find_blocks(host, matrix, default_block_bound, Blocking::natural));
    if (info.nonzeros == 0) return info;
    for (const Index bound : bounds) {
        info.agglomerated.push_back(find_bound(host, matrix, bound));
    }
    info.choices = find_choices(facts);
    info.suggestion = suggest(arguments, info);
    return info;
}

double mean_row(const MatrixInfo& info) {
    return info.rows > 0 ? double(info.nonzeros) / double(info.rows) : 0;
}

Offset block_count(const Histogram& sizes) {
    Offset count = 0;
    for (const auto& [size, number] : sizes) count += number;
    return count;
}

/// For example "1 x 12, 3 x 400": size 12 once, size 3 400 times; the ten most frequent.
std::string histogram_text(const Histogram& sizes) {
    std::multimap<Offset, Index, std::greater<>> frequent;
    for (const auto& [size, number] : sizes) frequent.emplace(number, size);
    std::string text;
    std::size_t shown = 0;
    for (const auto& [number, size] : frequent) {
        if (shown++ == 10) return text + ", ...";
        text += (text.empty() ? "" : ", ") +
                format("%lld of size %d", static_cast<long long>(number), size);
    }
    return text;
}

const char* yes_no(bool yes) { return yes ? "yes" : "no"; }

std::string formats_table(const std::vector<NamedFormat>& formats) {
    std::string table = format("\n  %-30s %8s %6s %14s %14s\n", "format", "padding", "index",
                               "memory", "product reads");
    for (const NamedFormat& one : formats) {
        table +=
            format("  %-30s %8.2f %6d %14s %14s\n", one.name.c_str(), one.statistics.padding(),
                   one.statistics.index_bits, format_bytes(double(one.statistics.bytes)).c_str(),
                   format_bytes(double(one.statistics.matrix_bytes_per_product)).c_str());
    }
    return table;
}

std::string choices_table(const std::vector<Choice>& choices) {
    std::string table = "\n  auto chooses\n";
    for (const Choice& choice : choices) {
        std::string before = choice.device;
        for (const Attempt& attempt : choice.attempts) {
            table += format("  %-6s%s\n", before.c_str(), attempt_text(attempt).c_str());
            before = "then";
        }
    }
    return table;
}

std::string to_table(const MatrixInfo& info) {
    std::string table = io::printable(info.name) + "\n";
    const auto line = [&](const char* name, const std::string& what) {
        table += format("  %-16s %s\n", name, io::printable(what).c_str());
    };
    const auto number = [](Offset value) { return std::to_string(value); };
    line("format",
         info.format + (info.field.empty() ? "" : ", " + info.field) +
             (info.duplicates > 0 ? ", duplicates summed: " + number(info.duplicates) : ""));
    line("size", number(info.rows) + " x " + number(info.columns) + ", " + number(info.nonzeros) +
                     " nonzeros");
    line("entries per row",
         "min " + number(info.row.min) + ", mean " + format("%.1f", mean_row(info)) + ", max " +
             number(info.row.max) +
             (info.row.empty > 0 ? ", " + number(info.row.empty) + " rows empty" : ""));
    line("bandwidth", number(info.row.lower_bandwidth) + " below, " +
                          number(info.row.upper_bandwidth) + " above the diagonal");
    line("memory as CSR", format_bytes(double(info.csr_bytes)));
    if (!info.square) {
        return table + "  not square: no systems can be solved\n" + formats_table(info.formats);
    }
    std::string values = info.symmetry.exact() ? "yes" : info.symmetric ? "up to rounding" : "no";
    if (info.symmetry.pattern && !info.symmetry.exact()) {
        values +=
            format(" (largest difference %.1e of the largest entry)", info.symmetry.asymmetry);
    }
    line("symmetric",
         std::string("pattern ") + yes_no(info.symmetry.pattern) + ", values " + values);
    line("diagonal", number(info.diagonal.missing) + " missing, " + number(info.diagonal.zero) +
                         " zero, " + number(info.diagonal.negative) + " negative");
    if (info.nonzeros == 0) return table + "  no nonzeros: no systems can be solved\n";
    if (info.row.empty > 0) {
        line("singular", "empty rows: b must be 0 in them, and x is not unique");
    }
    line("natural blocks", number(block_count(info.natural)) + ": " + histogram_text(info.natural));
    table += format("\n  %-16s %10s %8s %14s %10s\n", "block_jacobi", "blocks", "largest",
                    "inverses", "singular");
    for (const BoundStatistics& statistics : info.agglomerated) {
        table +=
            format("  bound %-10d %10lld %8d %14s %10d\n", statistics.bound,
                   static_cast<long long>(block_count(statistics.sizes)),
                   statistics.sizes.empty() ? 0 : statistics.sizes.rbegin()->first,
                   format_bytes(double(statistics.inverse_bytes)).c_str(), statistics.singular);
    }
    return table + formats_table(info.formats) + choices_table(info.choices) +
           "\nTry: " + info.suggestion + "\n";
}

JsonObject histogram_json(const Histogram& sizes) {
    JsonObject json;
    for (const auto& [size, number] : sizes) json.add(std::to_string(size), number);
    return json;
}

std::string to_json(const MatrixInfo& info) {
    std::vector<JsonObject> agglomerated;
    for (const BoundStatistics& statistics : info.agglomerated) {
        agglomerated.push_back(JsonObject()
                                   .add("bound", Offset(statistics.bound))
                                   .add("count", block_count(statistics.sizes))
                                   .add("sizes", histogram_json(statistics.sizes))
                                   .add("inverse_bytes", statistics.inverse_bytes)
                                   .add("singular", Offset(statistics.singular)));
    }
    std::vector<JsonObject> formats;
    for (const NamedFormat& one : info.formats) {
        formats.push_back(JsonObject()
                              .add("format", one.name)
                              .add("padding", one.statistics.padding())
                              .add("index_bits", Offset(one.statistics.index_bits))
                              .add("bytes", one.statistics.bytes)
                              .add("read_bytes", one.statistics.matrix_bytes_per_product));
    }
    JsonObject json;
    json.add("schema", "tessera-info/2").add("version", version()).add("commit", commit());
    json.add("name", info.name).add("format", info.format).add("field", info.field);
    json.add("rows", info.rows).add("columns", info.columns).add("nonzeros", info.nonzeros);
    json.add("duplicates", info.duplicates);
    json.add("entries_per_row", JsonObject()
                                    .add("min", info.row.min)
                                    .add("mean", mean_row(info))
                                    .add("max", info.row.max)
                                    .add("empty_rows", info.row.empty));
    json.add("bandwidth", JsonObject()
                              .add("lower", Offset(info.row.lower_bandwidth))
                              .add("upper", Offset(info.row.upper_bandwidth)));
    json.add("csr_bytes", info.csr_bytes);
    json.add("formats", formats);
    if (info.square) {
        const double unknown = std::numeric_limits<double>::quiet_NaN();
        json.add("symmetry",
                 JsonObject()
                     .add("pattern", info.symmetry.pattern)
                     .add("values", info.symmetry.exact())
                     .add("up_to_rounding", info.symmetric)
                     .add("asymmetry", info.symmetry.pattern ? info.symmetry.asymmetry : unknown));
        json.add("diagonal", JsonObject()
                                 .add("missing", info.diagonal.missing)
                                 .add("zero", info.diagonal.zero)
                                 .add("negative", info.diagonal.negative));
        json.add("natural_blocks", JsonObject()
                                       .add("count", block_count(info.natural))
                                       .add("sizes", histogram_json(info.natural)));
        json.add("agglomerated_blocks", agglomerated);
        for (const Choice& choice : info.choices) {
            std::vector<JsonObject> attempts;
            for (const Attempt& attempt : choice.attempts) {
                attempts.push_back(JsonObject()
                                       .add("solver", attempt.solver)
                                       .add("preconditioner", attempt.preconditioner)
                                       .add("format", attempt.format)
                                       .add("max_iterations", attempt.max_iterations)
                                       .add("trial", attempt.trial)
                                       .add("reason", attempt.reason));
            }
            json.add("auto_" + choice.device, attempts);
        }
        if (!info.suggestion.empty()) json.add("suggestion", info.suggestion);
    }
    return json.text() + "\n";
}

}  // namespace

int info(const InfoArguments& arguments) {
    const InterruptNote note("examining " + arguments.matrix);
    check_output("--json", arguments.json, {arguments.matrix});
    std::error_code error;
    if (is_mesh_file(arguments.matrix) &&
        std::filesystem::is_regular_file(arguments.matrix, error)) {
        return mesh_info(arguments);
    }
    const MatrixInfo info = gather(arguments);
    if (!arguments.json.empty()) write_text(arguments.json, to_json(info));
    if (arguments.json != "-") write_text("-", to_table(info));
    return exit_converged;
}

}  // namespace tessera::cli
