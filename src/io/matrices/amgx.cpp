#include "io/matrices/amgx.hpp"

#include <algorithm>

#include "io/text.hpp"

namespace tessera::io {

namespace {

/// The words of a text one after the other, over the ends of lines; comments are left out.
class WordReader {
  public:
    explicit WordReader(InputStream& stream) : lines_(stream) {}

    /// The next word; empty at the end. Valid until the next call.
    std::string_view next() {
        while (at_ == words_.size()) {
            std::string_view line;
            if (!lines_.next(line)) return {};
            line = trimmed(line);
            words_ = line.starts_with('%') ? std::vector<std::string_view>() : words(line);
            at_ = 0;
        }
        return words_[at_++];
    }
    std::string_view next(const char* what) {
        const std::string_view word = next();
        expect(!word.empty(), "the file ends before ", what);
        return word;
    }
    const Offset& line() const { return lines_.number(); }

  private:
    Lines lines_;
    std::vector<std::string_view> words_;
    std::size_t at_ = 0;
};

Index index_of(std::string_view word, const char* what, Index size, bool from_zero) {
    const Offset number = integer_of(word, what) + (from_zero ? 1 : 0);
    expect(number >= 1 && number <= size, what, " ", word, " is not within ", from_zero ? 0 : 1,
           "..", from_zero ? size - 1 : size);
    return Index(number - 1);
}

void read_diagonal(WordReader& text, const MatrixHeader& header, const AmgxWords& amgx,
                   std::vector<Entry>& entries) {
    for (Index row = 0; row < header.rows; row += amgx.block_rows) {
        const Index column = row / amgx.block_rows * amgx.block_columns;
        for (Index i = 0; i < amgx.block_rows; ++i) {
            for (Index j = 0; j < amgx.block_columns; ++j) {
                const double value = value_of(text.next("the end of the diagonal"), header.field);
                entries.push_back({row + i, column + j, value});
            }
        }
    }
}

/// b, whose number of elements may stand before it; so it does if the rest of the text is longer
/// than the vectors alone.
void read_right_hand_side(WordReader& text, const MatrixHeader& header, const AmgxWords& amgx,
                          FileHeader& result) {
    std::vector<double> rest;
    for (std::string_view word = text.next(); !word.empty(); word = text.next()) {
        rest.push_back(real_of(word, "value"));
    }
    const auto size = std::size_t(header.rows);
    const std::size_t vectors = amgx.solution ? 2 : 1;
    const bool has_counts = rest.size() == vectors * (size + 1);
    expect(has_counts || rest.size() == vectors * size, "expected ", vectors * size,
           " numbers after the matrix, found ", rest.size());
    const auto first = rest.begin() + (has_counts ? 1 : 0);
    result.right_hand_side.assign(first, first + std::ptrdiff_t(size));
    if (amgx.solution) result.note = "The solution in the file was not read.";
}

}  // namespace

bool parse_amgx_words(std::string_view line, AmgxWords& to) {
    const std::string lower = lower_case(line);
    if (!lower.starts_with("%%nvamg") && !lower.starts_with("%%amgx")) return false;
    to = {.found = true};
    std::vector<Index> sizes;
    for (const std::string_view word : words(lower)) {
        if (word.starts_with('%')) continue;
        if (word == "diagonal") {
            to.separate_diagonal = true;
        } else if (word == "rhs") {
            to.right_hand_side = true;
        } else if (word == "solution") {
            to.solution = true;
        } else if (word == "base0") {
            to.from_zero = true;
        } else if (word[0] >= '0' && word[0] <= '9') {
            const Offset size = integer_of(word, "block size");
            expect(size >= 1 && size <= 1000, "block size ", word, " is not within 1..1000");
            sizes.push_back(Index(size));
        }
    }
    expect(sizes.size() <= 2, "found ", sizes.size(), " sizes of blocks");
    if (!sizes.empty()) {
        to.block_rows = sizes.front();
        to.block_columns = sizes.back();
    }
    return true;
}

CsrMatrix<double> parse_amgx_body(InputFile& file, const MatrixHeader& header,
                                  const AmgxWords& amgx) {
    WordReader text(file.stream);
    std::vector<Entry> entries;
    FileHeader* const result = file.header;
    const auto read = [&] {
        expect(header.rows % amgx.block_rows == 0 && header.columns % amgx.block_columns == 0,
               "blocks of ", amgx.block_rows, " x ", amgx.block_columns,
               " do not divide a matrix of ", header.rows, " x ", header.columns);
        std::vector<Entry> images(2);
        for (Offset k = 0; k < header.entries; ++k) {
            Entry entry{0, 0, 1};
            entry.row = index_of(text.next("its entries end"), "row", header.rows, amgx.from_zero);
            entry.column =
                index_of(text.next("its entries end"), "column", header.columns, amgx.from_zero);
            if (header.field != Field::pattern) {
                entry.value = value_of(text.next("its entries end"), header.field);
            }
            const Entry* const end = put_entry(images.data(), entry, header.symmetry);
            entries.insert(entries.end(), images.data(), images.data() + (end - images.data()));
        }
        if (amgx.separate_diagonal) read_diagonal(text, header, amgx, entries);
    };
    const auto with_lines = [&](auto&& work) {
        try {
            work();
        } catch (const InputError& error) {
            throw ParseError(file.name, header.line + text.line(), error.message);
        }
    };
    with_lines(read);
    MatrixHeader whole = header;
    whole.entries = Offset(entries.size());
    CsrMatrix<double> matrix = assemble(file, whole, std::span<const Entry>(entries));
    with_lines([&] {
        if (amgx.right_hand_side && result != nullptr) {
            read_right_hand_side(text, header, amgx, *result);
        }
        while (!text.next().empty()) continue;  // What is not needed.
    });
    return matrix;
}

}  // namespace tessera::io
