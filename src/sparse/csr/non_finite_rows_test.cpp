#include "support/test.hpp"

namespace tessera::test {

namespace {

template <class T>
void check_first_row() {
    using Limits = std::numeric_limits<T>;
    const Context device = context();
    const std::size_t rows = 700;
    std::vector<std::vector<Index>> columns(rows);
    std::vector<std::vector<T>> values(rows);
    for (std::size_t i = 0; i < rows; ++i) {
        if (i % 3 != 0) columns[i] = {Index(i - 1), Index(i)};  // Others are empty.
        values[i].assign(columns[i].size(), i % 2 == 0 ? Limits::max() : Limits::denorm_min());
    }
    const auto found = [&] {
        return first_non_finite_row(
            device, copy_to(device, make_csr(Index(rows), Index(rows), columns, values).view()));
    };
    EXPECT_EQ(found(), -1);
    values[698][1] = Limits::quiet_NaN();
    EXPECT_EQ(found(), 698);
    values[301][0] = -Limits::infinity();
    EXPECT_EQ(found(), 301);
    values[1][0] = Limits::infinity();
    EXPECT_EQ(found(), 1);
}

}  // namespace

TEST(non_finite_rows, the_first_row_is_found) {
    check_first_row<float>();
    check_first_row<double>();
    const Context device = context();
    EXPECT_EQ(
        first_non_finite_row(
            device, copy_to(device, make_csr<double>(3, 3, {{}, {}, {}}, {{}, {}, {}}).view())),
        -1);
}

}  // namespace tessera::test
