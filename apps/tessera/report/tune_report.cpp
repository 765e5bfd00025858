#include "report/tune_report.hpp"

#include <charconv>

#include "report/text.hpp"
#include "tessera/io.hpp"

namespace tessera::cli {

namespace {

/// The shortest text that is read as the same number.
std::string shortest(double number) {
    char digits[32];
    return {digits, std::to_chars(digits, digits + sizeof digits, number).ptr};
}

/// The command that solves with `trial`.
std::string command(const TuneReport& report, const Trial& trial) {
    const SolveArguments& given = report.given;
    const SolveArguments usual;
    std::string text = "tessera solve " + shell_file(given.matrix);
    const auto add = [&](const char* option, const std::string& value, bool wanted) {
        if (wanted) text += std::string(" ") + option + " " + shell_word(value);
    };
    for (const auto& [option, value] : given.mesh.given_options()) add(option.c_str(), value, true);
    add("--rhs", given.right_hand_side, !given.right_hand_side.empty());
    add("--seed", std::to_string(given.seed), given.seed != usual.seed);
    add("--solver", trial.solver, true);
    add("--precond", trial.preconditioner, true);
    add("--side", given.side, given.side != usual.side);
    add("--rtol", shortest(given.rtol), given.rtol != usual.rtol);
    add("--atol", shortest(given.atol), given.atol != usual.atol);
    add("--max-iterations", std::to_string(given.max_iterations),
        given.max_iterations != usual.max_iterations);
    add("--stagnation-window", std::to_string(given.stagnation_window),
        given.stagnation_window != usual.stagnation_window);
    add("--device", given.device, given.device != usual.device);
    add("--threads", std::to_string(given.threads), given.threads != usual.threads);
    add("--precision", given.precision, given.precision != usual.precision);
    if (given.allow_singular) text += " --allow-singular";
    if (given.allow_empty_rows) text += " --allow-empty-rows";
    return text;
}

std::string trial_table(const TuneReport& report) {
    int width = int(std::string_view("preconditioner").size());
    int solver_width = int(std::string_view("solver").size());
    for (const std::vector<Trial>* trials : {&report.trials, &report.untried}) {
        for (const Trial& trial : *trials) {
            width = std::max(width, int(trial.preconditioner.size()));
            solver_width = std::max(solver_width, int(trial.solver.size()));
        }
    }
    const auto name = [&](const std::string& preconditioner, const std::string& solver) {
        return format("  %-*s %-*s", width, preconditioner.c_str(), solver_width, solver.c_str());
    };
    std::string text = name("preconditioner", "solver") + format(" %9s %7s %10s %9s %10s %10s\n",
                                                                 "blocks", "largest", "setup s",
                                                                 "cycles", "solve s", "total s");
    std::vector<Trial> ranked = report.trials;
    std::ranges::stable_sort(ranked, [](const Trial& a, const Trial& b) {
        if (a.converged() != b.converged()) return a.converged();
        return a.converged() && a.seconds() < b.seconds();
    });
    for (const Trial& trial : ranked) {
        const auto count = [](Offset n) { return n > 0 ? std::to_string(n) : "-"; };
        text += name(trial.preconditioner, trial.solver) +
                format(" %9s %7s %10.4f", count(trial.blocks).c_str(),
                       count(trial.largest_block).c_str(), trial.setup);
        if (trial.totals.empty()) {
            text += format(" %9s %10s %10s", "-", "-", "-");
        } else {
            text += format(" %9lld %10.4f %10.4f", static_cast<long long>(trial.solve.iterations),
                           trial.seconds() - trial.setup, trial.seconds());
        }
        text += "  " + outcome_text(trial) + "\n";
    }
    for (const Trial& trial : report.untried) {
        text += name(trial.preconditioner, trial.solver) +
                " not tried: " + (report.interrupted ? "interrupted" : "there was no time left") +
                "\n";
    }
    return text;
}

}  // namespace

/// The fastest converged trial; if none converged, that with the smallest residual. nullptr: none
/// ran.
const Trial* best_of(const std::vector<Trial>& trials) {
    const auto better = [](const Trial& a, const Trial& b) {
        if (a.converged() != b.converged()) return a.converged();
        if (a.converged()) return a.seconds() < b.seconds();
        return a.solve.true_relative_residual < b.solve.true_relative_residual;
    };
    const Trial* best = nullptr;
    for (const Trial& trial : trials) {
        if (!trial.totals.empty() && (best == nullptr || better(trial, *best))) best = &trial;
    }
    return best;
}

std::string outcome_text(const Trial& trial) {
    if (!trial.same_as.empty()) return "same blocks as " + trial.same_as;
    if (trial.does_not_fit) return "does not fit in memory";
    if (trial.cut_short) return "slower";
    return to_string(trial.solve.status);
}

std::string to_table(const TuneReport& report) {
    std::string text =
        format("%s, %d rows, %lld nonzeros on %s\n", io::printable(report.matrix).c_str(),
               report.rows, static_cast<long long>(report.nonzeros), report.device.c_str());
    text += trial_table(report);
    const Trial* best = best_of(report.trials);
    if (best == nullptr) return text + "No trial could be run.\n";
    if (best->converged()) return text + "The fastest:\n  " + command(report, *best) + "\n";
    return text +
           format("None converged; the smallest residual, %.2e, came from\n  ",
                  best->solve.true_relative_residual) +
           command(report, *best) + "\n";
}

std::string to_json(const TuneReport& report) {
    const Trial* best = best_of(report.trials);
    std::vector<JsonObject> rows;
    for (const Trial& trial : report.trials) {
        JsonObject row;
        row.add("preconditioner", trial.preconditioner)
            .add("solver", trial.solver)
            .add("blocks", trial.blocks)
            .add("largest", trial.largest_block)
            .add("setup_seconds", trial.setup)
            .add("iterations", trial.solve.iterations)
            .add("runs", Offset(trial.totals.size()))
            .add("true_relative_residual", trial.solve.true_relative_residual)
            .add("status", outcome_text(trial));
        if (!trial.totals.empty()) row.add("total_seconds", trial.seconds());
        rows.push_back(row);
    }
    JsonObject object;
    object.add("schema", "tessera-tune/1")
        .add("version", version())
        .add("commit", commit())
        .add("device", report.device)
        .add("matrix", report.matrix)
        .add("rows", Offset(report.rows))
        .add("nonzeros", report.nonzeros)
        .add("budget_seconds", report.budget)
        .add("seconds", report.seconds)
        .add("converged", best != nullptr && best->converged());
    if (best != nullptr) {
        object.add("best", best->preconditioner)
            .add("solver", best->solver)
            .add("command", command(report, *best));
    }
    std::vector<JsonObject> untried;
    for (const Trial& trial : report.untried) {
        untried.push_back(
            JsonObject().add("preconditioner", trial.preconditioner).add("solver", trial.solver));
    }
    return object.add("trials", rows).add("not_tried", untried).text() + "\n";
}

}  // namespace tessera::cli
