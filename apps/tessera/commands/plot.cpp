#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>
#include <string_view>

#include "commands/commands.hpp"

extern char** environ;

namespace tessera::cli {

namespace {

std::vector<char*> pointers(const std::vector<std::string>& words) {
    std::vector<char*> result;
    for (const std::string& word : words) result.push_back(const_cast<char*>(word.c_str()));
    result.push_back(nullptr);
    return result;
}

/// The programs of this name in the folders of PATH, in order; those of a folder that is listed
/// again, also through a link, only once. Relative folders are left out.
std::vector<std::string> programs_in_path(const std::string& name) {
    const char* const path = std::getenv("PATH");
    std::string_view rest = path == nullptr ? "" : path;
    std::vector<std::string> programs;
    std::set<std::string> seen;
    while (!rest.empty()) {
        const std::string folder(rest.substr(0, rest.find(':')));
        rest.remove_prefix(std::min(folder.size() + 1, rest.size()));
        if (!folder.starts_with('/')) continue;
        std::error_code error;
        const std::string file = folder + "/" + name;
        if (!std::filesystem::is_regular_file(file, error) || ::access(file.c_str(), X_OK) != 0) {
            continue;
        }
        const std::filesystem::path real = std::filesystem::canonical(folder, error);
        if (!error && seen.insert(real.string()).second) programs.push_back(file);
    }
    return programs;
}

/// Runs a program without input and output; whether its exit code is 0.
bool succeeds(const std::vector<std::string>& words) {
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    for (const int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        posix_spawn_file_actions_addopen(&files, file, "/dev/null", O_RDWR, 0);
    }
    pid_t child = -1;
    const int error =
        ::posix_spawn(&child, words[0].c_str(), &files, nullptr, pointers(words).data(), environ);
    posix_spawn_file_actions_destroy(&files);
    if (error != 0) return false;
    int status = 0;
    while (::waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) return false;
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

int plot(const std::vector<std::string>& words) {
    ::setenv("PYTHONSAFEPATH", "1", 1);  // Modules of the current folder are not imported.
    for (const std::string& python : programs_in_path("python3")) {
        if (!succeeds({python, "-c", "import tessera.plot"})) continue;
        std::vector<std::string> command = {python, "-m", "tessera", "plot"};
        command.insert(command.end(), words.begin(), words.end());
        ::execv(python.c_str(), pointers(command).data());
        throw InvalidArgument("cannot run " + python + ": " + std::strerror(errno));
    }
    throw InvalidArgument(
        "plot needs a python3 in PATH that has the package tessera; install it, in a copy of "
        "Tessera's repository, with: python3 -m pip install . matplotlib");
}

}  // namespace tessera::cli
