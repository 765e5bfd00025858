#include "io/input_stream.hpp"

#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>

#include <filesystem>
#include <thread>

#include "io/formats.hpp"
#include "io/io_test.hpp"
#include "support/test.hpp"

namespace tessera::io {
namespace {

std::string random_lines(std::mt19937_64& random, int count) {
    std::string text;
    for (int k = 0; k < count; ++k) {
        text += std::string(random() % 30, char('a' + k % 26)) + (k + 1 < count ? "\n" : "");
    }
    return text;
}

TEST(input_stream, any_sequence_of_calls_gives_every_byte_once) {
    auto random = test::generator();
    for (int repetition = 0; repetition < 100; ++repetition) {
        const std::string text = random_lines(random, int(random() % 60));
        InputStream stream(text);
        EXPECT_EQ(stream.size(), Offset(text.size()));
        std::string found;
        std::vector<char> memory(100);
        while (stream.position() < Offset(text.size())) {
            EXPECT_EQ(stream.position(), Offset(found.size()));
            const std::size_t bytes = 1 + random() % 50;
            if (const int call = int(random() % 3); call == 0) {
                const std::string_view next = stream.peek(bytes).substr(0, bytes);
                EXPECT_EQ(next, std::string_view(text).substr(found.size(), bytes));
                found += next;
                stream.skip(next.size());
            } else if (call == 1) {
                const std::size_t got = stream.read(memory.data(), bytes);
                EXPECT_TRUE(got == bytes || found.size() + got == text.size());
                found.append(memory.data(), got);
            } else {
                const std::string_view lines = stream.read_lines(bytes, memory);
                EXPECT_TRUE(lines.empty() || lines.back() == '\n');
                found += lines;
            }
        }
        if (found.size() > text.size()) found.pop_back();  // The end of the last line was added.
        EXPECT_EQ(found, text);
    }
}

TEST(input_stream, lines_are_at_most_a_mebibyte_long) {
    const std::string header = "%%MatrixMarket matrix coordinate real general\n";
    const auto read = [&](std::size_t blanks, std::size_t chunk, const std::string& end) {
        const std::string entry = "2 1" + std::string(blanks - 4, ' ') + "5";
        const std::string text = header + "2 2 2\n1 1 3\n" + entry + end;
        return outcome([&] {
            return described(parse_matrix_market({test::host(), text, "f"}, chunk).view());
        });
    };
    for (const std::size_t chunk : {std::size_t(100), default_chunk_bytes, std::size_t(1) << 22}) {
        for (const std::string end : {"", "\n", "\n% a comment\n"}) {
            EXPECT_EQ(read(max_line_bytes, chunk, end), "2x2 (1,1)=3 (2,1)=5");
            EXPECT_EQ(read(max_line_bytes + 1, chunk, end), "f:4: the line is longer than 1 MiB");
            EXPECT_EQ(read(3 * max_line_bytes, chunk, end), "f:4: the line is longer than 1 MiB");
        }
    }
    const std::string comment = header + "%" + std::string(max_line_bytes, '-') + "\n1 1 0\n";
    EXPECT_EQ(outcome([&] {
                  return described(parse_matrix_market({test::host(), comment, "f"}).view());
              }),
              "f:2: the line is longer than 1 MiB");
}

/// A matrix of many more bytes than are read at a time.
std::string large_text() {
    constexpr int n = 400000;
    std::string text = "%%MatrixMarket matrix coordinate real general\n400000 1 400000\n";
    for (int i = 1; i <= n; ++i) text += std::to_string(i) + " 1 1.5\n";
    return text;
}

/// The message of reading a file that change() changes after its first bytes were read.
template <class Change>
std::string read_while(const std::string& path, Change&& change) {
    InputFile file{test::host(), InputStream::open(path), path};
    file.stream.peek(1);
    change();
    return outcome([&] {
        const auto matrix = parse_matrix_market(std::move(file));
        return std::to_string(matrix.nonzeros()) + " entries";
    });
}

TEST(input_stream, a_file_that_changes_while_it_is_read_is_rejected) {
    const std::string path = test::scratch_folder() + "/a.mtx";
    const std::string text = large_text();
    const std::string changed = path + ": changed while it was read; read it when it is complete";
    write_text(path, text);
    EXPECT_EQ(read_while(path, [] {}), "400000 entries");
    EXPECT_EQ(read_while(path, [&] { std::filesystem::resize_file(path, text.size() / 2); }),
              changed);
    write_text(path, text);
    EXPECT_EQ(read_while(path, [&] { std::ofstream(path, std::ios::app) << "\n"; }), changed);
    write_text(path, text);
    const auto later = std::filesystem::last_write_time(path) + std::chrono::hours(1);
    EXPECT_EQ(read_while(path, [&] { std::filesystem::last_write_time(path, later); }), changed);
}

TEST(input_stream, a_pipe_is_read_as_it_is_written) {
    const std::string folder = test::scratch_folder();
    const std::string path = folder + "/pipe";
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    const std::string text = large_text();
    for (const std::string ending : {"", "1 1 1\n"}) {
        std::thread writer([&] {
            std::ofstream pipe(path, std::ios::binary);
            for (std::size_t at = 0; at < text.size(); at += 10007) {
                pipe << std::string_view(text).substr(at, 10007) << std::flush;
            }
            pipe << ending;
        });
        EXPECT_EQ(outcome([&] {
                      const auto matrix = read_matrix<double>(test::host(), path);
                      return std::to_string(matrix.nonzeros()) + " entries";
                  }),
                  ending.empty() ? "400000 entries"
                                 : path +
                                       ":400003: expected the end of the file after 400000 "
                                       "entries, found another");
        writer.join();
    }
}

/// Interrupts the thread that made it every few milliseconds, by a signal with a handler.
class Interruptions {
  public:
    Interruptions() {
        struct sigaction action {};
        action.sa_handler = [](int) {};  // Without SA_RESTART.
        ::sigaction(SIGUSR1, &action, &before_);
        sender_ = std::thread([this, thread = ::pthread_self()] {
            while (!done_) {
                ::pthread_kill(thread, SIGUSR1);
                std::this_thread::sleep_for(std::chrono::milliseconds(2));
            }
        });
    }
    Interruptions(const Interruptions&) = delete;
    Interruptions& operator=(const Interruptions&) = delete;
    ~Interruptions() {
        done_ = true;
        sender_.join();
        ::sigaction(SIGUSR1, &before_, nullptr);
    }

  private:
    struct sigaction before_ {};
    std::atomic<bool> done_ = false;
    std::thread sender_;
};

TEST(input_stream, signals_do_not_end_the_reading_and_writing_of_a_pipe) {
    const std::string path = test::scratch_folder() + "/pipe";
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    const std::string text = "%%MatrixMarket matrix coordinate real general\n3 3 3\n";
    const auto write_slowly = [&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        std::ofstream pipe(path, std::ios::binary);
        pipe << text << std::flush;
        for (const char* line : {"1 1 2\n", "2 2 2\n", "3 3 2\n"}) {
            std::this_thread::sleep_for(std::chrono::milliseconds(30));
            pipe << line << std::flush;
        }
    };
    const auto read = [&] {
        return outcome([&] { return described(read_matrix<double>(test::host(), path).view()); });
    };
    std::thread writer(write_slowly);
    int calls = 0;
    {
        const Interruptions interruptions;
        const InterruptHandler handler([&] { ++calls; });
        EXPECT_EQ(read(), "3x3 (1,1)=2 (2,2)=2 (3,3)=2");
    }
    writer.join();
    EXPECT_GT(calls, 0);
    // A handler that throws ends the read; the pipe has no writer yet.
    {
        const Interruptions interruptions;
        const InterruptHandler handler([] { throw Error("interrupted"); });
        EXPECT_EQ(read(), "interrupted");
    }
    // The reader waits until the pipe is full.
    const std::string large(1 << 20, 'x');
    std::string got;
    std::thread reader([&] {
        std::ifstream pipe(path, std::ios::binary);
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        got.assign(std::istreambuf_iterator<char>(pipe), {});
    });
    {
        const Interruptions interruptions;
        write_file(path, large);
    }
    reader.join();
    EXPECT_EQ(got, large);
}

}  // namespace
}  // namespace tessera::io
