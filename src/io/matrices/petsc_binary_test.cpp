#include "io/formats.hpp"

#include <bit>

#include "io/io_test.hpp"
#include "support/test.hpp"

namespace tessera::io {
namespace {

/// Big-endian bytes of 32-bit integers.
std::string words_of(const std::vector<std::int32_t>& words) {
    std::string bytes;
    for (const std::int32_t word : words) {
        for (int shift = 24; shift >= 0; shift -= 8) bytes += char(std::uint32_t(word) >> shift);
    }
    return bytes;
}

std::string reals_of(const std::vector<double>& reals) {
    std::string bytes;
    for (const double real : reals) {
        const auto word = std::bit_cast<std::uint64_t>(real);
        for (int shift = 56; shift >= 0; shift -= 8) bytes += char(word >> shift);
    }
    return bytes;
}

const std::string matrix_bytes =
    words_of({1211216, 2, 3, 3, 2, 1, 0, 2, 1}) + reals_of({1, -2.5, 1e300});

std::string read(const std::string& bytes) {
    return outcome([&] {
        FileHeader header;
        const auto matrix = parse_petsc_matrix({test::host(), bytes, "f", &header});
        return described(matrix.view(), header);
    });
}

std::string read_values(const std::string& bytes) {
    return outcome([&] {
        std::string text;
        for (const double x : parse_petsc_vector({test::host(), bytes, "f"})) {
            text += shortest(x) + ";";
        }
        return text;
    });
}

TEST(petsc_binary, reads_matrices) {
    EXPECT_TRUE(is_petsc_binary(matrix_bytes));
    EXPECT_EQ(read(matrix_bytes), "2x3 (1,1)=1 (1,3)=-2.5 (2,2)=1e+300");
    EXPECT_EQ(read(words_of({1211216, 1, 2, 3, 3, 1, 0, 1}) + reals_of({1, 2, 3})),
              "1x2 (1,1)=2 (1,2)=4 1 duplicate");
    EXPECT_EQ(read(words_of({1211216, 2, 2, -1}) + reals_of({1, 2, 0, 4})),
              "2x2 (1,1)=1 (1,2)=2 (2,2)=4");
    EXPECT_EQ(read(words_of({1211216, 0, 0, 0})), "0x0");
}

TEST(petsc_binary, reads_vectors) {
    EXPECT_EQ(read_values(words_of({1211214, 2}) + reals_of({0.1, -3})), "0.1;-3;");
    EXPECT_EQ(read_values(words_of({1211214, 0})), "");
}

TEST(petsc_binary, the_first_of_several_objects_is_read) {
    const std::string vector = words_of({1211214, 1}) + reals_of({7});
    EXPECT_EQ(read(matrix_bytes + vector), read(matrix_bytes));
    EXPECT_EQ(read_values(vector + matrix_bytes), "7;");
}

TEST(petsc_binary, the_vector_after_a_matrix_is_its_right_hand_side) {
    const auto header_of = [](const std::string& bytes) {
        FileHeader header;
        parse_petsc_matrix({test::host(), bytes, "f", &header});
        return header;
    };
    const std::string square = words_of({1211216, 2, 2, 2, 1, 1, 0, 1}) + reals_of({4, 5});
    const std::string two = words_of({1211214, 2}) + reals_of({1, 2});
    EXPECT_TRUE(header_of(square).right_hand_side.empty());
    EXPECT_EQ(header_of(square + two).right_hand_side, (std::vector<double>{1, 2}));
    EXPECT_EQ(header_of(square + two + two).right_hand_side, (std::vector<double>{1, 2}));
    const FileHeader other = header_of(square + words_of({1211214, 1}) + reals_of({7}));
    EXPECT_TRUE(other.right_hand_side.empty());
    EXPECT_NE(other.note.find("another size"), std::string::npos);
}

TEST(petsc_binary, says_what_is_wrong) {
    EXPECT_EQ(read(words_of({0, 1211216, 0, 2})),
              "f: was written by a PETSc with 64-bit indices, which Tessera does not read; write "
              "it by a PETSc configured without --with-64-bit-indices");
    EXPECT_TRUE(is_petsc_binary(words_of({0, 1211216, 0, 2})));
    EXPECT_EQ(read(std::string("\x50\x7b\x12\x00\x01\x00\x00\x00", 8)),
              "f: is a little-endian PETSc file; PETSc's own are big-endian");
    EXPECT_TRUE(is_petsc_binary(std::string("\x50\x7b\x12\x00\x01\x00\x00\x00", 8)));
    EXPECT_EQ(read(words_of({1211214, 0})), "f: is a PETSc vector, but a matrix is expected");
    EXPECT_EQ(read_values(matrix_bytes), "f: is a PETSc matrix, but a vector is expected");
    EXPECT_EQ(read(words_of({1211216, 2})), "f: is truncated: its header has 16 bytes");
    EXPECT_EQ(read_values(words_of({1211214})), "f: is truncated: its header has 8 bytes");
    EXPECT_EQ(read(matrix_bytes.substr(0, matrix_bytes.size() - 1)),
              "f: is truncated: a sparse matrix of 2 x 3 with 3 entries takes 60 bytes, the file "
              "has 59");
    EXPECT_EQ(
        read(words_of({1211216, 1000000, 1000000, -1})),
        "f: is truncated: a dense matrix of 1000000 x 1000000 with 1000000000000 entries takes "
        "8000000000016 bytes, the file has 16");
    EXPECT_EQ(
        read(matrix_bytes + reals_of({1, 2, 3})),
        "f: is longer (84 bytes) than a sparse matrix of 2 x 3 with 3 entries (60 bytes), and "
        "no other object follows; complex numbers or precisions other than double are not "
        "supported");
    EXPECT_EQ(read(words_of({1211216, -1, 3, 0})), "f: -1 rows: a size cannot be negative");
    EXPECT_EQ(read(words_of({1211216, 1, 3, -2})), "f: claims -2 nonzeros");
    EXPECT_EQ(read(words_of({1211216, 1, 2000000, 0, 0})),
              "f: 2000000 columns are claimed by a file of only 20 bytes; allow empty rows "
              "(--allow-empty-rows) if that is right");
    EXPECT_EQ(read(words_of({1211216, 2, 3, 2, 3, -1, 0, 1}) + reals_of({1, 2})),
              "f: the length 3 of row 0 does not fit 2 nonzeros");
    EXPECT_EQ(read(words_of({1211216, 1, 3, 2, 1, 0, 1}) + reals_of({1, 2})),
              "f: the lengths of the rows sum to 1, not to 2 nonzeros");
    EXPECT_EQ(read(words_of({1211216, 1, 3, 1, 1, 3}) + reals_of({1})),
              "f: column 3 in row 0 is not within 0..2");
    EXPECT_EQ(read(words_of({1211216, 1, 3, 1, 1, 2}) + reals_of({INFINITY})),
              "f: value 1 is not finite");
    EXPECT_EQ(read_values(words_of({1211214, 2}) + reals_of({1})),
              "f: is truncated: a vector of 2 elements takes 24 bytes, the file has 16");
    EXPECT_EQ(read_values(words_of({1211214, -2})), "f: claims -2 elements");
}

TEST(petsc_binary, writes_what_petsc_writes) {
    const std::string path = test::scratch_folder() + "/a.petsc";
    const auto matrix = parse_petsc_matrix({test::host(), matrix_bytes, "f"});
    write_matrix(test::host(), path, matrix.view());
    EXPECT_EQ(read_text(path), matrix_bytes);
    const std::vector<double> vector = {0.1, -3};
    write_vector<double>(test::host(), path, vector);
    EXPECT_EQ(read_text(path), words_of({1211214, 2}) + reals_of({0.1, -3}));
}

}  // namespace
}  // namespace tessera::io
