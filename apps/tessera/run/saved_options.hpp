#pragma once

#include <string>

namespace tessera::cli {

/// What `tune --save NAME` keeps for `solve --config NAME`.
struct SavedOptions {
    std::string solver, preconditioner, format, side;
    std::string matrix;  ///< The system that they were found with.
    std::string device;  ///< cpu or cuda.
};

/// The file of a name: the name itself if it has a slash, else NAME.json in the folder tessera of
/// $XDG_CONFIG_HOME or ~/.config. Throws InvalidArgument for other names and without a home folder.
std::string saved_options_file(const std::string& name);

/// saved_options_file, for a file to write: creates the default folder.
std::string new_saved_options_file(const std::string& name);

/// Writes a file of schema "tessera-options/1".
void save_options(const std::string& name, const SavedOptions& options);

/// Throws InvalidArgument if there is no such file, or it holds something else.
SavedOptions read_saved_options(const std::string& name);

}  // namespace tessera::cli
