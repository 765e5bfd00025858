#pragma once

namespace tessera::cli {

/// Runs the command that the words argv[1] .. argv[argc - 1] spell; returns the exit code.
int run_program(int argc, char** argv);

}  // namespace tessera::cli
