#pragma once

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "support/test.hpp"

extern char** environ;

namespace tessera::test {

using Words = std::vector<std::string>;

/// The command-line program, in the folder of the test binary, in the build folder and in a pack.
inline std::string program() {
    return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "tessera").string();
}

inline std::string text_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

struct Outcome {
    int code = -1;  ///< Exit code, or 128 + the signal that ended it.
    std::string out, err;
};

/// Tests that run the command line in a scratch folder of their own.
class ProgramTest : public ::testing::Test {
  protected:
    void SetUp() override {
        if (!std::filesystem::exists(program())) GTEST_SKIP() << program() << " was not found";
        folder_ = scratch_folder();
    }
    void TearDown() override {
        if (!folder_.empty()) std::filesystem::remove_all(folder_);
    }

    std::string path(const std::string& name) const { return folder_ + "/" + name; }

    std::string write(const std::string& name, const std::string& text) const {
        std::ofstream(path(name)) << text;
        return path(name);
    }

    /// Names of the temporary files in the scratch folder.
    Words temporary_files() const {
        Words names;
        for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
            const std::string name = entry.path().filename().string();
            if (name.starts_with(".tessera-")) names.push_back(name);
        }
        return names;
    }

    /// Starts a program in the scratch folder; signals that end it have their default action, even
    /// if the tests ignore them.
    pid_t start(const Words& command) const {
        std::vector<char*> arguments;
        for (const std::string& word : command)
            arguments.push_back(const_cast<char*>(word.c_str()));
        arguments.push_back(nullptr);
        posix_spawn_file_actions_t files;
        posix_spawn_file_actions_init(&files);
        const int flags = O_WRONLY | O_CREAT | O_TRUNC;
        posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
        posix_spawn_file_actions_addopen(&files, 1, path("stdout").c_str(), flags, 0600);
        posix_spawn_file_actions_addopen(&files, 2, path("stderr").c_str(), flags, 0600);
        posix_spawn_file_actions_addchdir_np(&files, folder_.c_str());
        posix_spawnattr_t attributes;
        posix_spawnattr_init(&attributes);
        sigset_t signals;
        sigemptyset(&signals);
        for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGXFSZ}) sigaddset(&signals, signal);
        posix_spawnattr_setsigdefault(&attributes, &signals);
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
        pid_t child = -1;
        const int error =
            posix_spawn(&child, arguments[0], &files, &attributes, arguments.data(), environ);
        posix_spawn_file_actions_destroy(&files);
        posix_spawnattr_destroy(&attributes);
        EXPECT_EQ(error, 0);
        return error == 0 ? child : -1;
    }

    /// Whether a temporary file has contents: one that is empty may only show that writing is
    /// possible.
    bool is_writing() const {
        for (const std::string& name : temporary_files()) {
            std::error_code error;
            const auto bytes = std::filesystem::file_size(path(name), error);
            if (!error && bytes > 0) return true;
        }
        return false;
    }

    /// Starts a program that writes for a second or more, and stops it in between; a signal sent
    /// now is handled before the program continues. Returns -1 if that failed.
    pid_t start_and_stop_writing(const Words& command) const {
        const pid_t child = start(command);
        if (child <= 0) return -1;
        siginfo_t ended = {};
        for (int k = 0; k < 60000 && !is_writing() && ended.si_pid == 0; ++k) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            ::waitid(P_PID, id_t(child), &ended, WEXITED | WNOHANG | WNOWAIT);
        }
        ::kill(child, SIGSTOP);
        int status = 0;
        ::waitpid(child, &status, WUNTRACED);
        EXPECT_TRUE(WIFSTOPPED(status)) << text_of(path("stderr"));
        EXPECT_EQ(temporary_files().size(), 1u);
        return WIFSTOPPED(status) ? child : -1;
    }

    /// Sends a signal to a stopped program.
    Outcome end_by(pid_t child, int signal) const {
        if (child <= 0) return {};
        ::kill(child, signal);
        ::kill(child, SIGCONT);
        return wait(child);
    }

    Outcome wait(pid_t child) const {
        int status = 0;
        EXPECT_EQ(::waitpid(child, &status, 0), child);
        return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
                text_of(path("stdout")), text_of(path("stderr"))};
    }

    Outcome run(Words words) const {
        words.insert(words.begin(), program());
        return wait(start(words));
    }

    /// As `run`, with at most this much address space.
    Outcome run_within(int mebibytes, Words words) const {
        const std::string limit = std::to_string(mebibytes * 1024);
        words.insert(words.begin(),
                     {"/bin/sh", "-c", "ulimit -v " + limit + "; exec \"$@\"", "sh", program()});
        return wait(start(words));
    }

  private:
    std::string folder_;
};

}  // namespace tessera::test
