#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "commands/commands.hpp"

namespace tessera::cli {

int bench(const std::vector<std::string>& words) {
    std::error_code error;
    const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
    const std::string program = (self.parent_path() / "tessera-bench").string();
    if (!std::filesystem::exists(program, error)) {
        throw InvalidArgument("there is no " + program +
                              "; build it beside this program with: cmake --build FOLDER "
                              "--target tessera_bench");
    }
    std::vector<char*> arguments = {const_cast<char*>(program.c_str())};
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    ::execv(program.c_str(), arguments.data());
    throw InvalidArgument("cannot run " + program + ": " + std::strerror(errno));
}

}  // namespace tessera::cli
