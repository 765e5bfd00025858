#include "run/saved_options.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "report/text.hpp"
#include "run/output.hpp"
#include "tessera/types.hpp"

namespace tessera::cli {

namespace {

using Json = nlohmann::json;
constexpr const char* schema = "tessera-options/1";

std::filesystem::path folder() {
    const auto variable = [](const char* name) {
        const char* value = std::getenv(name);
        return std::filesystem::path(value != nullptr ? value : "");
    };
    const std::filesystem::path chosen = variable("XDG_CONFIG_HOME");
    if (chosen.is_absolute()) return chosen / "tessera";
    const std::filesystem::path home = variable("HOME");
    if (home.empty()) {
        throw InvalidArgument(
            "there is no folder for saved options, as HOME is not set; give a "
            "file with a slash, such as ./options.json");
    }
    return home / ".config" / "tessera";
}

bool is_plain(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
}

}  // namespace

std::string saved_options_file(const std::string& name) {
    if (name.find('/') != std::string::npos) return name;
    if (name.empty() || name.front() == '.' || !std::all_of(name.begin(), name.end(), is_plain)) {
        throw InvalidArgument("'" + name +
                              "' is no name for saved options: use letters, digits, -, _ and dots, "
                              "or a file with a slash, such as ./options.json");
    }
    return (folder() / (name + ".json")).string();
}

std::string new_saved_options_file(const std::string& name) {
    const std::string file = saved_options_file(name);
    if (file != name) {
        std::error_code error;  // check_output says what is wrong.
        std::filesystem::create_directories(folder(), error);
    }
    return file;
}

void save_options(const std::string& name, const SavedOptions& options) {
    write_text(saved_options_file(name), JsonObject()
                                                 .add("schema", schema)
                                                 .add("version", version())
                                                 .add("solver", options.solver)
                                                 .add("preconditioner", options.preconditioner)
                                                 .add("format", options.format)
                                                 .add("side", options.side)
                                                 .add("matrix", options.matrix)
                                                 .add("device", options.device)
                                                 .text() +
                                             "\n");
}

SavedOptions read_saved_options(const std::string& name) {
    const std::string file = saved_options_file(name);
    std::ifstream stream(file);
    std::stringstream text;
    if (!stream || !(text << stream.rdbuf())) {
        throw InvalidArgument("--config: '" + file +
                              "' cannot be read; tessera tune A --save NAME writes it");
    }
    const Json json = Json::parse(text, nullptr, false);
    const auto word = [&](const char* key) {
        if (!json.is_object() || !json.contains(key) || !json[key].is_string()) {
            throw InvalidArgument("--config: '" + file + "' holds no options of schema " + schema +
                                  ": '" + key + "' is missing");
        }
        return json[key].get<std::string>();
    };
    if (word("schema") != schema) {
        throw InvalidArgument("--config: '" + file + "' is of schema '" + word("schema") +
                              "', not " + schema);
    }
    SavedOptions options{word("solver"), word("preconditioner"), word("format"),
                         word("side"),   word("matrix"),         word("device")};
    if (options.side != "left" && options.side != "right") {
        throw InvalidArgument("--config: '" + file + "': the side must be left or right");
    }
    return options;
}

}  // namespace tessera::cli
