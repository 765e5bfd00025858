#include "commands/singular_blocks.hpp"

#include <algorithm>

#include "commands/commands.hpp"
#include "report/text.hpp"

namespace tessera::cli {

std::string singular_blocks_message(const PreconditionerReport& setup, Offset singular,
                                    const std::vector<std::string>& command_line) {
    if (setup.first_non_finite_row >= 0) {
        return "tessera: row " + std::to_string(setup.first_non_finite_row) +
               " of the matrix has a NaN or infinity; no policy for singular blocks helps\n";
    }
    const std::vector<SingularBlock>& first = setup.first_singular;
    std::string text = "tessera: " + std::to_string(singular) + " singular block" +
                       (singular == 1 ? "" : "s") +
                       (singular > Offset(first.size()) ? "; the first ones:" : ":") + "\n";
    for (const SingularBlock& block : first) {
        const char* inverse = block.info == block.rows ? ", or an entry of the inverse," : "";
        text += format("  block %d, rows %d..%d, pivot %d of %d%s is zero or not finite\n",
                       block.block, block.first_row, block.first_row + block.rows - 1, block.info,
                       block.rows, inverse);
    }
    return text + "To shift these blocks until they can be inverted, try:\n  " +
           shifted_command(command_line) + "\n";
}

std::string shifted_command(std::vector<std::string> command_line) {
    const std::string option = "--precond";
    const std::string stop = ",singular=stop";
    const auto shift = [&](std::string text) {
        if (const auto at = text.find(stop); at != std::string::npos) text.erase(at, stop.size());
        return text + ",singular=shift";
    };
    bool found = false;
    // What follows is no option, even if it begins with a dash.
    const auto options_end = std::find(command_line.begin(), command_line.end(), "--");
    const auto options = std::size_t(options_end - command_line.begin());
    for (std::size_t k = 0; k < options && !found; ++k) {
        if (command_line[k] == option && k + 1 < options) {
            command_line[k + 1] = shift(command_line[k + 1]);
            found = true;
        } else if (command_line[k].starts_with(option + "=")) {
            command_line[k] = shift(command_line[k]);
            found = true;
        }
    }
    if (!found) {
        command_line.insert(options_end, {option, shift(SolveArguments{}.preconditioner)});
    }
    std::string command;
    for (const std::string& word : command_line) {
        command += (command.empty() ? "" : " ") + shell_word(word);
    }
    return command;
}

}  // namespace tessera::cli
