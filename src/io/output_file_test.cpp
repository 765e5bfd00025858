#include <fcntl.h>
#include <unistd.h>

#include <filesystem>

#include "io/file_sections.hpp"
#include "io/io_test.hpp"
#include "support/test.hpp"

namespace tessera::io {
namespace {

/// The message of write_file, or "" if it wrote.
std::string write_message(const std::string& path, const std::string& bytes = "new") {
    return outcome([&] {
        write_file(path, bytes);
        return std::string();
    });
}

Offset files_in(const std::string& folder) {
    return std::distance(std::filesystem::directory_iterator(folder), {});
}

TEST(output_file, a_file_is_replaced_by_another_one) {
    const std::string folder = test::scratch_folder();
    const std::string path = folder + "/a.mtx";
    const auto matrix = test::make_csr<double>(2, 2, {{0, 1}, {0}}, {{3, 1}, {2}});
    write_text(path, "what was there");
    write_text(path + ".part", "of somebody else");
    std::filesystem::permissions(path, std::filesystem::perms(0640));
    std::filesystem::create_hard_link(path, folder + "/old");
    write_matrix(test::host(), path, matrix.view());
    EXPECT_EQ(read_text(folder + "/old"), "what was there");
    EXPECT_EQ(read_text(path + ".part"), "of somebody else");
    EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms(0640));
    EXPECT_EQ(described(read_matrix<double>(test::host(), path).view()),
              "2x2 (1,1)=3 (1,2)=1 (2,1)=2");
    EXPECT_EQ(files_in(folder), 3);
    // The longest name that a folder allows.
    const std::string longest = folder + "/" + std::string(255, 'x');
    EXPECT_EQ(write_message(longest), "");
    EXPECT_EQ(read_text(longest), "new");
    EXPECT_EQ(write_message(longest + "x"), longest + "x: cannot be written: File name too long");
}

TEST(output_file, links_are_followed_to_the_file_that_is_replaced) {
    const std::string folder = test::scratch_folder();
    std::filesystem::create_directory(folder + "/inner");
    write_text(folder + "/target", "what was there, which is longer");
    const auto link = [&](const std::string& target, const std::string& name) {
        std::filesystem::create_symlink(target, folder + "/" + name);
        return folder + "/" + name;
    };
    const std::string relative = link("../target", "inner/link");
    std::filesystem::create_hard_link(folder + "/target", folder + "/old");
    EXPECT_EQ(write_message(link(relative, "twice")), "");
    EXPECT_EQ(read_text(folder + "/target"), "new");
    EXPECT_EQ(read_text(folder + "/old"), "what was there, which is longer");
    EXPECT_TRUE(std::filesystem::is_symlink(folder + "/twice"));
    EXPECT_TRUE(std::filesystem::is_symlink(relative));
    EXPECT_EQ(write_message(link("inner/made", "dangling")), "");
    EXPECT_TRUE(std::filesystem::is_symlink(folder + "/dangling"));
    EXPECT_EQ(read_text(folder + "/inner/made"), "new");
    const std::string loop = link("loop", "loop");
    const std::string says = loop + ": cannot be written: Too many levels of symbolic links";
    EXPECT_EQ(write_message(loop), says);
    EXPECT_EQ(outcome([&] {
                  check_writable(loop);
                  return std::string();
              }),
              says);
    EXPECT_EQ(files_in(folder + "/inner"), 2);
}

TEST(output_file, an_open_file_is_written_in_place) {
    const std::string path = write_text(test::scratch_folder() + "/a", "");
    const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    EXPECT_EQ(::write(file, "first ", 6), 6);
    EXPECT_EQ(write_message("/proc/self/fd/" + std::to_string(file)), "");
    EXPECT_EQ(::write(file, " last", 5), 5);
    ::close(file);
    EXPECT_EQ(read_text(path), "first new last");
}

TEST(output_file, failures_leave_the_file_and_its_folder_as_they_were) {
    const std::string folder = test::scratch_folder();
    const std::string path = write_text(folder + "/a", "what was there");
    // A signal handler may remove the temporary file at any time.
    const FileSection removing = item_section(1, [&](Offset, std::string&) {
        EXPECT_EQ(files_in(folder), 2);
        EXPECT_EQ(remove_temporary_files(), 1);
        EXPECT_EQ(remove_temporary_files(), 0);
    });
    EXPECT_EQ(outcome([&] {
                  write_sections(test::host(), path, false, {removing});
                  return std::string();
              }),
              path + ": cannot be written: No such file or directory");
    const FileSection throwing = item_section(1, [](Offset, std::string&) {
        throw Error("a fault");  // For example out of memory.
    });
    EXPECT_EQ(outcome([&] {
                  write_sections(test::host(), path, false, {text_section("new"), throwing});
                  return std::string();
              }),
              "a fault");
    check_writable(path);
    EXPECT_EQ(remove_temporary_files(), 0);
    EXPECT_EQ(read_text(path), "what was there");
    EXPECT_EQ(files_in(folder), 1);
}

TEST(output_file, a_folder_in_which_no_file_can_be_made_is_found_beforehand) {
    const std::string folder = test::scratch_folder();
    const std::string path = write_text(folder + "/a", "what was there");
    std::filesystem::permissions(path, std::filesystem::perms(0666));
    std::filesystem::permissions(folder, std::filesystem::perms(0555));
    const bool root = ::geteuid() == 0;  // Who may write everywhere.
    if (root) {
        ASSERT_EQ(::seteuid(65534), 0);
    }
    const std::string written = write_message(path);
    const std::string checked = outcome([&] {
        check_writable(path);
        return std::string();
    });
    if (root) {
        ASSERT_EQ(::seteuid(0), 0);
    }
    std::filesystem::permissions(folder, std::filesystem::perms(0755));
    EXPECT_EQ(written, path + ": cannot be written: Permission denied");
    EXPECT_EQ(checked, written);
    EXPECT_EQ(read_text(path), "what was there");
}

TEST(output_file, printable_text_has_no_control_characters_and_is_utf8) {
    const std::vector<std::pair<std::string, std::string>> cases = {
        {"plain 'text'", "plain 'text'"},
        {"a\nb\x1b[2J\x7f", "a\\x0ab\\x1b[2J\\x7f"},
        {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
        {"\xff.mtx", "\\xff.mtx"},
        {"\xc2\x9b"
         "2J",
         "\\xc2\\x9b2J"},                     // CSI, a control character beyond ASCII.
        {"\xe2\x82", "\\xe2\\x82"},           // Cut short.
        {"\xc0\xaf", "\\xc0\\xaf"},           // Longer than necessary.
        {"\xed\xa0\x80", "\\xed\\xa0\\x80"},  // A surrogate.
        {std::string("\0", 1), "\\x00"}};
    for (const auto& [text, shown] : cases) EXPECT_EQ(printable(text), shown);
}

}  // namespace
}  // namespace tessera::io
