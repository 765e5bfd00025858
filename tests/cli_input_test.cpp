#include <sys/stat.h>

#include <thread>

#include "support/command_line.hpp"

// Inputs that are far larger than what they hold, and sizes far above the memory.

namespace tessera::test {
namespace {

const std::string banner = "%%MatrixMarket matrix coordinate real general\n";

class cli_input : public CommandLineTest {
  protected:
    /// Less address space than any of these inputs has bytes.
    static constexpr int mebibytes = 400;

    void SetUp() override {
        CommandLineTest::SetUp();
        if (!IsSkipped() && run_within(mebibytes, {"--version"}).code != 0) {
            GTEST_SKIP() << "the program needs more than " << mebibytes << " MiB (sanitizer)";
        }
    }

    Outcome info(const std::string& file) const {
        return run_within(mebibytes, {"info", file, "--threads", "2"});
    }
    void expect_refused(const std::string& file, const std::string& reason) const {
        const Outcome outcome = info(file);
        EXPECT_EQ(outcome.code, 2) << file;
        EXPECT_EQ(outcome.err, "tessera: " + file + reason + "\n");
    }

    /// A file that begins with a text, without blocks on the disk for the zeros after it.
    std::string sparse_file(const std::string& name, const std::string& text,
                            std::uintmax_t bytes = std::uintmax_t(8) << 30) const {
        const std::string file = write(name, text);
        std::error_code error;
        std::filesystem::resize_file(file, bytes, error);
        return error ? "" : file;
    }

    /// A gzipped file of the text and 512 MiB of repetitions of a line.
    std::string bomb(const std::string& text, const std::string& line) const {
        write("head", text);
        write("line", line);
        const Outcome made = wait(
            start({"/bin/sh", "-c",
                   "gzip < head > bomb.mtx && yes \"$(cat line)\" | head -c 16777216 | gzip -1 > "
                   "block && "
                   "for k in 0 1 2 3 4 5 6 7; do cat block block block block; done >> bomb.mtx"}));
        EXPECT_EQ(made.code, 0) << made.err;
        return path("bomb.mtx");
    }
};

TEST_F(cli_input, endless_inputs_are_judged_by_their_beginning) {
    expect_refused("/dev/zero",
                   ":1: the format is not known; files that can be read: Matrix Market (first word "
                   "%%MatrixMarket), Harwell-Boeing, Rutherford-Boeing, PETSc binary. The file "
                   "starts with '" +
                       std::string(60, '?') + "...'");
}

TEST_F(cli_input, a_header_before_a_hole_of_gigabytes) {
    if (sparse_file("hole", "").empty()) GTEST_SKIP() << "the file system has no files of 8 GiB";
    expect_refused(sparse_file("a.mtx", banner + "2 2 2\n1 1 1\n"),
                   ":4: the line is longer than 1 MiB");
    expect_refused(sparse_file("b.mtx", banner + "2 2 1\n1 1 1\n2 2 1\n"),
                   ":4: expected the end of the file after 1 entries, found another");
    expect_refused(sparse_file("c.mtx", "%%MatrixMarket matrix array real general\n1 2\n1\n"),
                   ":4: the line is longer than 1 MiB");
    expect_refused(
        sparse_file("d.rua", "title\n 3 1 1 1\nrua 2 2 2 0\n(3I2) (2I2) (2F3.0)\n 1 2 3\n 1 2\n"),
        ":7: the line is longer than 1 MiB");
    expect_refused(sparse_file("e.msh", "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n2\n1 0 0 "),
                   ":6: the line is longer than 1 MiB");
    // 2 x 2 with two entries; their 24 bytes and those of the rows are zeros.
    const std::string petsc("\x00\x12\x7b\x50\0\0\0\2\0\0\0\2\0\0\0\2\0\0\0\1\0\0\0\1", 24);
    expect_refused(sparse_file("f.petsc", petsc),
                   ": is longer (8589934592 bytes) than a sparse matrix of 2 x 2 with 2 entries "
                   "(48 bytes), and no other object follows; complex numbers or precisions other "
                   "than double are not supported");
}

TEST_F(cli_input, gzipped_files_that_unzip_to_more_than_the_memory) {
    const std::string file = bomb(banner + "2 2 2\n1 1 1\n", "%" + std::string(1000, '-'));
    EXPECT_LT(std::filesystem::file_size(file), 8u << 20);
    const Outcome outcome = info(file);
    EXPECT_EQ(outcome.code, 2);
    expect_contains(outcome.err, ": expected 2 entries, but the file ends after 1\n");
    std::filesystem::resize_file(file, std::filesystem::file_size(file) - 9);
    expect_refused(file, ": the gzip stream is broken: it ends too early");
    bomb(banner + "2 2 2\n1 1 1\n" + std::string(1 << 21, ' '), " ");
    expect_refused(file, ":4: the line is longer than 1 MiB");
}

TEST_F(cli_input, headers_that_claim_too_much) {
    expect_refused(write("a.mtx", banner + "9 9 1000000000000000\n1 1 1\n"),
                   ":2: 1000000000000000 entries are claimed, but only 6 bytes follow; the file is "
                   "truncated or its sizes are wrong");
    expect_refused(write("b.mtx", banner + "9 9 9223372036854775808\n1 1 1\n"),
                   ":2: number of entries '9223372036854775808' is out of range");
    // The length of a pipe is not known.
    const std::string pipe = path("pipe");
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    for (const char* entries : {"1000000000000000", "9223372036854775807"}) {
        std::thread writer([&] {
            sigset_t broken_pipe;  // The reader ends before the file does.
            sigemptyset(&broken_pipe);
            sigaddset(&broken_pipe, SIGPIPE);
            ::pthread_sigmask(SIG_BLOCK, &broken_pipe, nullptr);
            std::ofstream(pipe) << banner << "9 9 " << entries << "\n"
                                << std::string(1 << 20, '%') << "\n1 1 1\n";
        });
        const Outcome outcome = info(pipe);
        writer.join();
        expect_contains(outcome.err, "tessera: reading " + pipe + " needs about ");
        expect_contains(outcome.err, " of host memory, but ");
    }
}

TEST_F(cli_input, generated_problems_larger_than_the_memory_are_refused_by_name) {
    for (const std::string problem : {"poisson2d:30000",
                                      "poisson3d:1000",
                                      "tridiagonal:2000000000",
                                      "elasticity2d:20000",
                                      "elasticity3d:420",
                                      "elasticity3d:300,element=tet4",
                                      "cantilever3d:200",
                                      "plate_hole:10000",
                                      "arrow:2000000000",
                                      "block_diagonal:2000000,2000000",
                                      "random_blocks:1000000",
                                      "kkt:500000000",
                                      "qpband:1000000000",
                                      "bordered:2000000000",
                                      "stokes:20000",
                                      "darcy:20000",
                                      "helmholtz:40000",
                                      "schroedinger:1000",
                                      "shell:40000",
                                      "circuit:40000",
                                      "convection3d:1000"}) {
        const Outcome outcome = run_within(mebibytes, {"info", problem});
        EXPECT_NE(outcome.code, 0) << problem;
        EXPECT_EQ(outcome.err.find("tessera: " + problem + " needs about "), 0u) << outcome.err;
        expect_contains(outcome.err, " of host memory, but ");
    }
    expect_contains(run({"info", "poisson3d:2147483647"}).err, "more than 2^31 - 1 unknowns");
}

/// Waits until the process has begun to read the file, or has ended.
void wait_for_reading(pid_t process, const std::string& file) {
    const std::string folder = "/proc/" + std::to_string(process);
    for (;;) {
        std::error_code error;
        for (const auto& entry : std::filesystem::directory_iterator(folder + "/fd", error)) {
            if (std::filesystem::read_symlink(entry, error) != file) continue;
            std::ifstream about(folder + "/fdinfo/" + entry.path().filename().string());
            long long position = 0;
            std::string word;
            if (about >> word >> position && position > 1 << 22) return;
        }
        siginfo_t ended{};
        ::waitid(P_PID, id_t(process), &ended, WEXITED | WNOHANG | WNOWAIT);
        if (ended.si_pid != 0) return;
        std::this_thread::yield();
    }
}

TEST_F(cli_input, a_file_truncated_by_another_program_while_it_is_read) {
    // A dense matrix of zeros takes seconds to read and no memory.
    const std::string header("\x00\x12\x7b\x50\0\0\xb5\x04\0\0\xb5\x04\xff\xff\xff\xff", 16);
    const std::string file = sparse_file("a.petsc", header, 16 + 8 * std::uintmax_t(46340) * 46340);
    if (file.empty()) GTEST_SKIP() << "the file system has no files of 16 GiB";
    const pid_t process = start({program(), "info", file});
    wait_for_reading(process, file);
    std::filesystem::resize_file(file, 1 << 20);
    const Outcome outcome = wait(process);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_EQ(outcome.err,
              "tessera: " + file + ": changed while it was read; read it when it is complete\n");
}

}  // namespace
}  // namespace tessera::test
