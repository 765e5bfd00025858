#pragma once

#include <string>

#include "tessera/krylov.hpp"

namespace tessera::cli {

/// Shows the progress of a solve on stderr: a bar, a table, or nothing.
class Monitor {
  public:
    /// "bar", "table", "none"; empty: bar on a terminal, else none.
    explicit Monitor(const std::string& kind);
    void show(const Progress& progress);
    /// Erases the bar, or prints the last row of the table.
    void finish();

  private:
    enum class Kind { none, bar, table };
    void draw_bar(const Progress& progress);
    void print_row(const Progress& progress);

    Kind kind_ = Kind::none;
    double initial_ = -1;     ///< First residual.
    double last_drawn_ = -1;  ///< Seconds into the solve.
    std::size_t width_ = 0;   ///< Characters of the bar on the screen.
    Offset next_row_ = 0;     ///< Next iteration with a row of the table.
    Progress last_;
    bool last_printed_ = true;
};

/// Progress of a residual towards its target on a logarithmic scale, in 0..1.
double progress_fraction(double initial, double current, double target);

}  // namespace tessera::cli
