#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "system/structure.hpp"
#include "tessera/context.hpp"

namespace tessera::cli {

/// Exit codes.
enum ExitCode : int {
    exit_converged = 0,
    exit_internal = 1,
    exit_slower = 1,  ///< compare: a result is slower.
    exit_usage = 2,   ///< Wrong arguments, unreadable input, or output that cannot be written.
    exit_not_converged = 3,
    exit_breakdown = 4,
    exit_no_device = 5,
    exit_out_of_memory = 6,  ///< On the host or the device.
    exit_interrupted = 130,
};

/// The requested device is not available, or this build cannot use it.
class DeviceUnavailable : public Error {
  public:
    using Error::Error;
};

struct SolveArguments {
    std::string matrix;
    std::string right_hand_side;  ///< Empty: load of the problem, else ones.
    std::string solver = "auto";
    std::string preconditioner = "auto";
    std::string format = "auto";  ///< Format of the matrix in products.
    std::optional<double> rtol;   ///< Without: default_rtol of the precision.
    double atol = 0;
    Offset max_iterations = 10000;
    double max_seconds = std::numeric_limits<double>::infinity();
    Offset stagnation_window = 2000;
    std::string side = "right";
    std::string device = "auto";
    std::string devices;  ///< A group, as in DeviceGroup::from_text; empty: one device.
    int threads = 0;
    std::string precision = "f64";
    std::string start;
    std::string null_space;
    std::uint64_t seed = 1;
    std::string json;
    std::string out;
    std::string monitor;  ///< Empty: bar on a terminal, else none.
    bool quiet = false;
    bool explain = false;       ///< Print what auto chose, and why.
    std::string config;         ///< Name of saved options, which replace the words auto.
    std::string config_device;  ///< cpu or cuda, where those options were found.
    bool allow_singular = false;
    bool allow_empty_rows = false;
    MeshArguments mesh;
    std::vector<std::string> command_line;  ///< As typed, to print a corrected command.
};

struct TuneArguments {
    SolveArguments solve;
    double seconds = 60;
    std::string save;  ///< Name to save the options of the fastest trial under.
};

struct InfoArguments {
    std::string matrix;
    MeshArguments mesh;
    std::string json;
    int threads = 0;
    bool allow_empty_rows = false;
};

struct ConvertArguments {
    std::string matrix;
    MeshArguments mesh;
    std::string out;
    std::string right_hand_side;  ///< File for that of the mesh or file; empty: none.
    std::string coordinates;      ///< File for those of the nodes; empty: none.
    std::string symmetry = "auto";
    int threads = 0;
    bool allow_empty_rows = false;
};

struct DevicesArguments {
    std::string json;
    bool test = false;
};

struct CompareArguments {
    std::string before;
    std::string after;
};

/// Parsed to check them; Python gets the words as they were typed.
struct PlotArguments {
    std::vector<std::string> files;
    std::string output;
    std::vector<std::string> labels;
    std::string only;
    std::string blocks;
    std::string rows;
    std::string field;
    std::string deformation;
    std::string view;
};

/// Each runs one subcommand and returns its exit code; errors are thrown.
int solve(const SolveArguments& arguments);
/// Solves the system in one way after the other, auto first, each for at most 1.35 times the time
/// of the fastest so far, and prints the command that solves it fastest. Words other than auto for
/// solver, preconditioner and format are kept in every trial. The time is a budget for all of them.
int tune(const TuneArguments& arguments);
int info(const InfoArguments& arguments);
/// The output of `info` for a mesh.
int mesh_info(const InfoArguments& arguments);
int convert(const ConvertArguments& arguments);
int devices(const DevicesArguments& arguments);

/// Compares two result files of tessera-bench. Rows with equal keys (measured values apart) are
///   SAME     when their medians differ by at most 3 %;
///   UNCLEAR  when they differ by more, but not by more than half the sum of the two interquartile
///            ranges, so that the middle halves of the samples may overlap;
///   FASTER or SLOWER otherwise.
/// Lists them with the ratio new over old, and the rows that one file lacks. Returns 1 if a row is
/// slower.
int compare(const CompareArguments& arguments);

/// Replaces this process by tessera-bench from the same folder, with these arguments.
int bench(const std::vector<std::string>& words);

/// Replaces this process by the first python3 in PATH that can import tessera.plot, with these
/// arguments.
int plot(const std::vector<std::string>& words);

}  // namespace tessera::cli
