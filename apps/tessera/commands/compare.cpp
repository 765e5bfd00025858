#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "commands/commands.hpp"
#include "report/text.hpp"
#include "run/output.hpp"
#include "tessera/io.hpp"

namespace tessera::cli {

namespace {

using Json = nlohmann::ordered_json;

/// Relative difference between runs of one program on an idle machine.
constexpr double same_within = 0.03;

/// Keys of measured values; all other keys identify the row.
const std::set<std::string> measured_keys = {
    "milliseconds",           "spread",  "gflops", "bytes",    "fraction_of_copy", "residual_ratio",
    "predicted_milliseconds", "variant", "chosen", "singular", "largest"};

struct Row {
    std::string name;  ///< All keys that identify it.
    double milliseconds = 0;
    double spread = 0;  ///< Interquartile range over the median.
};

struct Results {
    std::string title;
    std::string device;
    std::vector<Row> rows;
    int untimed = 0;
};

std::string text_of(const Json& value) {
    return value.is_string() ? value.get<std::string>() : value.dump();
}

/// Such as "invert tessera f64 n=16 batch=30000 uniform"; text values without their keys.
std::string name_of(const Json& row) {
    std::string name;
    for (const auto& [key, value] : row.items()) {
        if (measured_keys.contains(key) || value.is_null()) continue;
        const bool word = value.is_string() && key != "sizes";
        name += (name.empty() ? "" : " ") + (word ? "" : key + "=") + text_of(value);
    }
    return name;
}

Results read_results(const std::string& path) {
    std::ifstream file(path);
    std::stringstream text;
    if (!file || !(text << file.rdbuf())) {  // Nothing can be read of a folder, either.
        throw InvalidArgument(path +
                              " cannot be read, or is empty; name result files of "
                              "tessera-bench");
    }
    const Json json = Json::parse(text, nullptr, false);
    if (!json.is_object() || json.value("schema", Json()) != "tessera-bench/1" ||
        !json.contains("rows") || !json["rows"].is_array()) {
        throw InvalidArgument(path +
                              " holds no results of schema tessera-bench/1; tessera-bench "
                              "writes them with --json FILE");
    }
    Results results;
    const auto text_under = [&](const char* key) {
        return json.contains(key) ? text_of(json[key]) : std::string("unknown");
    };
    results.device = text_under("device");
    results.title = io::printable(text_under("commit") + ", " + results.device);
    std::map<std::string, int> seen;
    for (const Json& row : json["rows"]) {
        if (!row.is_object()) throw InvalidArgument(path + ": a row is not an object");
        const Json milliseconds = row.value("milliseconds", Json());
        if (!milliseconds.is_number() || !(milliseconds.get<double>() > 0)) {
            ++results.untimed;
            continue;
        }
        const Json spread = row.value("spread", Json());
        std::string name = io::printable(name_of(row));
        // Repeated measurements are numbered.
        if (const int turn = ++seen[name]; turn > 1) name += " #" + std::to_string(turn);
        results.rows.push_back({name, milliseconds.get<double>(),
                                spread.is_number() ? std::max(0.0, spread.get<double>()) : 0});
    }
    return results;
}

enum Outcome : int { slower, unclear, faster, same };
constexpr const char* outcome_names[] = {"SLOWER", "UNCLEAR", "FASTER", "SAME"};

Outcome compare_rows(const Row& before, const Row& after) {
    const double ratio = after.milliseconds / before.milliseconds;
    if (std::max(ratio, 1 / ratio) <= 1 + same_within) return same;
    const double half_ranges =
        (before.spread * before.milliseconds + after.spread * after.milliseconds) / 2;
    if (std::abs(after.milliseconds - before.milliseconds) <= half_ranges) return unclear;
    return ratio > 1 ? slower : faster;
}

struct Pair {
    Outcome outcome;
    const Row *before, *after;
    double ratio() const { return after->milliseconds / before->milliseconds; }
};

std::string line_of(const Pair& pair) {
    return format("%-8s %7.3f  %s  (%.4g ms, spread %.0f %% -> %.4g ms, spread %.0f %%)\n",
                  outcome_names[pair.outcome], pair.ratio(), pair.after->name.c_str(),
                  pair.before->milliseconds, 100 * pair.before->spread, pair.after->milliseconds,
                  100 * pair.after->spread);
}

std::string only_in(const char* which, const std::vector<const Row*>& rows) {
    std::string text;
    for (const Row* row : rows) text += std::string("only ") + which + "  " + row->name + "\n";
    return text;
}

}  // namespace

int compare(const CompareArguments& arguments) {
    const Results before = read_results(arguments.before), after = read_results(arguments.after);
    std::map<std::string, const Row*> known;
    for (const Row& row : before.rows) known[row.name] = &row;
    std::vector<Pair> pairs;
    std::vector<const Row*> only_before, only_after;
    for (const Row& row : after.rows) {
        const auto entry = known.find(row.name);
        if (entry == known.end()) {
            only_after.push_back(&row);
            continue;
        }
        pairs.push_back({compare_rows(*entry->second, row), entry->second, &row});
        known.erase(entry);
    }
    for (const Row& row : before.rows) {
        if (known.contains(row.name)) only_before.push_back(&row);
    }
    std::stable_sort(pairs.begin(), pairs.end(),
                     [](const Pair& a, const Pair& b) { return a.outcome < b.outcome; });

    std::string text = "old  " + before.title + "\nnew  " + after.title + "\n";
    if (before.device != after.device) text += "note: the devices differ\n";
    int counts[4] = {};
    for (const Pair& pair : pairs) {
        text += line_of(pair);
        ++counts[pair.outcome];
    }
    text += only_in("old", only_before) + only_in("new", only_after);
    text += format("%zu rows compared: %d slower, %d unclear, %d faster, %d same", pairs.size(),
                   counts[slower], counts[unclear], counts[faster], counts[same]);
    if (before.untimed + after.untimed > 0) {
        text += format("; without a time: %d old, %d new", before.untimed, after.untimed);
    }
    write_text("-", text + "\n");
    return counts[slower] > 0 ? exit_slower : exit_converged;
}

}  // namespace tessera::cli
