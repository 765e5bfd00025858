#include "io/io_test.hpp"

#include <filesystem>
#include <map>

#include "support/test.hpp"

namespace tessera::io {
namespace {

/// A square matrix with values of every magnitude, symmetric or skew-symmetric on request.
template <class T>
CsrMatrix<T> random_matrix(std::mt19937_64& random, Index n, Index entries_per_row,
                           Symmetry symmetry = Symmetry::general) {
    std::vector<std::map<Index, T>> rows(static_cast<std::size_t>(n));
    std::uniform_int_distribution<Index> column(0, n - 1);
    std::uniform_int_distribution<int> exponent(-30, 30);
    std::uniform_real_distribution<double> mantissa(-1, 1);
    for (Index i = 0; i < n; ++i) {
        for (Index k = 0; k < entries_per_row; ++k) {
            const Index j = column(random);
            const T value = std::ldexp(T(mantissa(random)), exponent(random));
            rows[std::size_t(i)][j] = value;
            if (symmetry == Symmetry::symmetric) rows[std::size_t(j)][i] = value;
            if (symmetry == Symmetry::skew_symmetric) {
                rows[std::size_t(j)][i] = -value;
                if (i == j) rows[std::size_t(i)].erase(i);
            }
        }
    }
    std::vector<std::vector<Index>> pattern;
    std::vector<std::vector<T>> values;
    for (const auto& row : rows) {
        pattern.emplace_back();
        values.emplace_back();
        for (const auto& [j, value] : row) {
            pattern.back().push_back(j);
            values.back().push_back(value);
        }
    }
    return test::make_csr<T>(n, n, pattern, values);
}

template <class T>
void round_trip(Symmetry symmetry) {
    auto random = test::generator();
    const std::string folder = test::scratch_folder();
    // Large enough for several pieces of text.
    const auto matrix = random_matrix<T>(random, 12000, 6, symmetry);
    for (const char* ending : {"/a.mtx", "/a.mtx.gz", "/a.petsc"}) {
        const std::string path = folder + ending;
        write_matrix(test::host(3), path, matrix.view(), symmetry);
        FileHeader header;
        const auto back = read_matrix<T>(test::host(2), path, &header);
        EXPECT_TRUE(same_bits(back.view(), matrix.view())) << path;
        const bool petsc = path.ends_with(".petsc");
        EXPECT_EQ(header.symmetry, petsc ? Symmetry::general : symmetry);
        EXPECT_EQ(header.duplicates, 0);
    }
}

TEST(io, matrices_come_back_bitwise) {
    round_trip<double>(Symmetry::general);
    round_trip<float>(Symmetry::general);
    round_trip<double>(Symmetry::symmetric);
    round_trip<float>(Symmetry::skew_symmetric);
}

TEST(io, the_bytes_written_do_not_depend_on_threads) {
    auto random = test::generator();
    const std::string folder = test::scratch_folder();
    const auto matrix = random_matrix<double>(random, 12000, 6);
    for (const char* ending : {".mtx", ".mtx.gz", ".petsc"}) {
        const std::string one = folder + "/one" + ending;
        write_matrix(test::host(1), one, matrix.view());
        for (const int threads : {2, 7}) {
            const std::string many = folder + "/many" + ending;
            write_matrix(test::host(threads), many, matrix.view());
            EXPECT_EQ(read_text(one), read_text(many)) << threads;
        }
    }
}

TEST(io, vectors_come_back_bitwise) {
    auto random = test::generator();
    const std::string folder = test::scratch_folder();
    for (const std::size_t size : {std::size_t(0), std::size_t(1), std::size_t(70000)}) {
        const auto vector = test::random_vector<double>(random, size);
        for (const char* ending : {"/x.mtx", "/x.mtx.gz", "/x.petsc"}) {
            write_vector<double>(test::host(), folder + ending, vector);
            EXPECT_EQ(read_vector<double>(test::host(3), folder + ending), vector);
        }
        const std::vector<float> narrow(vector.begin(), vector.end());
        write_vector<float>(test::host(), folder + "/x.mtx", narrow);
        EXPECT_EQ(read_vector<float>(test::host(), folder + "/x.mtx"), narrow);
    }
}

TEST(io, values_that_underflow_in_float_are_refused_where_they_matter) {
    const auto matrix_of = [](const std::string& text) {
        return outcome([&] {
            const std::string path = write_text(test::scratch_folder() + "/a", text);
            return described(read_matrix<float>(test::host(), path).view());
        });
    };
    const std::string sparse = "%%MatrixMarket matrix coordinate real general\n";
    const std::string dense = "%%MatrixMarket matrix array real general\n";
    EXPECT_EQ(matrix_of(sparse + "2 2 3\n1 1 1\n1 2 1e-60\n2 2 2\n"),
              "2x2 (1,1)=1 (1,2)=0 (2,2)=2");
    EXPECT_EQ(matrix_of(dense + "2 2\n1\n0\n1e-60\n2\n"), "2x2 (1,1)=1 (1,2)=0 (2,2)=2");
    const std::string range = " is out of range of single precision";
    const auto ends_with = [](const std::string& text, const std::string& end) {
        EXPECT_TRUE(text.ends_with(end)) << text;
    };
    ends_with(matrix_of(sparse + "2 2 2\n1 1 1\n2 2 1e-60\n"),
              "value 1e-60 in row 2, column 2" + range);
    ends_with(matrix_of(dense + "2 2\n1\n0\n0\n1e-60\n"), "value 1e-60 in row 2, column 2" + range);
    const std::string path = write_text(test::scratch_folder() + "/x", dense + "2 1\n0\n1e-50\n");
    ends_with(outcome([&] {
                  read_vector<float>(test::host(), path);
                  return std::string();
              }),
              "value 1e-50 in row 2, the largest of the vector," + range);
}

std::string vector_of(const std::string& text) {
    const std::string path = write_text(test::scratch_folder() + "/x", text);
    std::string message = outcome([&] {
        std::string numbers;
        for (const double x : read_vector<double>(test::host(), path)) numbers += shortest(x) + ";";
        return numbers;
    });
    const std::size_t at = message.find(path);
    return at == std::string::npos ? message : message.replace(at, path.size(), "f");
}

TEST(io, vectors_are_read_in_every_form) {
    EXPECT_EQ(vector_of("%%MatrixMarket matrix array real general\n3 1\n1\n0\n2\n"), "1;0;2;");
    EXPECT_EQ(vector_of("%%MatrixMarket matrix array integer general\n1 2\n1\n-2\n"), "1;-2;");
    EXPECT_EQ(vector_of("%%MatrixMarket matrix array real symmetric\n1 1\n4\n"), "4;");
    EXPECT_EQ(vector_of("%%MatrixMarket matrix coordinate real general\n3 1 2\n3 1 5\n1 1 2\n"),
              "2;0;5;");
    EXPECT_EQ(vector_of("%%MatrixMarket matrix coordinate pattern general\n1 3 1\n1 2\n"),
              "0;1;0;");
    EXPECT_EQ(vector_of("%%MatrixMarket matrix array real general\n2 2\n1\n0\n2\n3\n"),
              "f: expected a vector (one row or one column), found a matrix of 2 x 2");
    EXPECT_EQ(vector_of("1\n2\n"), "1;2;");
    EXPECT_EQ(vector_of("one\n2\n"),
              "f:1: the format is not known; files that can be read: Matrix Market (first word "
              "%%MatrixMarket), PETSc binary vectors, plain text with numbers alone. The file "
              "starts with 'one'");
}

TEST(io, a_file_that_cannot_be_read_says_why) {
    const std::string folder = test::scratch_folder();
    const auto message = [&](const std::string& name) {
        return outcome([&] {
            read_matrix<double>(test::host(), folder + "/" + name);
            return std::string();
        });
    };
    write_text(folder + "/matrix.mtx", "");
    write_text(folder + "/text.mtx", "1 2 3\n");
    EXPECT_EQ(message("matirx.mtx"), folder + "/matirx.mtx: there is no such file; did you mean '" +
                                         folder + "/matrix.mtx'?");
    std::filesystem::create_symlink("gone.mtx", folder + "/link.mtx");
    EXPECT_EQ(message("link.mtx"),
              folder + "/link.mtx: there is no file 'gone.mtx', to which this link leads");
    EXPECT_EQ(message("else.bin"), folder + "/else.bin: there is no such file");
    EXPECT_EQ(message("none/matrix.mtx"), folder + "/none/matrix.mtx: there is no such file");
    EXPECT_EQ(message("matrix.mtx"), folder + "/matrix.mtx: the file is empty");
    EXPECT_EQ(message("."), folder + "/.: is a folder, not a file");
    EXPECT_EQ(message("text.mtx"),
              folder +
                  "/text.mtx:1: the format is not known; files that can be read: Matrix Market "
                  "(first word %%MatrixMarket), Harwell-Boeing, Rutherford-Boeing, PETSc "
                  "binary. The file starts with '1 2 3'");
}

TEST(io, files_of_other_programs_are_named) {
    const std::string file = test::scratch_folder() + "/a";
    const auto message = [&](const std::string& bytes) {
        write_text(file, bytes);
        return outcome([&] {
            read_matrix<double>(test::host(), file);
            return std::string();
        });
    };
    const std::string tar = std::string(257, 'a') + "ustar" + std::string(250, ' ');
    for (const auto& [bytes, name] : std::vector<std::pair<std::string, std::string>>{
             {std::string("PK\x03\x04", 4) + "more", ".npz"},
             {"\xfd"
              "7zXZ more",
              "xz -d"},
             {"BZh91AY", "bunzip2"},
             {tar, "tar -xf"},
             {"MATLAB 5.0 MAT-file, Platform", "loadmat"},
             {"\x93NUMPY", "numpy.load"},
             {"\xff\xfe%", "UTF-8"}}) {
        EXPECT_NE(message(bytes).find(name), std::string::npos) << message(bytes);
    }
}

TEST(io, time_limits_end_reading) {
    const std::string path = test::scratch_folder() + "/a.mtx";
    const auto matrix = problems::generate<double>(test::host(), "poisson2d:20").matrix;
    write_matrix(test::host(), path, matrix.view());
    const TimeLimit limit(0);
    EXPECT_THROW(read_matrix<double>(test::host(), path), Stopped);
}

TEST(io, gzip_is_recognised_by_content) {
    const std::string folder = test::scratch_folder();
    const auto matrix = test::make_csr<double>(2, 2, {{0}, {1}}, {{3}, {4}});
    write_matrix(test::host(), folder + "/a.mtx.gz", matrix.view());
    std::filesystem::rename(folder + "/a.mtx.gz", folder + "/a.mtx");
    EXPECT_EQ(described(read_matrix<double>(test::host(), folder + "/a.mtx").view()),
              "2x2 (1,1)=3 (2,2)=4");
    const std::string zipped = read_text(folder + "/a.mtx");
    const auto read = [&](const std::string& bytes) {
        write_text(folder + "/b", bytes);
        return outcome(
            [&] { return described(read_matrix<double>(test::host(), folder + "/b").view()); });
    };
    EXPECT_EQ(read(zipped + std::string(512, '\0')), "2x2 (1,1)=3 (2,2)=4");
    EXPECT_EQ(read(zipped.substr(0, zipped.size() - 9)),
              folder + "/b: the gzip stream is broken: it ends too early");
    EXPECT_EQ(
        read(zipped + "<html>"),
        folder + "/b: the gzip stream is broken: bytes follow its end that are no gzip stream");
    std::string damaged = zipped;
    damaged[damaged.size() - 6] ^= 1;
    EXPECT_EQ(read(damaged), folder + "/b: the gzip stream is broken: incorrect data check");
    EXPECT_EQ(read("\x1f\x8b"), folder + "/b: the gzip stream is broken: it ends too early");
}

TEST(io, harwell_boeing_and_petsc_are_told_by_content) {
    const std::string folder = test::scratch_folder();
    FileHeader header;
    write_text(folder + "/a.mtx",
               "t\n 3 1 1 1\nrua 2 2 1 0\n(3I2) (2I2) (2F3.0)\n 1 2 2\n 1\n 7.\n");
    EXPECT_EQ(described(read_matrix<double>(test::host(), folder + "/a.mtx", &header).view()),
              "2x2 (1,1)=7");
    EXPECT_EQ(header.format, "Rutherford-Boeing");
    const auto matrix = test::make_csr<double>(2, 2, {{0}, {1}}, {{3}, {4}});
    write_matrix(test::host(), folder + "/b.petsc", matrix.view());
    std::filesystem::rename(folder + "/b.petsc", folder + "/b.mtx");
    EXPECT_EQ(described(read_matrix<double>(test::host(), folder + "/b.mtx", &header).view()),
              "2x2 (1,1)=3 (2,2)=4");
    EXPECT_EQ(header.format, "PETSc");
}

TEST(io, a_file_that_cannot_be_written_says_why) {
    const std::string folder = test::scratch_folder();
    const auto matrix = test::make_csr<double>(2, 2, {{0, 1}, {0}}, {{3, 1}, {2}});
    const auto message = [&](const std::string& name, Symmetry symmetry = Symmetry::general) {
        return outcome([&] {
            write_matrix(test::host(), folder + "/" + name, matrix.view(), symmetry);
            return std::string();
        });
    };
    EXPECT_EQ(message("a.txt"), folder +
                                    "/a.txt: the ending chooses the format. Valid: .mtx, "
                                    ".mtx.gz, .petsc");
    EXPECT_EQ(message("none/a.mtx"),
              folder + "/none/a.mtx: cannot be written: No such file or directory");
    if (std::filesystem::exists("/dev/full")) {
        for (const char* name : {"full.mtx", "full.mtx.gz", "full.petsc"}) {
            std::filesystem::create_symlink("/dev/full", folder + "/" + name);
            EXPECT_EQ(message(name),
                      folder + "/" + name + ": cannot be written: No space left on device");
        }
        EXPECT_TRUE(std::filesystem::exists("/dev/full"));
    }
    EXPECT_EQ(message("a.mtx", Symmetry::symmetric),
              "write_matrix: the matrix is not symmetric: entries (0, 1) and (1, 0) differ");
    EXPECT_EQ(message("a.mtx", Symmetry::skew_symmetric),
              "write_matrix: the matrix is not skew-symmetric: entry (0, 0) is not 0");
    EXPECT_FALSE(std::filesystem::exists(folder + "/a.mtx"));
}

TEST(io, what_could_not_be_read_back_is_not_written) {
    const std::string path = test::scratch_folder() + "/a.mtx";
    const auto rejected = [&](const CsrMatrix<double>& matrix, Symmetry symmetry) {
        return outcome([&] {
            write_matrix(test::host(), path, matrix.view(), symmetry);
            return std::string();
        });
    };
    write_text(path, "what was there");
    EXPECT_EQ(rejected(test::make_csr<double>(1, 2, {{0, 1}}, {{3, NAN}}), Symmetry::general),
              "write_matrix: value 1 (counted from 0) is not finite and could not be read back");
    EXPECT_EQ(rejected(test::make_csr<double>(1, 2, {{0, 1}}, {{3, 1}}), Symmetry::symmetric),
              "write_matrix: the matrix is not symmetric: 1 x 2");
    EXPECT_EQ(
        rejected(test::make_csr<double>(2, 2, {{0, 1}, {}}, {{3, 1}, {}}), Symmetry::symmetric),
        "write_matrix: the matrix is not symmetric: entry (0, 1) is stored, (1, 0) is not");
    EXPECT_EQ(read_text(path), "what was there");
    const std::vector<double> vector = {1, 2, INFINITY};
    EXPECT_EQ(outcome([&] {
                  write_vector<double>(test::host(), path, vector);
                  return std::string();
              }),
              "write_vector: value 2 (counted from 0) is not finite and could not be read back");
}

/// The matrices of the folder as its manifest describes them.
TEST(io, real_matrices_have_the_sizes_of_their_manifest) {
    const std::string folder = test::matrix_folder();
    if (folder.empty()) GTEST_SKIP() << "TESSERA_TEST_MATRICES names no folder of matrices";
    std::ifstream manifest(folder + "/MANIFEST.csv");
    if (!manifest) GTEST_SKIP() << folder << " has no MANIFEST.csv";
    std::string line;
    std::getline(manifest, line);
    int read = 0;
    while (std::getline(manifest, line)) {
        std::vector<std::string> cells(1);
        for (const char c : line) {
            if (c == ',') {
                cells.emplace_back();
            } else {
                cells.back() += c;
            }
        }
        ASSERT_GE(cells.size(), 7u) << line;
        const std::string path = folder + "/" + cells[0] + ".mtx.gz";
        FileHeader header;
        const std::string found = outcome([&] {
            const auto matrix = read_matrix<double>(test::host(), path, &header);
            validate(matrix.view());
            return std::to_string(matrix.rows()) + "," + std::to_string(matrix.columns()) + "," +
                   std::to_string(matrix.nonzeros()) + "," + header.field;
        });
        if (cells[5] == "complex") {
            EXPECT_EQ(
                found,
                path +
                    ":1: complex matrices are not supported; write A + iB as the real [A -B; B A]");
            continue;
        }
        EXPECT_EQ(found, cells[1] + "," + cells[2] + "," + cells[4] + "," + cells[5]) << path;
        EXPECT_EQ(header.duplicates, 0) << path;
        ++read;
    }
    EXPECT_GT(read, 0);
}

}  // namespace
}  // namespace tessera::io
