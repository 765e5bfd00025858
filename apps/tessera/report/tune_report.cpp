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
    add("--solver", trial.given.solver, trial.given.solver != usual.solver);
    add("--precond", trial.given.preconditioner,
        trial.given.preconditioner != usual.preconditioner);
    add("--format", trial.given.format, trial.given.format != usual.format);
    add("--side", given.side, given.side != usual.side);
    if (given.rtol) add("--rtol", shortest(*given.rtol), true);
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
    std::vector<Trial> ranked = report.trials;
    std::ranges::stable_sort(ranked, [](const Trial& a, const Trial& b) {
        if (a.converged() != b.converged()) return a.converged();
        return a.converged() && a.seconds() < b.seconds();
    });
    std::size_t solver_width = 6, width = 14;
    for (const std::vector<Trial>* trials : {&report.trials, &report.untried}) {
        for (const Trial& trial : *trials) {
            solver_width = std::max(solver_width, trial.way.solver.size());
            width = std::max(width, trial.way.preconditioner.size());
        }
    }
    const auto name = [&](const std::string& solver, const std::string& preconditioner,
                          const std::string& form) {
        return format("  %-*s %-*s %-6s", int(solver_width), io::printable(solver).c_str(),
                      int(width), io::printable(preconditioner).c_str(),
                      io::printable(form).c_str());
    };
    std::string text =
        name("solver", "preconditioner", "format") +
        format(" %10s %10s %10s %10s\n", "setup s", "iterations", "solve s", "total s");
    for (const Trial& trial : ranked) {
        text += name(trial.way.solver, trial.way.preconditioner, trial.way.format);
        if (trial.totals.empty()) {
            text += format(" %10s %10s %10s %10s", "-", "-", "-", "-");
        } else {
            text += format(" %10.4f %10lld %10.4f %10.4f", trial.setup,
                           static_cast<long long>(trial.solve.iterations),
                           trial.seconds() - trial.setup, trial.seconds());
        }
        text += "  " + io::printable(outcome_text(trial)) + (trial.is_auto ? " (auto)" : "") + "\n";
    }
    for (const Trial& trial : report.untried) {
        text += name(trial.way.solver, trial.way.preconditioner, trial.way.format) +
                " not tried: " + (report.interrupted ? "interrupted" : "there was no time left") +
                "\n";
    }
    return text;
}

/// How auto compares with the fastest trial, a sentence and a new line, or empty.
std::string auto_text(const TuneReport& report, const Trial& best) {
    const auto choice = std::ranges::find_if(report.trials, &Trial::is_auto);
    if (choice == report.trials.end() || best.is_auto) return {};
    if (!choice->converged()) return "auto does not solve it.\n";
    return format("auto takes %.2f times as long.\n", choice->seconds() / best.seconds());
}

}  // namespace

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
    if (!trial.failure.empty()) return trial.failure;
    if (trial.cut_short) return "stopped (slower)";
    return to_string(trial.solve.status);
}

std::string to_table(const TuneReport& report) {
    std::string text =
        format("%s, %d rows, %lld nonzeros on %s\n", io::printable(report.matrix).c_str(),
               report.rows, static_cast<long long>(report.nonzeros), report.device.c_str());
    text += trial_table(report);
    const Trial* best = best_of(report.trials);
    const std::string remedy =
        report.untried.empty() || report.interrupted ? "" : "Give more time with --seconds.\n";
    if (best == nullptr) return text + "No trial could be run.\n" + remedy;
    if (best->converged()) {
        return text + auto_text(report, *best) + "The fastest:\n  " + command(report, *best) + "\n";
    }
    return text +
           format("None converged; the smallest residual, %.2e, came from\n  ",
                  best->solve.true_relative_residual) +
           command(report, *best) + "\n" + remedy;
}

std::string to_json(const TuneReport& report) {
    const Trial* best = best_of(report.trials);
    const auto words = [](const Trial& trial) {
        return JsonObject()
            .add("auto", trial.is_auto)
            .add("solver", trial.way.solver)
            .add("preconditioner", trial.way.preconditioner)
            .add("format", trial.way.format);
    };
    std::vector<JsonObject> rows;
    for (const Trial& trial : report.trials) {
        JsonObject row = words(trial);
        row.add("setup_seconds", trial.setup)
            .add("iterations", trial.solve.iterations)
            .add("runs", Offset(trial.totals.size()))
            .add("true_relative_residual", trial.solve.true_relative_residual)
            .add("status", outcome_text(trial));
        if (!trial.totals.empty()) row.add("total_seconds", trial.seconds());
        rows.push_back(row);
    }
    JsonObject object;
    object.add("schema", "tessera-tune/2")
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
        object.add("best", words(*best)).add("command", command(report, *best));
    }
    std::vector<JsonObject> untried;
    for (const Trial& trial : report.untried) untried.push_back(words(trial));
    return object.add("trials", rows).add("not_tried", untried).text() + "\n";
}

}  // namespace tessera::cli
