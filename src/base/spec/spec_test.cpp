#include "support/messages.hpp"

namespace tessera {
namespace {

using test::message_of;

TEST(spec, parses_values_flags_and_keys) {
    Spec spec = "random_blocks:1000,8,sizes=1-32,free";
    EXPECT_EQ(spec.name(), "random_blocks");
    EXPECT_EQ(spec.integer(0, 0, 1, 5000), 1000);
    EXPECT_EQ(spec.integer(1, 0, 1, 5000), 8);
    EXPECT_EQ(spec.word("sizes", ""), "1-32");
    EXPECT_TRUE(spec.flag("free"));
    EXPECT_FALSE(spec.flag("other"));
    EXPECT_NO_THROW(spec.finish());
    EXPECT_EQ(spec.normalised(), "random_blocks:1000,8,free,sizes=1-32");
}

TEST(spec, name_alone_and_first_value_may_be_a_word) {
    EXPECT_EQ(Spec("jacobi").normalised(), "jacobi");
    EXPECT_EQ(Spec("jacobi,singular=shift").normalised(), "jacobi,singular=shift");
    EXPECT_EQ(Spec("blocks:file.txt").word(0, ""), "file.txt");
}

TEST(spec, unknown_key_names_the_nearest_and_all_valid_ones) {
    Spec spec = "block_jacobi:32,singluar=stop";
    spec.integer(0, 32, 1, 32);
    spec.word("singular", "stop");
    spec.word("blocks", "supervariable");
    EXPECT_EQ(message_of([&] { spec.finish(); }),
              "block_jacobi: unknown option 'singluar'; did you mean 'singular'? "
              "Valid: singular, blocks");
}

TEST(spec, nothing_is_near_a_very_long_word) {
    const std::string word(100, 'a');
    EXPECT_EQ(nearest_word(word + "b", {word + "c"}), "");
    EXPECT_EQ(nearest_word(word, {word + "c"}), word + "c");
    EXPECT_EQ(nearest_word(std::string(std::size_t(1) << 20, 'a'), {"stop", word}), "");
}

TEST(spec, nothing_is_near_a_word_without_a_letter_of_it) {
    EXPECT_EQ(nearest_word("-", {"e"}), "");
    EXPECT_EQ(nearest_word("cq", {"xy", "cg"}), "cg");
}

TEST(spec, rejects_invalid_texts) {
    EXPECT_EQ(message_of([] { Spec(""); }), "an option text needs a name: ''");
    for (const std::string text : {"a:1,,b", "a:", "a:1,", "a:=2"}) {
        EXPECT_EQ(message_of([&] { Spec{text}; }),
                  "something is missing in '" + text + "'; write NAME[:VALUE][,OPTION=VALUE]");
    }
    Spec plain = "cg,fast";
    EXPECT_EQ(message_of([&] { plain.finish(); }), "cg: unknown option 'fast'; there are none");
    EXPECT_EQ(message_of([] { Spec("a:1,b=1,b=2"); }), "'b' is given twice in 'a:1,b=1,b=2'");
    Spec spec = "idr:99";
    EXPECT_EQ(message_of([&] { spec.integer(0, 4, 1, 16); }), "idr: 99 is not within 1..16");
    Spec words = "idr:many";
    EXPECT_EQ(message_of([&] { words.integer(0, 4, 1, 16); }), "idr: 'many' is not an integer");
    Spec extra = "cg:3";
    EXPECT_EQ(message_of([&] { extra.finish(); }), "cg takes no value, not '3'");
    Spec choice = "p,singular=shfit";
    EXPECT_EQ(message_of([&] {
                  choice.word("singular", "stop", {"stop", "shift"});
              }),
              "p: unknown value of singular 'shfit'; did you mean 'shift'? Valid: stop, shift");
}

TEST(spec, numbers_in_the_forms_of_old_files) {
    const std::vector<std::pair<std::string, double>> good = {
        {"1", 1},     {"+1.5", 1.5},     {"-0", -0.0},       {"1.0D+00", 1},
        {"1.0d0", 1}, {"1.0+05", 1.0e5}, {"2.5-3", 2.5e-3},  {".5", 0.5},
        {"5.", 5},    {"-1.E-3", -1e-3}, {"1e-320", 1e-320}, {"-1.25D-02", -0.0125}};
    for (const auto& [text, value] : good) {
        double number = 99;
        EXPECT_EQ(parse_real(text, number), "") << text;
        EXPECT_EQ(number, value) << text;
    }
    const std::vector<std::pair<std::string, std::string>> bad = {
        {"", "not a number"},        {"x", "not a number"},    {"1x", "not a number"},
        {"+-1", "not a number"},     {"++1", "not a number"},  {"1e400", "out of range"},
        {"-1D400", "out of range"},  {"nan", "not finite"},    {"inf", "not finite"},
        {"-Infinity", "not finite"}, {"1.0D", "not a number"}, {"1.0 ", "not a number"}};
    for (const auto& [text, reason] : bad) {
        double number = 0;
        EXPECT_EQ(parse_real(text, number), reason) << text;
    }
    std::int64_t integer = 0;
    EXPECT_EQ(parse_integer("+12", integer), "");
    EXPECT_EQ(integer, 12);
    EXPECT_EQ(parse_integer("9223372036854775808", integer), "out of range");
    EXPECT_EQ(parse_integer("1.0", integer), "not an integer");
    EXPECT_EQ(parse_integer("+-1", integer), "not an integer");
}

}  // namespace
}  // namespace tessera
