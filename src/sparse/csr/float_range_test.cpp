#include "support/test.hpp"
#include "tessera/operator.hpp"

namespace tessera::test {

namespace {

std::string fault_of(const std::vector<std::vector<Index>>& pattern,
                     const std::vector<std::vector<double>>& values) {
    const auto rows = Index(pattern.size());
    return float_range_fault(make_csr<double>(rows, rows, pattern, values).view());
}

std::string fault_of(const std::vector<double>& vector) { return float_range_fault(vector); }

}  // namespace

TEST(float_range, negligible_values_may_underflow) {
    EXPECT_EQ(fault_of({{0, 1}, {0, 1}}, {{1, 1e-60}, {-1e-300, 1}}), "");
    EXPECT_EQ(fault_of({{0, 1}, {0}}, {{0, 1}, {1}}), "") << "a stored zero stays one";
    EXPECT_EQ(fault_of({{}, {0}}, {{}, {1}}), "");
    EXPECT_EQ(fault_of({{0}}, {{0x1p-126}}), "");
    EXPECT_EQ(fault_of(std::vector<double>{}), "");
    EXPECT_EQ(fault_of(std::vector<double>{0, 0}), "");
    EXPECT_EQ(fault_of(std::vector<double>{1e-50, 0, -0x1p-126}), "");
}

TEST(float_range, what_would_change_the_system_is_named) {
    const std::string range = " is out of range of single precision";
    EXPECT_EQ(fault_of({{0}, {1}}, {{1}, {-1e39}}), "value -1e+39 in row 2, column 2" + range);
    EXPECT_EQ(fault_of({{0, 1}, {0, 1}}, {{1, 2}, {3, 1e-60}}),
              "value 1e-60 in row 2, column 2" + range);
    EXPECT_EQ(fault_of({{0, 1}, {0}}, {{1, 1}, {-1e-39}}),
              "value -1e-39 in row 2, column 1, the largest of the row," + range);
    EXPECT_EQ(fault_of({{0, 1}, {0}}, {{1, 1e-50}, {1}}),
              "value 1e-50 in column 2, the largest of the column," + range);
    EXPECT_EQ(fault_of(std::vector<double>{0, 1e39}), "value 1e+39 in row 2" + range);
    EXPECT_EQ(fault_of(std::vector<double>{0, -1e-39, 1e-40}),
              "value -1e-39 in row 2, the largest of the vector," + range);
}

}  // namespace tessera::test
