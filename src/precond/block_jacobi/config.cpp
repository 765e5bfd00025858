#include "precond/block_jacobi/config.hpp"

#include <filesystem>
#include <limits>

#include "base/concat.hpp"
#include "io/text.hpp"
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
    require(std::filesystem::exists(blocks), "block_jacobi: blocks='", blocks,
            "' is neither supervariable, natural, uniform:K nor a file that can be read");
    offsets = {0};
    const Offset whole_file = 0;
    auto stream =
        io::with_error_line(blocks, whole_file, [&] { return io::InputStream::open(blocks); });
    io::Lines lines(stream);
    io::with_error_line(blocks, lines.number(), [&] {
        for (std::string_view text; lines.next(text);) {
            for (const std::string_view word : io::words(text)) {
                const Offset size = io::integer_of(word, "the block size");
                io::expect(size >= 1 && size <= bound, "the block size ", word,
                           " is not within 1..", bound);
                io::expect(size <= std::numeric_limits<Index>::max() - offsets.back(),
                           "the blocks have more rows than any matrix");
                offsets.push_back(offsets.back() + Index(size));
            }
        }
    });
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
