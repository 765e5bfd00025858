#include "precond/block_jacobi/config.hpp"

#include <fstream>
#include <limits>
#include <sstream>

#include "base/concat.hpp"
#include "precond/singular_policy.hpp"

namespace tessera {

BlockJacobiConfig::BlockJacobiConfig(Spec spec) {
    bound = Index(spec.integer(0, default_block_bound, 1, largest_block_bound));
    blocks = spec.word("blocks", to_string(Blocking::supervariable));
    options.singular = parse_singular_policy(spec);
    options.precision =
        choose(spec, "precision",
               {BlockPrecision::working, BlockPrecision::adaptive, BlockPrecision::f64,
                BlockPrecision::f32, BlockPrecision::bf16, BlockPrecision::f16});
    options.accuracy = spec.real("accuracy", options.accuracy, 0, 1);
    spec.finish();

    static constexpr std::string_view prefix = "uniform:";
    if (blocks.starts_with(prefix)) {
        std::int64_t size = 0;
        const std::string reason = parse_integer(blocks.substr(prefix.size()), size);
        if (!reason.empty() || size < 1 || size > bound) {
            throw InvalidArgument(concat("block_jacobi: blocks=", blocks,
                                         ": the size must be an integer within 1..", bound));
        }
        uniform = Index(size);
    } else if (blocks == to_string(Blocking::natural)) {
        blocking = Blocking::natural;
    } else if (blocks != to_string(Blocking::supervariable)) {
        read_sizes();
    }
}

/// Block sizes from a text file, in order, separated by white space.
void BlockJacobiConfig::read_sizes() {
    std::ifstream stream(blocks);
    if (!stream) {
        throw InvalidArgument(
            "block_jacobi: blocks='" + blocks +
            "' is neither supervariable, natural, uniform:K nor a file that can be read");
    }
    offsets = {0};
    std::vector<char> memory(1 << 20);  // A file without lines is not held.
    std::int64_t line = 1;
    for (; stream.getline(memory.data(), std::streamsize(memory.size())); ++line) {
        const auto length = stream.gcount() - (stream.eof() ? 0 : 1);
        std::istringstream words(std::string(memory.data(), std::size_t(length)));
        for (std::string word; words >> word;) {
            std::int64_t size = 0;
            const std::string reason = parse_integer(word, size);
            if (!reason.empty()) {
                throw ParseError(blocks, line, "the block size '" + word + "' is " + reason);
            }
            if (size < 1 || size > bound) {
                throw ParseError(blocks, line,
                                 concat("the block size ", word, " is not within 1..", bound));
            }
            if (size > std::numeric_limits<Index>::max() - offsets.back()) {
                throw ParseError(blocks, line, "the blocks have more rows than any matrix");
            }
            offsets.push_back(offsets.back() + Index(size));
        }
    }
    if (stream.bad()) throw ParseError(blocks, 0, "cannot be read; name a file of block sizes");
    if (!stream.eof()) throw ParseError(blocks, line, "the line is longer than 1 MiB");
}

BlockPartition BlockJacobiConfig::file_blocks(const Context& context, Index rows) const {
    if (offsets.back() != rows) {
        throw ParseError(
            blocks, 0,
            concat("the blocks have ", offsets.back(), " rows together, the matrix has ", rows));
    }
    return blocks_from_offsets(context, rows, offsets);
}

}  // namespace tessera
