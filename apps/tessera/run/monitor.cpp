#include "run/monitor.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "report/text.hpp"

namespace tessera::cli {

namespace {

constexpr int bar_cells = 30;
constexpr double silent_seconds = 0.3;  ///< Shorter solves show no bar.
constexpr double redraw_seconds = 0.1;

/// Characters that fit on a line of the terminal without its cursor wrapping.
std::size_t line_limit() {
    struct winsize size = {};
    const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return known ? size.ws_col - 1u : std::string::npos;
}

/// Rows of the table: every iteration to 10, then every 10 to 100, every 100 to 1000, ...
Offset row_after(Offset iteration) {
    Offset step = 1;
    while (iteration / step >= 10) step *= 10;
    return (iteration / step + 1) * step;
}

}  // namespace

double progress_fraction(double initial, double current, double target) {
    const double all = std::log10(initial / target);
    const double done = std::log10(initial / current);
    if (!(all > 0) || !std::isfinite(all) || std::isnan(done)) return 0;
    return std::clamp(done / all, 0.0, 1.0);
}

Monitor::Monitor(const std::string& kind) {
    if (kind == "bar" || (kind.empty() && ::isatty(STDERR_FILENO) != 0)) kind_ = Kind::bar;
    if (kind == "table") kind_ = Kind::table;
}

void Monitor::show(const Progress& progress) {
    if (kind_ == Kind::none) return;
    if (initial_ < 0) initial_ = progress.relative_residual;
    last_ = progress;
    last_printed_ = false;
    if (kind_ == Kind::bar) {
        if (progress.seconds < silent_seconds) return;
        if (last_drawn_ >= 0 && progress.seconds - last_drawn_ < redraw_seconds) return;
        last_drawn_ = progress.seconds;
        draw_bar(progress);
    } else if (progress.iterations >= next_row_) {
        print_row(progress);
        next_row_ = row_after(progress.iterations);
    }
}

void Monitor::draw_bar(const Progress& progress) {
    const double fraction =
        progress_fraction(initial_, progress.relative_residual, progress.target);
    const int filled = int(fraction * bar_cells);
    const std::string bar = "[" + std::string(std::size_t(filled), '#') +
                            std::string(std::size_t(bar_cells - filled), '.') + "] ";
    std::string line =
        format("iteration %lld, residual %.2e", static_cast<long long>(progress.iterations),
               progress.relative_residual);
    if (progress.seconds > 0) line += format(", %.0f/s", progress.iterations / progress.seconds);
    const std::size_t limit = line_limit();
    if (bar.size() + line.size() <= limit) line = bar + line;
    line.resize(std::min(line.size(), limit));
    const std::size_t length = line.size();
    line.resize(std::min(std::max(length, width_), limit), ' ');
    width_ = length;
    std::fprintf(stderr, "\r%s", line.c_str());
    std::fflush(stderr);
}

void Monitor::print_row(const Progress& progress) {
    if (next_row_ == 0)
        std::fprintf(stderr, "%10s %12s %10s\n", "iteration", "residual", "seconds");
    std::fprintf(stderr, "%10lld %12.4e %10.3f\n", static_cast<long long>(progress.iterations),
                 progress.relative_residual, progress.seconds);
    last_printed_ = true;
}

void Monitor::finish() {
    if (kind_ == Kind::bar && width_ > 0) {
        std::fprintf(stderr, "\r%s\r", std::string(std::min(width_, line_limit()), ' ').c_str());
        std::fflush(stderr);
        width_ = 0;
    }
    if (kind_ == Kind::table && !last_printed_) print_row(last_);
}

}  // namespace tessera::cli
