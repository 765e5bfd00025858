#include "harness/result_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>

namespace tessera::bench {

namespace {

/// File and document that the handler of SIGALRM writes: it must not allocate.
struct PendingWrite {
    std::string file, temporary, text;
};

PendingWrite& pending() {
    static PendingWrite write_at_alarm;
    return write_at_alarm;
}

/// The handler is reset before it runs, so that the signal ends the program.
void save_pending(int signal) {
    const PendingWrite& now = pending();
    const int file = open(now.temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
    std::size_t done = 0;
    while (file >= 0 && done < now.text.size()) {
        const ssize_t count = write(file, now.text.data() + done, now.text.size() - done);
        if (count <= 0) break;
        done += std::size_t(count);
    }
    if (file >= 0) close(file);
    if (done == now.text.size()) std::rename(now.temporary.c_str(), now.file.c_str());
    raise(signal);
}

std::string text_of(const Json& document) { return document.dump(1) + "\n"; }

/// Target of a symbolic link.
std::string target_of(const std::string& name) {
    return std::filesystem::exists(name) ? std::filesystem::canonical(name).string() : name;
}

}  // namespace

ResultFile::ResultFile(std::string name) : name_(name == "-" ? name : target_of(name)) {}

bool ResultFile::in_place() const {
    return std::filesystem::exists(name_) && !std::filesystem::is_regular_file(name_);
}

void ResultFile::save(const Json& document) const {
    if (name_ == "-") return;
    const std::string written = in_place() ? name_ : name_ + ".tmp";
    std::ofstream file(written);
    file << text_of(document);
    file.close();
    if (!file || (written != name_ && std::rename(written.c_str(), name_.c_str()) != 0)) {
        throw Error("cannot write " + name_ +
                    "; give --json a file in a writable folder with enough space");
    }
}

Json ResultFile::read() const {
    if (name_ == "-" || !std::filesystem::exists(name_)) return nullptr;
    std::ifstream file(name_);
    Json document = Json::parse(file, nullptr, false);
    if (!document.is_object() || !document.contains("rows") || !document["rows"].is_array()) {
        throw Error("--resume: " + name_ +
                    " has no results that can be read; name another file, or remove it");
    }
    return document;
}

void ResultFile::set_time_limit(int seconds, const Json& document) const {
    if (seconds == 0) return;
    if (name_ != "-" && !in_place()) {
        pending() = {name_, name_ + ".tmp", text_of(document)};
        struct sigaction action = {};
        action.sa_handler = save_pending;
        action.sa_flags = int(SA_RESETHAND | SA_NODEFER);
        sigaction(SIGALRM, &action, nullptr);
    }
    alarm(unsigned(seconds));
}

void ResultFile::cancel_time_limit() { alarm(0); }

Json rows_of_earlier_run(const Json& before, const Json& now) {
    if (before.is_null()) return Json::array();
    Json rows = before["rows"];
    if (rows.empty()) return rows;
    for (const auto& [field, value] : now.items()) {
        // Rows have their own commits; the copy bandwidth varies from run to run.
        if (field == "commit" || field == "copy_gbps" || field == "rows") continue;
        if (before.contains(field) && before[field] == value) continue;
        throw Error("--resume: the rows of the file were measured with " + field + " = " +
                    (before.contains(field) ? before[field].dump() : "an unknown value") +
                    ", this run has " + value.dump() +
                    "; use the same settings, or another --json FILE");
    }
    for (Json& row : rows) {
        if (row.contains("commit") || !before.contains("commit")) continue;
        if (before["commit"] != now["commit"]) row["commit"] = before["commit"];
    }
    return rows;
}

}  // namespace tessera::bench
