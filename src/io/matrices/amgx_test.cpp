#include "io/io_test.hpp"
#include "support/test.hpp"

namespace tessera::io {
namespace {

struct Read {
    std::string matrix;  ///< As `described`, or the message.
    FileHeader header;
};

Read read(const std::string& text) {
    Read result;
    const std::string path = write_text(test::scratch_folder() + "/a.mtx", text);
    result.matrix = outcome(
        [&] { return described(read_matrix<double>(test::host(), path, &result.header).view()); });
    return result;
}

const std::string banner = "%%MatrixMarket matrix coordinate real general\n";
const std::string entries = "1 1 4\n1 2 -1\n2 1 -1\n2 2 4\n";

TEST(amgx, right_hand_sides_with_and_without_their_number_of_elements) {
    for (const std::string word : {"%%NVAMG", "%%AMGX"}) {
        for (const std::string vector : {"2\n5\n6\n", "5\n6\n", "5 6"}) {
            const Read found = read(banner + word + " 1 1 sorted rhs\n2 2 4\n" + entries + vector);
            EXPECT_EQ(found.matrix, "2x2 (1,1)=4 (1,2)=-1 (2,1)=-1 (2,2)=4");
            EXPECT_EQ(found.header.right_hand_side, (std::vector<double>{5, 6}));
            EXPECT_EQ(found.header.note, "");
        }
        const Read both = read(banner + "% a comment\n" + word + " rhs solution\n2 2 4\n" +
                               entries + "2\n5\n6\n2\n7\n8\n");
        EXPECT_EQ(both.header.right_hand_side, (std::vector<double>{5, 6}));
        EXPECT_EQ(both.header.note, "The solution in the file was not read.");
    }
    EXPECT_EQ(read(banner + "%%NVAMG sorted\n2 2 4\n" + entries).header.right_hand_side,
              std::vector<double>());
}

TEST(amgx, blocks_with_a_separate_diagonal) {
    const Read found = read(banner +
                            "%%NVAMG 2 2 diagonal sorted rhs\n4 4 4\n1 3 5\n1 4 6\n2 3 7\n2 4 8\n"
                            "1 2 3 4\n9 10 11 12\n4\n1\n1\n1\n1\n");
    EXPECT_EQ(found.matrix,
              "4x4 (1,1)=1 (1,2)=2 (1,3)=5 (1,4)=6 (2,1)=3 (2,2)=4 (2,3)=7 (2,4)=8 (3,3)=9 "
              "(3,4)=10 (4,3)=11 (4,4)=12");
    EXPECT_EQ(found.header.right_hand_side, (std::vector<double>(4, 1)));
}

TEST(amgx, symmetric_and_from_zero) {
    EXPECT_EQ(read("%%MatrixMarket matrix coordinate real symmetric\n%%AMGX base0\n2 2 2\n0 0 4\n"
                   "1 0 -1\n")
                  .matrix,
              "2x2 (1,1)=4 (1,2)=-1 (2,1)=-1");
}

TEST(amgx, faults_are_named) {
    const auto fault = [](const std::string& text) { return read(text).matrix; };
    EXPECT_NE(fault(banner + "%%AMGX rhs\n2 2 4\n" + entries + "5\n").find("expected 2 numbers"),
              std::string::npos);
    EXPECT_NE(fault(banner + "%%AMGX\n2 2 3\n1 1 4\n2 2  100000000\n").find("the file ends before"),
              std::string::npos);
    EXPECT_NE(
        fault(banner + "%%AMGX\n2 2 4\n1 1 4\n1 3 4\n2 1 1\n2 2 2\n").find("a.mtx:5: column 3"),
        std::string::npos);
    EXPECT_NE(fault(banner + "%%AMGX 3 3\n2 2 4\n" + entries).find("do not divide"),
              std::string::npos);
    EXPECT_NE(fault(banner + "%%AMGX 0\n2 2 4\n" + entries).find("block size 0"),
              std::string::npos);
}

TEST(plain_text, is_read_as_vectors) {
    const auto read = [](const std::string& text, Index rows) {
        const std::string path = write_text(test::scratch_folder() + "/b.txt", text);
        return outcome([&] {
            std::string numbers;
            for (const double x : read_vectors<double>(test::host(), path, rows)) {
                numbers += shortest(x) + ";";
            }
            return numbers;
        });
    };
    for (const std::string text :
         {"1\n2\n3\n", "1 2 3", "1,2,3\n", "# load\n1; 2\n3\n", "3\n1\n2\n3\n",
          "\xef\xbb\xbf"
          "1\r\n2\r\n3\r\n",
          "%%MatrixMarket vector array real general\n3\n1\n2\n3\n",
          "%%MatrixMarket matrix array real general\n1 3\n1\n2\n3\n"}) {
        EXPECT_EQ(read(text, 3), "1;2;3;") << text;
    }
    // The columns of a table one after the other.
    EXPECT_EQ(read("1 4\n2 5\n3 6\n", 3), "1;2;3;4;5;6;");
    EXPECT_EQ(read("%%MatrixMarket matrix array real general\n3 2\n1\n2\n3\n4\n5\n6\n", 3),
              "1;2;3;4;5;6;");
    EXPECT_EQ(read("%%MatrixMarket matrix coordinate real general\n3 2 2\n1 1 1\n3 2 6\n", 3),
              "1;0;0;0;0;6;");
    EXPECT_NE(read("1\n2\n", 3).find("expected vectors of 3 elements, found 2"), std::string::npos);
    EXPECT_NE(read("%%MatrixMarket matrix array real general\n3 0\n", 3).find("found no column"),
              std::string::npos);
    EXPECT_NE(read("1\nx\n3\n", 3).find("b.txt:2: value 'x'"), std::string::npos);
    for (const std::string word : {"nan", "-Inf", "1e400"}) {  // Numbers, in the first line, too.
        EXPECT_NE(read(word + "\n1\n2\n", 3).find("b.txt:1: value '" + word + "' is "),
                  std::string::npos)
            << read(word + "\n1\n2\n", 3);
    }
    EXPECT_NE(read("rows\n", 3).find("the format is not known"), std::string::npos);
    // Decimal commas, or columns of integers: nobody knows.
    for (const std::string text :
         {"1,5\n2,25\n", "1,0", "# load\n1,5 2,5\n", "-1,5e3;2,0\n3,0\n"}) {
        const std::string found = read(text, 2);
        EXPECT_NE(found.find("commas divide numbers"), std::string::npos) << text << ": " << found;
        EXPECT_NE(found.find(text[0] == '#' ? "b.txt:2:" : "b.txt:1:"), std::string::npos) << found;
    }
    EXPECT_EQ(read("1, 3\n2, 4\n", 2), "1;2;3;4;");
    // Empty cells of a table; a comma may end a line.
    EXPECT_EQ(read("1,2,\n3,", 3), "1;2;3;");
    for (const std::string text : {"1\n2,,3\n", "1\n,2\n3\n", "1\n2; ;3\n", "1\n2,3,,\n"}) {
        const std::string found = read(text, 3);
        EXPECT_NE(found.find("b.txt:2: a number is missing"), std::string::npos) << text << found;
    }
    EXPECT_EQ(read("1,3.\n2,4\n", 2), "1;2;3;4;");
    EXPECT_EQ(read("1,-3\n2,4\n", 2), "1;2;-3;4;");
}

}  // namespace
}  // namespace tessera::io
