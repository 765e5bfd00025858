#pragma once

#include <CLI/CLI.hpp>

#include "commands/commands.hpp"

namespace tessera::cli {

/// Parsed command-line arguments.
struct Arguments {
    SolveArguments solve;
    TuneArguments tune;
    InfoArguments info;
    ConvertArguments convert;
    DevicesArguments devices;
    CompareArguments compare;
    PlotArguments plot;
};

/// The subcommands with their options and help, which fill `to`.
void add_commands(CLI::App& app, Arguments& to);

}  // namespace tessera::cli
