#include "run/output.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "run/interrupt.hpp"
#include "tessera/io.hpp"

namespace tessera::cli {

namespace {

/// Whether two paths lead to one file, which need not exist. False for devices and pipes.
bool is_one_file(const std::string& path, const std::string& other) {
    if (path.empty() || other.empty() || path == "-" || other == "-") return false;
    std::error_code error;
    if (std::filesystem::exists(path, error)) {
        return std::filesystem::is_regular_file(path, error) &&
               std::filesystem::equivalent(path, other, error);
    }
    const auto whole = [&error](const std::string& name) {
        return std::filesystem::weakly_canonical(std::filesystem::absolute(name, error), error);
    };
    return whole(path) == whole(other) && !error;
}

}  // namespace

void print_note(const std::string& sentence) {
    std::fprintf(stderr, "tessera: %s\n", io::printable(sentence).c_str());
}

void write_text(const std::string& path, const std::string& text) {
    if (path != "-") return write_output(path, [&] { io::write_file(path, text); });
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() ||
        std::fflush(stdout) != 0) {
        throw InvalidArgument(std::string("stdout cannot be written: ") + std::strerror(errno));
    }
}

void write_output(const std::string& path, const std::function<void()>& write) {
    const InterruptNote note("writing " + path, ", which was not touched");
    try {
        write();
    } catch (const OutOfMemory&) {
        throw;
    } catch (const Error& error) {
        throw InvalidArgument(error.what());
    }
}

void check_output(const std::string& option, const std::string& path,
                  const std::vector<std::string>& inputs) {
    if (path.empty() || path == "-") return;
    const std::filesystem::path file(path);
    const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
    std::error_code error;
    if (!std::filesystem::is_directory(folder, error)) {
        throw InvalidArgument(option + ": there is no folder '" + folder.string() +
                              "'; create it first");
    }
    if (std::filesystem::is_directory(file, error)) {
        throw InvalidArgument(option + ": '" + path + "' is a folder; name a file");
    }
    try {
        io::check_writable(path);
    } catch (const Error& reason) {
        throw InvalidArgument(option + ": " + reason.what());
    }
    for (const std::string& input : inputs) {
        if (std::filesystem::equivalent(file, input, error)) {
            throw InvalidArgument(
                option + ": '" + path +
                "' is read by this command and would be overwritten; name another file");
        }
    }
}

void check_outputs(const std::vector<OutputFile>& outputs, const std::vector<std::string>& inputs) {
    for (auto output = outputs.begin(); output != outputs.end(); ++output) {
        check_output(output->option, output->path, inputs);
        for (auto other = outputs.begin(); other != output; ++other) {
            if (!is_one_file(output->path, other->path)) continue;
            throw InvalidArgument(other->option + " and " + output->option +
                                  " name the same file; give each a file of its own");
        }
    }
}

void check_ending(const std::string& option, const std::string& path) {
    if (path.ends_with(".mtx") || path.ends_with(".mtx.gz") || path.ends_with(".petsc")) return;
    throw InvalidArgument(option + ": '" + path + "' must end in .mtx, .mtx.gz or .petsc");
}

}  // namespace tessera::cli
