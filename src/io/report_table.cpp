#include <algorithm>
#include <array>
#include <cmath>
#include <cstdarg>
#include <cstdio>

#include "tessera/report.hpp"

namespace tessera {

namespace {

__attribute__((format(printf, 1, 2))) std::string text(const char* format, ...) {
    std::va_list arguments;
    va_start(arguments, format);
    std::va_list again;
    va_copy(again, arguments);
    const int length = std::vsnprintf(nullptr, 0, format, arguments);
    va_end(arguments);
    std::string result(std::size_t(std::max(length, 0)), '\0');
    std::vsnprintf(result.data(), result.size() + 1, format, again);
    va_end(again);
    return result;
}

/// "12.3 MB" in powers of 1000, as rates are usually given.
std::string amount(double bytes) {
    static constexpr std::array units = {"B", "kB", "MB", "GB", "TB", "PB"};
    std::size_t unit = 0;
    for (; bytes >= 1000 && unit + 1 < units.size(); ++unit) bytes /= 1000;
    return text(unit == 0 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
}

std::string plural(Offset count, const char* word) {
    return std::to_string(count) + " " + word + (count == 1 ? "" : "s");
}

std::string status_sentence(const SolveReport& solve) {
    const std::string iterations = plural(solve.iterations, "iteration");
    if (solve.status == Status::converged) return "converged in " + iterations;
    std::string sentence = "NOT CONVERGED (" + std::string(to_string(solve.status)) + ")";
    if (solve.status != Status::singular_block) sentence += " after " + iterations;
    return solve.message.empty() ? sentence : sentence + ": " + solve.message;
}

std::string blocks_text(const RunReport::Blocks& blocks) {
    if (blocks.count == 0) return {};
    std::string result =
        " (" + plural(blocks.count, "block") + ", largest " + std::to_string(blocks.largest);
    if (blocks.singular > 0) result += ", " + std::to_string(blocks.singular) + " singular";
    return result + ")";
}

/// "f16 120, f64 3; 12.3 MB, 70 % less than in the type of the matrix".
std::string storage_text(const BlockJacobiReport& jacobi) {
    std::string formats;
    for (std::size_t k = 0; k < jacobi.formats.size(); ++k) {
        if (jacobi.formats[k] == 0) continue;
        formats += (formats.empty() ? "" : ", ") + std::string(to_string(BlockPrecision(k))) + " " +
                   std::to_string(jacobi.formats[k]);
    }
    std::string result = formats + "; " + amount(double(jacobi.stored_bytes));
    const double saved = 1 - double(jacobi.stored_bytes) / double(jacobi.working_bytes);
    if (saved > 0) result += text(", %.0f %% less than in full", 100 * saved);
    return result;
}

/// "1e0 120, 1e3 4; worst 3.1e+03 in rows 12..17 (f64)".
std::string condition_text(const BlockJacobiReport& jacobi) {
    std::string result;
    for (std::size_t d = 0; d < jacobi.conditions.size(); ++d) {
        if (jacobi.conditions[d] == 0) continue;
        result += text("%s1e%d %d", result.empty() ? "" : ", ", int(d), jacobi.conditions[d]);
    }
    if (!jacobi.worst.empty()) {
        const BlockJacobiReport::Block& worst = jacobi.worst.front();
        result += text("%sworst %.1e in rows %d..%d", result.empty() ? "" : "; ", worst.condition,
                       worst.first_row, worst.first_row + worst.rows - 1);
    }
    return result;
}

/// "degree 6 on [0, 2.31]", and what happened to its upper end.
std::string polynomial_text(const PolynomialReport& polynomial) {
    std::string result =
        text("degree %d on [%.4g, %.4g]", polynomial.degree, polynomial.lower, polynomial.upper);
    if (polynomial.mends > 0) {
        result += "; its bound was raised " + plural(polynomial.mends, "time") +
                  ", as it was not positive definite";
    }
    return result;
}

/// "2,500 block rows in 87 levels (rcm), 12,345 blocks (0.20 % of dense), 310 pairs, 62.1 MB".
std::string factor_text(const BlockLdltReport& ldlt) {
    return plural(ldlt.block_rows, "block row") + " in " + plural(ldlt.levels, "level") + " (" +
           to_string(ldlt.ordering) + "), " + plural(ldlt.stored_blocks, "stored block") +
           text(" (%.2f %% of dense), ", 100 * ldlt.stored_share) + plural(ldlt.pairs, "pair") +
           ", " + amount(double(ldlt.bytes));
}

/// "jacobi, sweep 8 of 8, epsilon 0.07, 12 pivots raised, reconstruction error 2.1e-02".
std::string stage_text(const BlockLdltReport& ldlt) {
    std::string result = to_string(ldlt.stage);
    if (ldlt.stage == BlockLdltStage::none) return result;
    if (ldlt.stage == BlockLdltStage::jacobi) {
        result += text(", sweep %d of %d", ldlt.best_sweep, ldlt.sweeps);
    }
    result += text(", epsilon %.2g, ", ldlt.epsilon) + plural(ldlt.perturbed, "pivot") + " raised";
    if (!ldlt.reconstruction.empty()) {
        const double error = ldlt.stage == BlockLdltStage::jacobi
                                 ? *std::ranges::min_element(ldlt.reconstruction)
                                 : ldlt.reconstruction.back();
        result += text(", reconstruction error %.1e", error);
    }
    return result;
}

std::string phase_table(const RunReport& report) {
    if (report.phases.empty()) return {};
    std::size_t width = 5;
    for (const PhaseRecord& phase : report.phases) width = std::max(width, phase.name.size());
    std::string table = text("\n  %-*s %10s %11s %10s %7s\n", int(width), "phase", "calls",
                             "seconds", "bytes", "copy");
    bool sampled = false;
    for (const PhaseRecord& phase : report.phases) {
        table += text("  %-*s %10lld %11.6f", int(width), phase.name.c_str(),
                      static_cast<long long>(phase.calls), phase.seconds);
        if (phase.bytes > 0) {
            table += text(" %10s", amount(phase.bytes).c_str());
            if (phase.seconds > 0 && report.copy_rate > 0) {
                table += text(" %5.1f %%", 100 * phase.bytes / phase.seconds / report.copy_rate);
            }
        }
        table += '\n';
        sampled = sampled || phase.sampled;
    }
    if (report.copy_rate > 0) {
        table += "  copy: share of the measured copy rate, " + amount(report.copy_rate) + "/s\n";
    }
    if (sampled) table += "  calls and seconds are samples: replayed graphs are not timed\n";
    return table;
}

}  // namespace

std::string to_table(const RunReport& report) {
    const SolveReport& solve = report.solve;
    std::string table = status_sentence(solve) + "\n";
    const auto line = [&](const char* name, const std::string& what) {
        table += text("  %-15s %s\n", name, what.c_str());
    };
    line("matrix", report.matrix.name + ", " + plural(report.matrix.rows, "row") + ", " +
                       plural(report.matrix.nonzeros, "nonzero") +
                       (report.matrix.format == "csr" ? "" : ", as " + report.matrix.format));
    line("solver", report.solver);
    line("preconditioner", report.preconditioner + blocks_text(report.blocks));
    if (report.blocks.jacobi.working_bytes > 0) {
        line("stored blocks", storage_text(report.blocks.jacobi));
        line("conditions", condition_text(report.blocks.jacobi));
    }
    if (report.polynomial.degree > 0) {
        line("polynomial", polynomial_text(report.polynomial));
    }
    if (report.block_ldlt.block_rows > 0) {
        line("factor", factor_text(report.block_ldlt));
        line("stage", stage_text(report.block_ldlt));
        line("safeguard", report.block_ldlt.outcome);
    }
    line("device", report.device);
    line("iterations", std::to_string(solve.iterations) + " (" +
                           plural(solve.operator_applications, "product") + " with A, " +
                           plural(solve.restarts, "restart") + ")");
    if (!std::isnan(solve.true_relative_residual)) {
        line("residual",
             text("%.3e (recursive %.3e)", solve.true_relative_residual, solve.relative_residual));
    }
    if (report.structure.nodes > 0) {
        line("mesh", plural(report.structure.nodes, "node") + ", " +
                         plural(report.structure.elements, "element"));
        line("displacement", text("at most %.6g", report.structure.largest_displacement));
        line("von Mises",
             text("at most %.6g (centres of elements)", report.structure.largest_von_mises));
    }
    if (report.forward_error >= 0) line("forward error", text("%.3e", report.forward_error));
    line("seconds", text("read %.3f, find blocks %.3f, setup %.3f, solve %.3f", report.seconds.read,
                         report.seconds.find_blocks, report.seconds.setup, report.seconds.solve));
    line("peak memory", amount(double(report.peak_memory_bytes)));
    return table + phase_table(report);
}

}  // namespace tessera
