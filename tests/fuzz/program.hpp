#pragma once

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "run_program.hpp"

/// The whole command line on arbitrary input; shared by its fuzz target and the test that replays
/// the corpus.
namespace tessera::fuzz {

/// One input: the first line holds the words of a command, separated by blanks; what follows is the
/// file `f` in the folder where the command runs.
struct CommandLine {
    std::vector<std::string> words;
    std::string_view file;
};

/// Keeps systems small: no number in `word` has more than one digit before its point or exponent.
inline std::string with_small_numbers(std::string_view word) {
    std::string small;
    for (const char c : word) {
        const bool digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
        const bool follows =
            !small.empty() && std::isdigit(static_cast<unsigned char>(small.back())) != 0;
        if (digit && follows) continue;
        // No exponents: 1e9 is a size, too.
        small += follows && (c == 'e' || c == 'E') ? 'x' : c;
    }
    return small;
}

/// Paths stay in the folder, systems small, times short.
inline CommandLine parse_command_line(std::string_view input) {
    CommandLine command;
    const std::size_t end = std::min(input.find('\n'), input.size());
    std::string word;
    for (const char c : std::string(input.substr(0, end)) + ' ') {
        if (c != ' ') {
            if (c != '\0') word += c == '/' ? '_' : c;
        } else if (!word.empty()) {
            const bool generator =
                word.find(':') != std::string::npos || word.find('=') != std::string::npos;
            command.words.push_back(generator ? with_small_numbers(word) : word);
            word.clear();
        }
    }
    command.file = input.substr(std::min(end + 1, input.size()));
    const auto add = [&](const char* name, const char* option, const char* value) {
        if (command.words.empty() || command.words[0] != name) return;
        command.words.insert(command.words.end(), {option, value});
    };
    add("solve", "--max-seconds", "0.01");
    add("tune", "--seconds", "0.01");
    return command;
}

/// Runs it in `folder`; returns the exit code.
inline int run_command_line(std::string_view input, const std::filesystem::path& folder) {
    CommandLine command = parse_command_line(input);
    // Other programs, and measurements that take a second.
    if (!command.words.empty() && (command.words[0] == "bench" || command.words[0] == "plot")) {
        return 0;
    }
    if (std::ranges::count(command.words, "--test") > 0) return 0;
    ::setenv("XDG_CONFIG_HOME", std::filesystem::absolute(folder).c_str(), 1);
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        std::filesystem::remove_all(entry);
    }
    std::ofstream(folder / "f", std::ios::binary) << command.file;
    command.words.insert(command.words.begin(), "tessera");
    std::vector<char*> arguments;
    for (std::string& word : command.words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    return cli::run_program(int(command.words.size()), arguments.data());
}

/// The exit codes that the program documents; 1 is for faults of its own.
inline bool is_documented(int code) { return code == 0 || (code >= 2 && code <= 6); }

}  // namespace tessera::fuzz
