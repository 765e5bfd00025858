#include "run_program.hpp"

#include <algorithm>
#include <new>
#include <sstream>
#include <stdexcept>

#include "options.hpp"
#include "report/text.hpp"
#include "run/interrupt.hpp"
#include "run/output.hpp"
#include "system/system.hpp"
#include "tessera/problems.hpp"
#include "tessera/types.hpp"

namespace tessera::cli {

namespace {

constexpr const char* short_help =
    R"(Tessera solves sparse linear systems made of small dense blocks, on GPUs and CPUs.

  tessera solve A [b]    solve A x = b; A is a matrix file, a mesh or a problem
  tessera tune A [b]     find the fastest preconditioner and solver
  tessera info A         describe a matrix or mesh, and suggest a solver
  tessera convert A OUT  write a matrix in another format
  tessera devices        list the devices

  tessera solve poisson2d:200
  tessera solve elasticity3d:20 --precond block_jacobi:24 --json report.json
  tessera info matrix.mtx
tessera COMMAND --help lists the options of a command.
)";

std::vector<std::string> command_names(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
        names.push_back(command->get_name());
    }
    return names;
}

/// Option names without dashes, which would make them all similar.
std::vector<std::string> option_names(const CLI::App& command) {
    std::vector<std::string> names;
    for (const CLI::Option* option : command.get_options()) {
        for (const std::string& name : option->get_lnames()) names.push_back(name);
    }
    return names;
}

/// The sentence for a first word that is not a command, or empty.
std::string unknown_command_message(const CLI::App& app, const std::vector<std::string>& words) {
    if (words.size() < 2 || words[1].starts_with("-")) return {};
    const std::vector<std::string> names = command_names(app);
    if (std::find(names.begin(), names.end(), words[1]) != names.end()) return {};
    const std::vector<std::string> problems = problems::generator_names();
    const std::string problem = words[1].substr(0, words[1].find_first_of(":,"));
    if (is_file_name(words[1]) ||
        std::find(problems.begin(), problems.end(), problem) != problems.end()) {
        return "a command must come first; did you mean tessera solve " + shell_file(words[1]) +
               "?";
    }
    return unknown_word_message("command", words[1], names);
}

/// One sentence for an error of CLI11.
std::string parse_message(const CLI::App& app, const CLI::ParseError& error) {
    const auto parsed = app.get_subcommands();
    const CLI::App& command = parsed.empty() ? app : *parsed.front();
    const std::string help =
        parsed.empty() ? "tessera --help" : "tessera " + command.get_name() + " --help";
    for (std::string word : app.remaining(true)) {
        word = word.substr(0, word.find('='));
        if (!word.starts_with("-")) {
            return "unexpected argument '" + word + "' (see " + help + ")";
        }
        const std::string bare = word.substr(std::min(word.find_first_not_of('-'), word.size()));
        const std::string nearest = nearest_word(bare, option_names(command));
        return "unknown option '" + word + "'" +
               (nearest.empty() ? "; " + help + " lists all"
                                : "; did you mean '--" + nearest + "'?");
    }
    if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr &&
        std::string_view(error.what()).starts_with("A ")) {
        return std::string(error.what()) + ": " + command.get_name() +
               " needs a matrix file, a mesh, or a problem such as poisson2d:200 (see " + help +
               ")";
    }
    if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
        const std::string what = error.what();  // NAME: At Most 1 required .., or another message.
        return what.substr(0, what.find(':')) +
               (what.find(": At Most") != std::string::npos ? " is given more than once"
                                                            : " needs a value") +
               " (see " + help + ")";
    }
    return std::string(error.what()) + " (see " + help + ")";
}

int dispatch(const CLI::App& app, const Arguments& arguments) {
    const std::vector<std::string>& words = arguments.solve.command_line;
    if (words[1] == "bench") return bench({words.begin() + 2, words.end()});
    const std::string name = app.get_subcommands().front()->get_name();
    if (name == "solve") return solve(arguments.solve);
    if (name == "tune") return tune(arguments.tune);
    if (name == "info") return info(arguments.info);
    if (name == "convert") return convert(arguments.convert);
    if (name == "compare") return compare(arguments.compare);
    if (name == "plot") return plot({words.begin() + 2, words.end()});
    return devices(arguments.devices);
}

/// Prints the message; also writes it as JSON, except for exit code 2.
int fail(ExitCode code, const std::string& message, const std::string& json) {
    print_note(message);
    if (code == exit_usage || json.empty()) return code;
    try {
        write_text(json, JsonObject()
                                 .add("schema", "tessera-run/2")
                                 .add("version", version())
                                 .add("commit", commit())
                                 .add("status", "error")
                                 .add("message", message)
                                 .text() +
                             "\n");
    } catch (const Error& error) {
        print_note(error.what());
    }
    return code;
}

int run_reporting_errors(const CLI::App& app, const Arguments& arguments) {
    const std::string& json =
        arguments.solve.json.empty() ? arguments.tune.solve.json : arguments.solve.json;
    try {
        return dispatch(app, arguments);
    } catch (const DeviceUnavailable& error) {
        return fail(exit_no_device, error.what(), json);
    } catch (const tessera::ParseError& error) {
        return fail(exit_usage, error.what(), json);
    } catch (const InvalidArgument& error) {
        return fail(exit_usage, error.what(), json);
    } catch (const OutOfMemory& error) {
        return fail(exit_out_of_memory, error.what(), json);
    } catch (const std::bad_alloc&) {
        return fail(exit_out_of_memory, "out of memory; try --precision f32 or a smaller system",
                    json);
    } catch (const std::length_error&) {  // A container larger than any memory.
        return fail(exit_out_of_memory, "out of memory; try a smaller system", json);
    } catch (const DeviceError& error) {
        return fail(exit_no_device, error.what(), json);
    } catch (const std::exception& error) {
        return fail(exit_internal, std::string("internal error: ") + error.what(), json);
    }
}

int parse_and_run(int argc, char** argv) {
    Arguments arguments;
    arguments.solve.command_line.assign(argv, argv + argc);
    // Printed commands name the program as the help does.
    arguments.solve.command_line[0] = "tessera";
    CLI::App app("Sparse linear systems made of small dense blocks, on GPUs and CPUs", "tessera");
    app.set_version_flag("--version", std::string("tessera ") + version() + " (" + commit() + ")");
    app.require_subcommand(1);
    app.option_defaults()->always_capture_default();
    add_commands(app, arguments);
    if (const std::string message = unknown_command_message(app, arguments.solve.command_line);
        !message.empty()) {
        return fail(exit_usage, message, {});
    }
    // The words after it are for the other program.
    if (std::string_view(argv[1]) == "bench") return run_reporting_errors(app, arguments);
    try {
        app.parse(argc, argv);
    } catch (const CLI::Success& help) {
        std::ostringstream text;
        const int code = app.exit(help, text, text);
        write_text("-", text.str());
        return code;
    } catch (const CLI::ParseError& error) {
        return fail(exit_usage, parse_message(app, error), {});
    }
    return run_reporting_errors(app, arguments);
}

}  // namespace

int run_program(int argc, char** argv) {
    try {
        if (argc > 1) return parse_and_run(argc, argv);
        write_text("-", short_help);
        return exit_converged;
    } catch (const Error& error) {  // The help cannot be written.
        return fail(exit_usage, error.what(), {});
    } catch (const std::bad_alloc&) {
        return fail(exit_out_of_memory, "out of memory", {});
    }
}

}  // namespace tessera::cli
