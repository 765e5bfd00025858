#include "io/formats.hpp"
#include "io/io_test.hpp"
#include "support/test.hpp"

namespace tessera::io {
namespace {

std::string read(const std::string& text) {
    return outcome([&] {
        FileHeader header;
        const auto matrix = parse_harwell_boeing({test::host(), text, "f", &header});
        return header.format + ", " + header.field + ": " + described(matrix.view(), header);
    });
}

/// [1 2 0; 0 3 0; 4 0 5] by columns.
const std::string unsymmetric =
    "a title                                                                 key     \n"
    "             3             1             1             1             0\n"
    "RUA                        3             3             5             0\n"
    "(4I4)           (5I4)           (5F4.1)             \n"
    "   1   3   5   6\n"
    "   1   3   1   2   3\n"
    " 1.0 4.0 2.0 3.0 5.0\n";
const std::string unsymmetric_described = "3x3 (1,1)=1 (1,2)=2 (2,2)=3 (3,1)=4 (3,3)=5";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
}

TEST(harwell_boeing, reads_the_real_unsymmetric_form) {
    EXPECT_TRUE(is_harwell_boeing(unsymmetric));
    EXPECT_EQ(read(unsymmetric), "Harwell-Boeing, real: " + unsymmetric_described);
    std::string crlf;
    for (const char c : unsymmetric) crlf += c == '\n' ? std::string("\r\n") : std::string(1, c);
    EXPECT_EQ(read(crlf), "Harwell-Boeing, real: " + unsymmetric_described);
}

TEST(harwell_boeing, four_numbers_of_lines_mean_rutherford_boeing) {
    const std::string text = replaced(
        replaced(unsymmetric, "             1             0\n", "             1\n"), "RUA", "rua");
    EXPECT_EQ(read(text), "Rutherford-Boeing, real: " + unsymmetric_described);
}

/// The text with right-hand sides: their type and number, and what follows the values.
std::string with_right_hand_sides(const std::string& sides, const std::string& numbers) {
    std::string text =
        replaced(unsymmetric, "             1             0\n", "             1             1\n");
    text = replaced(text, "(5F4.1)             \n",
                    "(5F4.1)             (3F4.1)             \n" + sides + "             0\n");
    return text + numbers;
}

FileHeader header_of(const std::string& text) {
    FileHeader header;
    parse_harwell_boeing({test::host(), text, "f", &header});
    return header;
}

TEST(harwell_boeing, the_first_right_hand_side_is_read) {
    const std::string one = with_right_hand_sides("F                          1", " 9.0 8.0 7.0\n");
    EXPECT_EQ(read(one), "Harwell-Boeing, real: " + unsymmetric_described);
    EXPECT_EQ(header_of(one).right_hand_side, (std::vector<double>{9, 8, 7}));
    EXPECT_EQ(header_of(one).note, "");
    const FileHeader two = header_of(
        with_right_hand_sides("FGX                        2", " 9.0 8.0 7.0\n 1.0 2.0 3.0\n"));
    EXPECT_EQ(two.right_hand_side, (std::vector<double>{9, 8, 7}));
    EXPECT_NE(two.note.find("2 right-hand sides"), std::string::npos);
    const FileHeader sparse =
        header_of(with_right_hand_sides("M                          1", " 9.0\n"));
    EXPECT_TRUE(sparse.right_hand_side.empty());
    EXPECT_NE(sparse.note.find("not read"), std::string::npos);
    EXPECT_TRUE(header_of(unsymmetric).right_hand_side.empty());
    std::string without = one;
    without.replace(without.find("(3F4.1)"), 7, 7, ' ');
    EXPECT_TRUE(header_of(without).right_hand_side.empty());
    EXPECT_NE(header_of(without).note.find("no format"), std::string::npos);
}

TEST(harwell_boeing, a_short_right_hand_side_is_an_error) {
    EXPECT_THROW(header_of(with_right_hand_sides("F                          1", " 9.0 8.0\n")),
                 ParseError);
}

TEST(harwell_boeing, symmetric_skew_pattern_integer_rectangular) {
    const std::string head = "t\n  3 1 1 1\n";
    EXPECT_EQ(read(head + "rsa                        2             2             2             0\n"
                          "(3I2) (2I2) (2E8.1)\n 1 3 3\n 1 2\n 1.0E+00-2.5E+00\n"),
              "Rutherford-Boeing, real: 2x2 (1,1)=1 (1,2)=-2.5 (2,1)=-2.5");
    EXPECT_EQ(read(head + "rza                        2             2             1             0\n"
                          "(3I2) (2I2) (2E8.1)\n 1 2 2\n 2\n 1.0D+00\n"),
              "Rutherford-Boeing, real: 2x2 (1,2)=-1 (2,1)=1");
    EXPECT_EQ(read(head + "psa                        2             2             2             0\n"
                          "(3I2) (2I2)\n 1 3 3\n 1 2\n"),
              "Rutherford-Boeing, pattern: 2x2 (1,1)=1 (1,2)=1 (2,1)=1");
    EXPECT_EQ(read(head + "ira                        1             3             2             0\n"
                          "(4I2) (2I2) (2I3)\n 1 2 2 3\n 1 1\n -7 12\n"),
              "Rutherford-Boeing, integer: 1x3 (1,1)=-7 (1,3)=12");
    EXPECT_EQ(read(head + "RRA                        1             2             2             0\n"
                          "(4I2) (2I2) (2F3.0)\n 1 3 3\n 1 1\n 1. 2.\n"),
              "Rutherford-Boeing, real: 1x2 (1,1)=3 1 duplicate");
    EXPECT_EQ(read("t\n 3 1 1 1\nrua 2 2 1 0\n(3I2) (2I2) (2F3.0)\n 1 2 2\n 1\n 7.\n"),
              "Rutherford-Boeing, real: 2x2 (1,1)=7");
}

TEST(harwell_boeing, numbers_of_another_width_than_the_format_says) {
    EXPECT_EQ(read(replaced(unsymmetric, " 1.0 4.0 2.0 3.0 5.0", "  1.0  4.0  2.0  3.0  5.0")),
              "Harwell-Boeing, real: " + unsymmetric_described);
    EXPECT_EQ(read(replaced(unsymmetric, "   1   3   5   6", "1 3 5 6")),
              "Harwell-Boeing, real: " + unsymmetric_described);
    // Without blanks between them only the format tells the numbers apart.
    EXPECT_EQ(read(replaced(replaced(unsymmetric, " 1.0 4.0 2.0 3.0 5.0", "1.004.002.003.005.00"),
                            "   1   3   1   2   3", "00010003000100020003")),
              "Harwell-Boeing, real: " + unsymmetric_described);
}

TEST(harwell_boeing, says_what_is_wrong_and_where) {
    const auto broken = [](const std::string& from, const std::string& to) {
        return read(replaced(unsymmetric, from, to));
    };
    EXPECT_EQ(broken("RUA", "CUA"),
              "f:3: complex matrices are not supported; write A + iB as the real [A -B; B A]");
    EXPECT_EQ(broken("RUA", "CHA"),
              "f:3: complex matrices are not supported; write A + iB as the real [A -B; B A]");
    EXPECT_EQ(broken("RUA", "RHA"),
              "f:3: hermitian matrices are not supported; of a real one write symmetric");
    EXPECT_EQ(broken("RUA", "RUE"), "f:3: elemental (unassembled) matrices are not supported");
    EXPECT_EQ(broken("RUA", "QUA"),
              "f:3: matrices with their values in another file are not supported");
    EXPECT_EQ(broken("RUA", "PZA"), "f:3: a pattern has no signs and cannot be skew-symmetric");
    EXPECT_EQ(
        broken("RUA                        3", "XYZ 3"),
        "f:3: expected a type such as RUA, RSA or PUA, found 'XYZ 3             3             "
        "5             0'");
    EXPECT_EQ(broken("RUA                        3", "RSA                        4"),
              "f:3: a symmetric matrix must be square, not 4 x 3");
    EXPECT_EQ(broken("(4I4)           (5I4)           (5F4.1)", "(4I4)           (5I4)"),
              "f:4: expected 3 formats such as (13I6), found '(4I4)           (5I4)'");
    EXPECT_EQ(
        broken("(5F4.1)", "(5Z4.1)"),
        "f:6: the format '(5Z4.1)' of the values cannot be used: 'Z' is not one of I, E, D, F, "
        "G, P, X");
    EXPECT_EQ(broken("   1   3   5   6", "   1   3   2   6"),
              "f:5: column start 2 is not within 3..6");
    EXPECT_EQ(broken("   1   3   5   6", "   0   3   5   6"),
              "f:5: column start 0 is not within 1..1");
    EXPECT_EQ(broken("   1   3   5   6", "   1   3   5   5"),
              "f:5: the column starts end at 5, but 5 entries are claimed");
    EXPECT_EQ(broken("   1   3   1   2   3", "   1   4   1   2   3"),
              "f:6: row index 4 is not within 1..3");
    EXPECT_EQ(broken("   1   3   1   2   3", "   1   3   1   2"),
              "f:6: expected 5 row indices in the format (5I4), found 4");
    EXPECT_EQ(broken(" 1.0 4.0", " 1.0 x.0"), "f:7: value 'x.0' is not a number");
    EXPECT_EQ(broken(" 1.0 4.0", " 1.0 nan"), "f:7: value 'nan' is not finite");
    EXPECT_EQ(broken(" 1.0 4.0 2.0 3.0 5.0\n", ""),
              "f:6: the file ends where values should follow");
    EXPECT_EQ(broken("             5             0\n", "   90000000000             0\n"),
              "f:3: 3 columns and 90000000000 entries are claimed by a file of only 335 bytes");
}

TEST(harwell_boeing, other_texts_are_told_apart) {
    EXPECT_FALSE(is_harwell_boeing(""));
    EXPECT_FALSE(is_harwell_boeing("a\nb\nrua 1 1 1 0\n"));
    EXPECT_FALSE(is_harwell_boeing("a\nb\nthe third line\n(4I4)\n"));
}

std::string laid_out(const std::string& format) {
    std::string text;
    std::vector<FortranField> fields;
    try {
        fields = parse_fortran_format(format);
    } catch (const InputError& error) {
        return error.message;
    }
    for (const FortranField& field : fields) {
        text += (text.empty() ? "" : " ") + std::to_string(field.begin) + "+" +
                std::to_string(field.width) + (field.integer ? "i" : "");
    }
    return text;
}

TEST(harwell_boeing, formats_of_fortran) {
    EXPECT_EQ(laid_out("(3I6)"), "0+6i 6+6i 12+6i");
    EXPECT_EQ(laid_out("(i10)"), "0+10i");
    EXPECT_EQ(laid_out("(1P,2D16.8)"), "0+16 16+16");
    EXPECT_EQ(laid_out("(1P2D16.8)"), "0+16 16+16");
    EXPECT_EQ(laid_out("( 2 E 20.12 )"), "0+20 20+20");
    EXPECT_EQ(laid_out("(2(1X,E22.15))"), "1+22 24+22");
    EXPECT_EQ(laid_out("(2(1X,E22.15E3),1X,I2)"), "1+22 24+22 47+2i");
    EXPECT_EQ(laid_out("(ES10.3,2G8.2,F4)"), "0+10 10+8 18+8 26+4");
    EXPECT_EQ(laid_out("(2(I2,2(X,I1)))"), "0+2i 3+1i 5+1i 6+2i 9+1i 11+1i");
    EXPECT_EQ(laid_out("3I6"), "'(' expected");
    EXPECT_EQ(laid_out("(3I6"), "')' missing");
    EXPECT_EQ(laid_out("(3I6))"), "text after the last parenthesis");
    EXPECT_EQ(laid_out("(3I)"), "a number without its width");
    EXPECT_EQ(laid_out("(I0)"), "a number without its width");
    EXPECT_EQ(laid_out("(3A6)"), "'A' is not one of I, E, D, F, G, P, X");
    EXPECT_EQ(laid_out("(3X)"), "no number in it");
    EXPECT_EQ(laid_out("()"), "no number in it");
    EXPECT_EQ(laid_out("(-3I6)"), "a sign without P");
    EXPECT_EQ(laid_out("(I4,(2I6))"), "numbers before a group");
    EXPECT_EQ(laid_out("(99999999I1)"), "too many items");
    EXPECT_EQ(laid_out("(9999(9999(9999())))"), "too many items");
    EXPECT_EQ(laid_out("(2I65000)"), "the line is too long");
    EXPECT_EQ(laid_out("((((((((((((I1))))))))))))"), "parentheses nested too deep");
}

TEST(harwell_boeing, numbers_of_fortran) {
    const FortranField plain{0, 8, 2, 0, false};
    EXPECT_EQ(fortran_number("1.5", plain), "1.5");
    EXPECT_EQ(fortran_number("1234", plain), "12.34");
    EXPECT_EQ(fortran_number("-5", plain), "-0.05");
    EXPECT_EQ(fortran_number("12", plain), "0.12");
    EXPECT_EQ(fortran_number("123E4", plain), "1.23E4");
    EXPECT_EQ(fortran_number("123+4", plain), "1.23+4");
    EXPECT_EQ(fortran_number("1.0E 05", plain), "1.0E05");
    EXPECT_EQ(fortran_number("nan", plain), "nan");
    EXPECT_EQ(fortran_number("-", plain), "-");
    const FortranField scaled{0, 8, 2, 1, false};
    EXPECT_EQ(fortran_number("1.5D+03", scaled), "1.5D+03");
    EXPECT_EQ(fortran_number("15.0", scaled), "15.0E-1");
    EXPECT_EQ(fortran_number("1500", scaled), "15.00E-1");
    const FortranField integer{0, 8, 0, 0, true};
    EXPECT_EQ(fortran_number("1 2", integer), "12");
}

}  // namespace
}  // namespace tessera::io
