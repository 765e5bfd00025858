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

/// A value that is one of these words.
CLI::Validator one_of(const std::vector<std::string>& words);

/// The options of meshes of a command.
void add_mesh(CLI::App& command, MeshArguments& to);

/// The subcommands with their options and help, which fill `to`.
void add_commands(CLI::App& app, Arguments& to);

}  // namespace tessera::cli
