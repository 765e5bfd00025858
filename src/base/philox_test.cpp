#include "base/philox.hpp"

#include "support/test.hpp"

namespace tessera {
namespace {

void expect_words(const philox::Words& words, std::uint32_t a, std::uint32_t b, std::uint32_t c,
                  std::uint32_t d) {
    EXPECT_EQ(words.words[0], a);
    EXPECT_EQ(words.words[1], b);
    EXPECT_EQ(words.words[2], c);
    EXPECT_EQ(words.words[3], d);
}

/// The known answers that the authors publish with Random123.
TEST(philox, known_answers) {
    expect_words(philox::words({{0, 0, 0, 0}}, 0, 0), 0x6627e8d5, 0xe169c58d, 0xbc57ac4c,
                 0x9b00dbd8);
    const std::uint32_t ones = 0xffffffff;
    expect_words(philox::words({{ones, ones, ones, ones}}, ones, ones), 0x408f276d, 0x41c83b0e,
                 0xa20bc7c6, 0x6d5451fd);
    expect_words(
        philox::words({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, 0xa4093822, 0x299f31d0),
        0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1);
}

TEST(philox, seed_stream_and_position_form_key_and_counter) {
    expect_words(philox::words(0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88),
                 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1);
}

TEST(philox, unit_interval_excludes_one) {
    const std::uint32_t ones = 0xffffffff;
    EXPECT_EQ(philox::unit_interval<double>(0, 0), 0);
    EXPECT_EQ(philox::unit_interval<float>(0, 0), 0);
    EXPECT_EQ(philox::unit_interval<double>(ones, ones), 1 - 0x1p-53);
    EXPECT_EQ(philox::unit_interval<float>(ones, ones), 1 - 0x1p-24f);
    EXPECT_EQ(philox::unit_interval<double>(0x80000000, 0), 0.5);
}

}  // namespace
}  // namespace tessera
