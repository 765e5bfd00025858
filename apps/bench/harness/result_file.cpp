#include "harness/result_file.hpp"

#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <mutex>
#include <thread>

namespace tessera::bench {

namespace {

std::jthread& time_limit() {
    static std::jthread thread;
    return thread;
}

/// Removes the temporary file of a result file that is being written, and ends the program.
void end_by(int signal) {
    io::remove_temporary_files();
    std::signal(signal, SIG_DFL);
    ::raise(signal);
}

}  // namespace

void handle_signals() {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        if (std::signal(signal, end_by) == SIG_IGN) std::signal(signal, SIG_IGN);
    }
    std::signal(SIGXFSZ, SIG_IGN);
}

ResultFile::ResultFile(std::string name) : name_(std::move(name)) {
    if (name_ != "-") io::check_writable(name_);
}

void ResultFile::save(const Json& document) const {
    if (name_ != "-") io::write_file(name_, json_text(document, 1) + "\n");
}

void ResultFile::print(const Json& document) const {
    if (name_ == "-" && !(std::cout << json_text(document, 1) << std::endl)) {
        throw Error("stdout cannot be written; give --json a file in a folder with enough space");
    }
}

Json ResultFile::read() const {
    std::error_code error;
    if (name_ == "-" || !std::filesystem::exists(name_, error)) return nullptr;
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
    time_limit() = std::jthread([file = *this, document, seconds](const std::stop_token& stop) {
        std::mutex mutex;
        std::unique_lock lock(mutex);
        std::condition_variable_any ended;
        ended.wait_for(lock, stop, std::chrono::seconds(seconds), [] { return false; });
        if (stop.stop_requested()) return;
        try {
            file.save(document);
        } catch (const std::exception& error) {
            std::fprintf(stderr, "tessera-bench: %s\n", io::printable(error.what()).c_str());
        }
        std::signal(SIGALRM, SIG_DFL);
        ::kill(::getpid(), SIGALRM);
    });
}

void ResultFile::cancel_time_limit() { time_limit() = {}; }

Json rows_of_earlier_run(const Json& before, const Json& now) {
    if (before.is_null()) return Json::array();
    Json rows = before["rows"];
    if (rows.empty()) return rows;
    for (const auto& [field, value] : now.items()) {
        // Rows have their own commits; the copy bandwidth varies from run to run.
        if (field == "commit" || field == "copy_gbps" || field == "rows") continue;
        if (before.contains(field) && before[field] == value) continue;
        throw Error("--resume: the rows of the file were measured with " + field + " = " +
                    (before.contains(field) ? json_text(before[field]) : "an unknown value") +
                    ", this run has " + json_text(value) +
                    "; use the same settings, or another --json FILE");
    }
    for (Json& row : rows) {
        if (row.contains("commit") || !before.contains("commit")) continue;
        if (before["commit"] != now["commit"]) row["commit"] = before["commit"];
    }
    return rows;
}

}  // namespace tessera::bench
