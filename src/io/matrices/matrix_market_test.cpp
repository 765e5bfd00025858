#include "io/formats.hpp"
#include "io/matrices/assemble.hpp"

#include <functional>

#include "io/io_test.hpp"
#include "support/test.hpp"

namespace tessera::io {
namespace {

struct Case {
    std::string text;
    std::string expected;  ///< The matrix as `described`, or the message.
};

const std::string general = "%%MatrixMarket matrix coordinate real general\n";

/// Texts that are accepted. A text without a banner gets that of a real, general coordinate file.
const Case good[] = {
    {"2 2 2\n1 1 3\n2 2 4\n", "2x2 (1,1)=3 (2,2)=4"},
    {"2 2 2\n1 1 3\n2 2 4", "2x2 (1,1)=3 (2,2)=4"},
    {"2 2 2\r\n1 1 3\r\n2 2 4\r\n", "2x2 (1,1)=3 (2,2)=4"},
    {"2 2 2\r\n1 1 3\r\n2 2 4\r", "2x2 (1,1)=3 (2,2)=4"},
    {"  2\t2  2 \n\t 1  1\t3 \n 2 2 4\t\n", "2x2 (1,1)=3 (2,2)=4"},
    {"% a\n\n%b\n2 2 2\n\n% c\n1 1 3\n   \n  % d\n2 2 4\n%\n\n", "2x2 (1,1)=3 (2,2)=4"},
    {"2 2 2\n2 2 4\n1 1 3\n", "2x2 (1,1)=3 (2,2)=4"},
    {"1 3 3\n1 3 3\n1 1 1\n1 2 2\n", "1x3 (1,1)=1 (1,2)=2 (1,3)=3"},
    {"2 2 3\n1 1 1\n2 2 4\n1 1 2\n", "2x2 (1,1)=3 (2,2)=4 1 duplicate"},
    {"1 1 3\n1 1 1e16\n1 1 1\n1 1 -1e16\n", "1x1 (1,1)=0 2 duplicates"},
    {"1 1 3\n1 1 1e16\n1 1 -1e16\n1 1 1\n", "1x1 (1,1)=1 2 duplicates"},
    {"0 0 0\n", "0x0"},
    {"3 2 0\n", "3x2"},
    {"0 5 0", "0x5"},
    {"2 2 1\n1 2 0\n", "2x2 (1,2)=0"},
    {"1 1 1\n1 1 1.0D+01\n", "1x1 (1,1)=10"},
    {"1 1 1\n1 1 1.0d1\n", "1x1 (1,1)=10"},
    {"1 1 1\n1 1 1.0+01\n", "1x1 (1,1)=10"},
    {"1 1 1\n1 1 -25.-1\n", "1x1 (1,1)=-2.5"},
    {"1 1 1\n+1 +1 +.5\n", "1x1 (1,1)=0.5"},
    {"1 1 1\n001 0000000000001 1E2\n", "1x1 (1,1)=100"},
    {"1 1 1\n1 1 1e-400\n", "1x1 (1,1)=0"},
    {"1 1 1\n1 1 4.9406564584124654e-324\n", "1x1 (1,1)=5e-324"},
    {"1 1 1\n1 1 1.7976931348623157e308\n", "1x1 (1,1)=1.7976931348623157e+308"},
    {"1 1 1\n1 1 -0\n", "1x1 (1,1)=-0"},
    {"1 1 1\n1 1 123456789012345678901234567890\n", "1x1 (1,1)=1.2345678901234568e+29"},
    {"1000000 1000000 1\n1000000 1000000 1\n", "1000000x1000000 (1000000,1000000)=1"},
    {"%%matrixmarket MATRIX Coordinate REAL General\n1 1 1\n1 1 2\n", "1x1 (1,1)=2"},
    {"%%MatrixMarket\tmatrix  coordinate double general \r\n1 1 1\n1 1 2\n", "1x1 (1,1)=2"},
    {"\xef\xbb\xbf%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 2\n", "1x1 (1,1)=2"},
    {"%%MatrixMarket matrix coordinate integer general\n1 2 2\n1 1 -7\n1 2 9007199254740992\n",
     "1x2 (1,1)=-7 (1,2)=9007199254740992"},
    {"%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 -9223372036854775808\n",
     "1x1 (1,1)=-9223372036854775808"},
    {"%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 +3\n", "1x1 (1,1)=3"},
    {"%%MatrixMarket matrix coordinate pattern general\n2 2 2\n1 2\n2 1\n", "2x2 (1,2)=1 (2,1)=1"},
    {"%%MatrixMarket matrix coordinate pattern symmetric\n2 2 2\n2 1\n1 1\n",
     "2x2 (1,1)=1 (1,2)=1 (2,1)=1"},
    {"%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 3\n2 1 4\n",
     "2x2 (1,1)=3 (1,2)=4 (2,1)=4"},
    {"%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 3\n1 2 4\n",
     "2x2 (1,1)=3 (1,2)=4 (2,1)=4"},
    {"%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 2 3\n2 1 4\n",
     "2x2 (1,2)=7 (2,1)=7 1 duplicate"},
    {"%%MatrixMarket matrix coordinate real symmetric\n1 1 2\n1 1 3\n1 1 4\n",
     "1x1 (1,1)=7 1 duplicate"},
    {"%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 1 4\n",
     "2x2 (1,2)=-4 (2,1)=4"},
    {"%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 2\n2 1 4\n1 1 0.0\n",
     "2x2 (1,1)=0 (1,2)=-4 (2,1)=4"},
    {"%%MatrixMarket matrix coordinate integer skew-symmetric\n2 2 2\n2 1 4\n1 2 1\n",
     "2x2 (1,2)=-3 (2,1)=3 1 duplicate"},
    {"%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n",
     "2x2 (1,1)=1 (1,2)=3 (2,1)=2 (2,2)=4"},
    {"%%MatrixMarket matrix array real general\n% c\n3 1\n1\n0\n\n 2.5 \n",
     "3x1 (1,1)=1 (3,1)=2.5"},
    {"%%MatrixMarket matrix array integer general\n1 2\n1\n-2", "1x2 (1,1)=1 (1,2)=-2"},
    {"%%MatrixMarket matrix array real symmetric\n2 2\n1\n2\n3\n",
     "2x2 (1,1)=1 (1,2)=2 (2,1)=2 (2,2)=3"},
    {"%%MatrixMarket matrix array real skew-symmetric\n3 3\n1\n2\n3\n",
     "3x3 (1,2)=-1 (1,3)=-2 (2,1)=1 (2,3)=-3 (3,1)=2 (3,2)=3"},
    {"%%MatrixMarket matrix array real general\n0 3\n", "0x3"},
    {"%%MatrixMarket matrix array real general\n2 2\n1 2\n\t3\n4.5D0 \n",
     "2x2 (1,1)=1 (1,2)=3 (2,1)=2 (2,2)=4.5"},
    {"%%MatrixMarket matrix array integer symmetric\n2 2\n1 2 3",
     "2x2 (1,1)=1 (1,2)=2 (2,1)=2 (2,2)=3"},
};

/// Texts that are rejected.
const Case bad[] = {
    {"%%MatrixMarket",
     "f:1: the banner needs five words, as in '%%MatrixMarket matrix coordinate "
     "real general', found '%%MatrixMarket'"},
    {" %%MatrixMarketX matrix coordinate real general\n1 1 0\n",
     "f:1: expected a banner such as '%%MatrixMarket matrix coordinate real general', found "
     "'%%MatrixMarketX matrix coordinate real general'"},
    {"%%MatrixMarket vector coordinate real general\n", "f:1: a vector has the format array"},
    {"%%MatrixMarket matrix coordinat real general\n",
     "f:1: unknown format 'coordinat'; did you mean 'coordinate'? Valid: coordinate, array"},
    {"%%MatrixMarket matrix coordinate rael general\n",
     "f:1: unknown field 'rael'; did you mean 'real'? Valid: real, double, integer, "
     "unsigned-integer, pattern"},
    {"%%MatrixMarket matrix coordinate real symetric\n",
     "f:1: unknown symmetry 'symetric'; did you mean 'symmetric'? Valid: general, symmetric, "
     "skew-symmetric"},
    {"%%MatrixMarket matrix coordinate real " + std::string(1000000, 'x') + "\n",
     "f:1: unknown symmetry '" + std::string(60, 'x') +
         "...'. Valid: general, symmetric, skew-symmetric"},
    {"%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 0\n",
     "f:1: complex matrices are not supported; write A + iB as the real [A -B; B A]"},
    {"%%MatrixMarket matrix coordinate real hermitian\n",
     "f:1: hermitian matrices are not supported; of a real one write symmetric"},
    {"%%MatrixMarket matrix array pattern general\n1 1\n1\n",
     "f:1: an array file holds numbers; only coordinate files can be pattern"},
    {"%%MatrixMarket matrix coordinate pattern skew-symmetric\n1 1 0\n",
     "f:1: a pattern has no signs and cannot be skew-symmetric"},
    {"", "f:1: the file ends before its line of sizes, 'rows columns entries'"},
    {"% only\n% comments\n", "f:3: the file ends before its line of sizes, 'rows columns entries'"},
    {"%%MatrixMarket matrix array real general\n",
     "f:1: the file ends before its line of sizes, 'rows columns'"},
    {"2 2\n1 1 1\n", "f:2: expected the sizes 'rows columns entries', found '2 2'"},
    {"2 2 1 1\n1 1 1\n", "f:2: expected the sizes 'rows columns entries', found '2 2 1 1'"},
    {"%%MatrixMarket matrix array real general\n1 1 1\n1\n",
     "f:2: expected the sizes 'rows columns', found '1 1 1'"},
    {"two 2 1\n1 1 1\n", "f:2: number of rows 'two' is not an integer"},
    {"2 2.0 1\n1 1 1\n", "f:2: number of columns '2.0' is not an integer"},
    {"2 2 99999999999999999999\n1 1 1\n",
     "f:2: number of entries '99999999999999999999' is out of range"},
    {"-2 2 1\n1 1 1\n", "f:2: -2 rows: a size cannot be negative"},
    {"2 2 -1\n1 1 1\n", "f:2: a number of entries cannot be negative"},
    {"2147483648 2 1\n1 1 1\n", "f:2: 2147483648 rows: a matrix has at most 2147483647 rows"},
    {"2 5000000 1\n1 1 1\n",
     "f:2: 5000000 columns are claimed by a file of only 64 bytes; allow empty rows "
     "(--allow-empty-rows) if that is right"},
    {"0 2 1\n1 1 1\n", "f:2: a matrix of 0 x 2 cannot have 1 entries"},
    {"2 2 1000000000000\n1 1 1\n",
     "f:2: 1000000000000 entries are claimed, but only 6 bytes follow; the file is truncated or "
     "its sizes are wrong"},
    {"2 2 2\n1 1 1\n",
     "f:2: 2 entries are claimed, but only 6 bytes follow; the file is truncated or its sizes are "
     "wrong"},
    {"%%MatrixMarket matrix array real general\n2147483647 1\n1\n",
     "f:2: 2147483647 rows are claimed by a file of only 56 bytes; allow empty rows "
     "(--allow-empty-rows) if that is right"},
    {"%%MatrixMarket matrix array real general\n1000000 1000000\n1\n",
     "f:2: 1000000000000 entries are claimed (1000000 x 1000000), but only 2 bytes follow; the "
     "file is truncated or its sizes are wrong"},
    {"%%MatrixMarket matrix coordinate real symmetric\n2 3 1\n1 1 1\n",
     "f:2: a symmetric matrix must be square, not 2 x 3"},
    {"%%MatrixMarket matrix array real skew-symmetric\n2 3\n1\n",
     "f:2: a skew-symmetric matrix must be square, not 2 x 3"},
    {"2 2 2\n1 1 1.00000\n", "f:3: expected 2 entries, but the file ends after 1"},
    {"2 2 2\n1 1 1.00000\n\n% end\n", "f:5: expected 2 entries, but the file ends after 1"},
    {"2 2 1\n1 1 1\n2 2 2\n", "f:4: expected the end of the file after 1 entries, found another"},
    {"2 2 1\n1 1 1\n\n2 2 x\n", "f:5: value 'x' is not a number"},
    {"2 2 1\n1 1 1\n2 2 2\n2 2 x\n",
     "f:4: expected the end of the file after 1 entries, found another"},
    {"2 2 1\n0 1 1\n", "f:3: row 0: indices start at 1"},
    {"2 2 1\n1 0 1\n", "f:3: column 0: indices start at 1"},
    {"2 2 1\n3 1 1\n", "f:3: row 3 is not within 1..2"},
    {"2 2 1\n1 3 1\n", "f:3: column 3 is not within 1..2"},
    {"2 2 1\n-1 1 1\n", "f:3: row -1 is not within 1..2"},
    {"2 2 1\n4294967297 1 1\n", "f:3: row 4294967297 is not within 1..2"},
    {"2 2 1\n18446744073709551617 1 1\n", "f:3: row '18446744073709551617' is out of range"},
    {"2 2 1\n1.0 1 1\n", "f:3: row '1.0' is not an integer"},
    {"2 2 1\n1 y 1\n", "f:3: column 'y' is not an integer"},
    {"2 2 1\n1 1 abc\n", "f:3: value 'abc' is not a number"},
    {"2 2 1\n1 1 1.5x\n", "f:3: value '1.5x' is not a number"},
    {"2 2 1\n1 1 1,5\n", "f:3: value '1,5' is not a number"},
    {"2 2 1\n1 1 0x10\n", "f:3: value '0x10' is not a number"},
    {"2 2 1\n1 1 +-1\n", "f:3: value '+-1' is not a number"},
    {"2 2 1\n1 1 nan\n", "f:3: value 'nan' is not finite"},
    {"2 2 1\n1 1 -Inf\n", "f:3: value '-Inf' is not finite"},
    {"2 2 1\n1 1 infinity\n", "f:3: value 'infinity' is not finite"},
    {"2 2 1\n1 1 1e400\n", "f:3: value '1e400' is out of range"},
    {"2 2 1\n1 1\n2 2\n",
     "f:3: expected 'row column value', found '1 1': a file without values has 'pattern' in its "
     "banner"},
    {"2 2 1\n1 1 1 1\n", "f:3: expected 'row column value', found '1 1 1 1'"},
    {"2 2 1\n1 1 1 % why\n", "f:3: expected 'row column value', found '1 1 1 % why'"},
    {"2 2 1\n1\t1 \x01\x80 2\n", "f:3: expected 'row column value', found '1 1 ?? 2'"},
    {"2 2 1\n1 1 1 and a long tail of words that goes on and on and on and on\n",
     "f:3: expected 'row column value', found '1 1 1 and a long tail of words that goes on and on "
     "and on an...'"},
    {"2 2 2\n1 1 1\n2 2     ",
     "f:4: expected 'row column value', found '2 2': a file without values has 'pattern' in its "
     "banner"},
    {"%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 1 1\n",
     "f:3: expected 'row column' (the banner says pattern), found '1 1 1'"},
    {"%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1    \n",
     "f:3: expected 'row column' (the banner says pattern), found '1'"},
    {"%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 1 1.5\n",
     "f:3: value '1.5' is not an integer"},
    {"%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 1 9223372036854775808\n",
     "f:3: value '9223372036854775808' is out of range"},
    {"%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 9007199254740993\n",
     "f:3: value '9007199254740993' is too large to be exact in double precision; declare the "
     "field "
     "real to have it rounded"},
    {"%%MatrixMarket matrix array integer general\n1 1\n9223372036854775807\n",
     "f:3: value '9223372036854775807' is too large to be exact in double precision; declare the "
     "field real to have it rounded"},
    {"%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 1 --1\n",
     "f:3: value '--1' is not an integer"},
    {"%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n1 1 2\n",
     "f:3: the diagonal of a skew-symmetric matrix is zero, found value '2'"},
    {"%%MatrixMarket matrix array real general\n2 1\n1\n2 3\n",
     "f:4: expected the end of the file after 2 entries, found another"},
    {"%%MatrixMarket matrix array real general\n2 1\n1 2x\n", "f:3: value '2x' is not a number"},
    {"%%MatrixMarket matrix array real general\n2 1\n1\nnan\n", "f:4: value 'nan' is not finite"},
    {"%%MatrixMarket matrix array real general\n2 1\n1\n2\n3\n",
     "f:5: expected the end of the file after 2 entries, found another"},
    {"%%MatrixMarket matrix array real general\n2 1\n1.5\n",
     "f:3: expected 2 entries, but the file ends after 1"},
    {"1 1 2\n1 1 1e308\n1 1 1e308\n",
     "f: the entries of row 1, column 1 sum to a number that is not finite"},
};

std::string with_banner(const std::string& text) {
    const bool has = text.find("MatrixMarket") < 8 || text.find("matrixmarket") < 8;
    return has ? text : general + text;
}

std::string read(const std::string& text, int threads, std::size_t chunk_bytes) {
    return outcome([&] {
        FileHeader header;
        const auto matrix =
            parse_matrix_market({Context::cpu(threads), text, "f", &header}, chunk_bytes);
        return described(matrix.view(), header);
    });
}

/// Reads every text with every number of threads and many ways to cut it.
void check(const Case& given) {
    const std::string text = with_banner(given.text);
    for (const std::size_t chunk_bytes : {std::size_t(1), std::size_t(9), default_chunk_bytes}) {
        for (const int threads : {1, 2, 3, 7}) {
            ASSERT_EQ(read(text, threads, chunk_bytes), given.expected)
                << "threads " << threads << ", chunks of " << chunk_bytes << " bytes, text:\n"
                << text;
        }
    }
}

TEST(matrix_market, reads_every_form) {
    for (const Case& given : good) check(given);
}

TEST(matrix_market, says_what_is_wrong_and_where) {
    for (const Case& given : bad) check(given);
}

TEST(matrix_market, banners_that_programs_write) {
    const std::string rest = " matrix coordinate integer general\n1 1 1\n1 1 3\n";
    const std::string expected = read("%%MatrixMarket" + rest, 1, 1);
    EXPECT_EQ(read("%MatrixMarket" + rest, 1, 1), expected);
    EXPECT_EQ(
        read("%%MatrixMarket matrix coordinate unsigned-integer general\n1 1 1\n1 1 3\n", 1, 1),
        expected);
}

TEST(matrix_market, a_text_needs_a_banner) {
    EXPECT_EQ(read("", 1, 1), "f: the text is empty");
    EXPECT_EQ(
        read("1 1 1\n1 1 1\n", 1, 1),
        "f:1: expected a banner such as '%%MatrixMarket matrix coordinate real general', found "
        "'1 1 1'");
}

TEST(matrix_market, empty_rows_are_allowed_on_request) {
    const std::string text = general + "3000000 2 1\n3000000 2 5\n";
    const auto matrix = parse_matrix_market({test::host(), text, "f", nullptr, true});
    EXPECT_EQ(matrix.rows(), 3000000);
    EXPECT_EQ(matrix.nonzeros(), 1);
    EXPECT_NO_THROW(validate(matrix.view()));
}

TEST(matrix_market, header_says_what_the_file_says) {
    FileHeader header;
    parse_matrix_market({test::host(),
                         "%%MatrixMarket matrix coordinate integer symmetric\n3 3 2\n"
                         "1 1 1\n3 1 2\n",
                         "f", &header});
    EXPECT_EQ(header.format, "Matrix Market");
    EXPECT_EQ(header.field, "integer");
    EXPECT_EQ(header.symmetry, Symmetry::symmetric);
    EXPECT_EQ(header.duplicates, 0);
}

std::string random_text(std::mt19937_64& random, const char* symmetry, Index n, Offset entries) {
    std::string text = std::string("%%MatrixMarket matrix coordinate real ") + symmetry + "\n" +
                       std::to_string(n) + " " + std::to_string(n) + " " + std::to_string(entries) +
                       "\n";
    std::uniform_int_distribution<Index> index(1, n);
    std::uniform_real_distribution<double> value(-1, 1);
    for (Offset k = 0; k < entries; ++k) {
        if (random() % 16 == 0) text += "% a comment\n\n";
        Index i = index(random);
        const Index j = index(random);
        if (random() % 4 == 0) i = 1;  // a row long enough for the sort of long rows
        text +=
            std::to_string(i) + " " + std::to_string(j) + " " +
            (i == j && std::string(symmetry) == "skew-symmetric" ? "0"
                                                                 : std::to_string(value(random))) +
            "\n";
    }
    return text;
}

TEST(matrix_market, threads_and_chunks_do_not_change_a_bit) {
    auto random = test::generator();
    for (const char* symmetry : {"general", "symmetric", "skew-symmetric"}) {
        const std::string text = random_text(random, symmetry, 60, 3000);
        FileHeader header;
        const auto expected =
            parse_matrix_market({Context::cpu(1), text, "f", &header}, text.size());
        EXPECT_NO_THROW(validate(expected.view()));
        EXPECT_GT(header.duplicates, 0);
        for (const int threads : {1, 2, 3, 7}) {
            for (const std::size_t chunk : {1, 100, 1000, 100000}) {
                const auto matrix = parse_matrix_market({Context::cpu(threads), text, "f"}, chunk);
                EXPECT_TRUE(same_bits(matrix.view(), expected.view())) << threads << ' ' << chunk;
            }
        }
    }
}

TEST(matrix_market, many_buckets_agree_with_a_dense_sum) {
    auto random = test::generator();
    const Index n = 300;
    const std::string text = random_text(random, "general", n, 200000);
    ASSERT_GT(row_buckets(n, 200000).count, 1);
    std::vector<double> dense(std::size_t(n) * n);
    InputStream stream(text);
    Lines lines(stream);
    std::string_view line;
    for (int header = 0; header < 2; ++header) lines.next(line);
    while (lines.next(line)) {
        const auto parts = words(line);
        if (parts.empty() || parts[0][0] == '%') continue;
        const std::size_t i = std::stoul(std::string(parts[0])) - 1;
        const std::size_t j = std::stoul(std::string(parts[1])) - 1;
        dense[i * n + j] += std::stod(std::string(parts[2]));
    }
    const auto matrix = parse_matrix_market({test::host(), text, "f"});
    const auto view = matrix.view();
    EXPECT_NO_THROW(validate(view));
    for (Index i = 0; i < n; ++i) {
        for (Offset k = view.row_offsets[i]; k < view.row_offsets[i + 1]; ++k) {
            const std::size_t at = std::size_t(i) * n + std::size_t(view.column_indices[k]);
            EXPECT_EQ(view.values[k], dense[at]);
            dense[at] = 0;
        }
    }
    for (const double left : dense) EXPECT_EQ(left, 0);
}

TEST(matrix_market, the_first_bad_line_wins) {
    auto random = test::generator();
    const std::string text = random_text(random, "general", 60, 2000);
    for (int repetition = 0; repetition < 20; ++repetition) {
        std::string broken = text;
        for (int k = 0; k < 5; ++k) {
            const std::size_t at = general.size() + 20 + random() % (text.size() - 100);
            broken[at] = '#';
        }
        const std::string expected = read(broken, 1, broken.size());
        for (const int threads : {1, 2, 3, 7}) {
            for (const std::size_t chunk : {1, 100, 1000}) {
                EXPECT_EQ(read(broken, threads, chunk), expected);
            }
        }
    }
}

}  // namespace
}  // namespace tessera::io
