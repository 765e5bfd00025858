#include <fstream>

#include "support/messages.hpp"

namespace tessera::test {

namespace {

/// Ten rows with supervariables of 3, 3 and 4 rows, dense blocks, diagonally dominant.
CsrMatrix<double> small_matrix() {
    std::vector<std::vector<Index>> pattern;
    std::vector<std::vector<double>> values;
    const std::vector<Index> offsets{0, 3, 6, 10};
    for (std::size_t b = 0; b < 3; ++b) {
        for (Index i = offsets[b]; i < offsets[b + 1]; ++i) {
            pattern.emplace_back();
            values.emplace_back();
            for (Index j = offsets[b]; j < offsets[b + 1]; ++j) {
                pattern.back().push_back(j);
                values.back().push_back(i == j ? 8 : 1);
            }
        }
    }
    return make_csr(10, 10, pattern, values);
}

std::unique_ptr<Preconditioner<double>> make(const std::string& text) {
    const Context device = context();
    const CsrMatrix<double> matrix = copy_to(device, small_matrix().view());
    return make_preconditioner(device, Spec(text), matrix.view());
}

std::vector<Index> offsets_of(const std::string& text) {
    const Context device = context();
    const CsrMatrix<double> matrix = copy_to(device, small_matrix().view());
    const auto made = make_preconditioner(device, Spec(text), matrix.view());
    return copy_to_host(device, dynamic_cast<BlockJacobi<double>&>(*made).blocks().block_offsets);
}

template <class Failure>
std::string message(const std::string& text) {
    return message_of<Failure>([&] { make(text); });
}

}  // namespace

TEST(registry, names) {
    EXPECT_EQ(make("none"), nullptr);
    for (const std::string& name : preconditioner_names()) {
        if (name == "none") continue;
        const std::string described = make(name)->describe();
        EXPECT_TRUE(described.starts_with(name)) << described << ", not " << name;
    }
    EXPECT_EQ(make("jacobi")->describe(), "jacobi,singular=stop");
    EXPECT_EQ(make("jacobi:singular=shift")->describe(), "jacobi,singular=shift");
    EXPECT_EQ(make("block_jacobi")->describe(), "block_jacobi:32,singular=stop");
    EXPECT_EQ(make("block_jacobi:8,singular=identity")->describe(),
              "block_jacobi:8,singular=identity");
    EXPECT_EQ(make("block_jacobi:8,blocks=natural")->describe(),
              "block_jacobi:8,blocks=natural,singular=stop");
    EXPECT_EQ(make("block_jacobi:8,blocks=uniform:4")->describe(),
              "block_jacobi:8,blocks=uniform:4,singular=stop");
    // A description is parsed to the same description.
    for (const std::string text : {"block_jacobi:64,blocks=natural,singular=generalised",
                                   "block_jacobi:8,precision=adaptive,accuracy=0.01,singular=stop",
                                   "block_jacobi:8,precision=bf16,singular=shift"}) {
        const std::string described = make(text)->describe();
        EXPECT_EQ(make(described)->describe(), described);
        for (std::string word; const char letter : text + ",") {
            if (letter != ',') {
                word += letter;
                continue;
            }
            EXPECT_NE(described.find(word), std::string::npos) << word << " in " << described;
            word.clear();
        }
    }
}

TEST(registry, blocks) {
    EXPECT_EQ(offsets_of("block_jacobi:6"), (std::vector<Index>{0, 6, 10}));
    EXPECT_EQ(offsets_of("block_jacobi:32,blocks=natural"), (std::vector<Index>{0, 3, 6, 10}));
    EXPECT_EQ(offsets_of("block_jacobi:4,blocks=uniform:4"), (std::vector<Index>{0, 4, 8, 10}));
    const std::string file = scratch_folder() + "/sizes.txt";
    std::ofstream(file) << "3 1\n\n  2\t4\n";
    EXPECT_EQ(offsets_of("block_jacobi:4,blocks=" + file), (std::vector<Index>{0, 3, 4, 6, 10}));
    EXPECT_EQ(make("block_jacobi:4,blocks=" + file)->describe(),
              "block_jacobi:4,blocks=" + file + ",singular=stop");
}

TEST(registry, rejects_with_a_reason) {
    const auto says = [](const std::string& text, const std::string& what) {
        const std::string found = message<InvalidArgument>(text);
        EXPECT_NE(found.find(what), std::string::npos) << found;
    };
    says("blok_jacobi:8", "did you mean 'block_jacobi'");
    says("block_jacobi:65", "1..64");
    says("block_jacobi:8,singulr=stop", "singular");
    says("block_jacobi:8,singular=maybe", "stop, identity, shift, generalised");
    says("block_jacobi:8,precision=half", "working, adaptive, f64, f32, bf16, f16");
    says("block_jacobi:8,precision=adaptive,accuracy=2", "accuracy");
    says("block_jacobi:8,blocks=uniform:9", "1..8");
    says("block_jacobi:8,blocks=uniform:x", "1..8");
    says("block_jacobi:8,blocks=nowhere.txt", "'nowhere.txt' is neither");
    says("jacobi:3", "no value");
    says("none:3", "no value");

    const std::string file = scratch_folder() + "/sizes.txt";
    const auto file_says = [&](const std::string& contents, const std::string& what) {
        std::ofstream(file) << contents;
        const std::string found = message<ParseError>("block_jacobi:8,blocks=" + file);
        EXPECT_NE(found.find(what), std::string::npos) << found;
    };
    file_says("3 3\n9\n", ":2: the block size 9 is not within 1..8");
    file_says("3 3\n0\n", ":2: the block size 0 is not within 1..8");
    file_says("3 x\n", ":1: the block size 'x' is not an integer");
    file_says("3 3\n5\n", "the blocks have 11 rows together, the matrix has 10");
    file_says("3 3\n", "the blocks have 6 rows together, the matrix has 10");
    file_says("", "the blocks have 0 rows together");
    file_says("3 3\n" + std::string(2 << 20, ' '), ":2: the line is longer than 1 MiB");
    const std::string folder = message<ParseError>("block_jacobi:8,blocks=" + scratch_folder());
    EXPECT_NE(folder.find(": cannot be read; name a file of block sizes"), std::string::npos)
        << folder;
}

TEST(registry, none_of_a_rectangular_matrix) {
    const Context device = context();
    CsrView<double> wide;
    wide.columns = 2;
    EXPECT_THROW(make_preconditioner(device, "jacobi", wide), InvalidArgument);
    EXPECT_THROW(make_preconditioner(device, "block_jacobi:4", wide), InvalidArgument);
    EXPECT_THROW(make_preconditioner(device, "block_jacobi:4,blocks=uniform:2", wide),
                 InvalidArgument);
}

}  // namespace tessera::test
