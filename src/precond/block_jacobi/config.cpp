#include "precond/block_jacobi/config.hpp"

#include <fstream>
#include <sstream>

#include "precond/singular_policy.hpp"

namespace tessera {

BlockJacobiConfig::BlockJacobiConfig(Spec spec) {
    bound = Index(spec.integer(0, default_block_bound, 1, largest_block_bound));
    blocks = spec.word("blocks", "supervariable");
    options.singular = parse_singular_policy(spec);
    options.precision =
        choose(spec, "precision",
               {BlockPrecision::working, BlockPrecision::adaptive, BlockPrecision::f64,
                BlockPrecision::f32, BlockPrecision::bf16, BlockPrecision::f16});
    options.accuracy = spec.real("accuracy", options.accuracy, 0, 1);
    spec.finish();
}

/// Blocks from a text file: their sizes, in order, separated by white space.
BlockPartition BlockJacobiConfig::read_blocks(const Context& context, Index rows) const {
    const std::string& file = blocks;
    std::ifstream stream(file);
    if (!stream) {
        throw InvalidArgument(
            "block_jacobi: blocks='" + file +
            "' is neither supervariable, natural, uniform:K nor a file that can be read");
    }
    std::vector<Index> offsets{0};
    std::string text;
    for (std::int64_t line = 1; std::getline(stream, text); ++line) {
        std::istringstream words(text);
        for (std::string word; words >> word;) {
            std::int64_t size = 0;
            const std::string reason = parse_integer(word, size);
            if (!reason.empty()) {
                throw ParseError(file, line, "the block size '" + word + "' is " + reason);
            }
            if (size < 1 || size > bound) {
                throw ParseError(
                    file, line,
                    "the block size " + word + " is not within 1.." + std::to_string(bound));
            }
            if (size > rows - offsets.back()) {
                throw ParseError(file, line,
                                 "the blocks have more than the " + std::to_string(rows) +
                                     " rows of the matrix");
            }
            offsets.push_back(offsets.back() + Index(size));
        }
    }
    if (stream.bad()) throw ParseError(file, 0, "cannot be read; name a file of block sizes");
    if (offsets.back() != rows) {
        throw ParseError(file, 0,
                         "the blocks have " + std::to_string(offsets.back()) +
                             " rows together, the matrix has " + std::to_string(rows));
    }
    return blocks_from_offsets(context, rows, offsets);
}

template <class T>
BlockPartition BlockJacobiConfig::partition(const Context& context,
                                            const CsrView<T>& matrix) const {
    static constexpr std::string_view uniform = "uniform:";
    BlockPartition found;
    for (const Blocking way : {Blocking::supervariable, Blocking::natural}) {
        if (blocks == to_string(way)) return find_blocks(context, matrix, bound, way);
    }
    if (blocks.starts_with(uniform)) {
        std::int64_t size = 0;
        const std::string reason = parse_integer(blocks.substr(uniform.size()), size);
        if (!reason.empty() || size < 1 || size > bound) {
            throw InvalidArgument("block_jacobi: blocks=" + blocks +
                                  ": the size must be an integer within 1.." +
                                  std::to_string(bound));
        }
        found = uniform_blocks(context, matrix.rows, Index(size));
    } else {
        found = read_blocks(context, matrix.rows);
    }
    found.options = std::to_string(bound) + ",blocks=" + blocks;
    return found;
}

template BlockPartition BlockJacobiConfig::partition(const Context&, const CsrView<float>&) const;
template BlockPartition BlockJacobiConfig::partition(const Context&, const CsrView<double>&) const;

template <class T>
PreconditionerReport BlockJacobi<T>::make_report() const {
    const BlockJacobiReport found = report();
    PreconditionerReport report;
    report.blocks = blocks().count;
    report.largest_block = blocks().largest;
    report.partition = &blocks();
    report.first_singular = first_singular();
    report.first_non_finite_row = found.first_non_finite_row;
    report.overflow = found.overflow;
    report.unusable = singular_blocks_sentence(options().singular, found.singular, report.blocks);
    std::vector<Fact> formats, decades, worst;
    for (std::size_t k = 0; k < found.formats.size(); ++k) {
        formats.push_back({to_string(BlockPrecision(k)), found.formats[k]});
    }
    for (const Index count : found.conditions) decades.push_back({"", count});
    for (const BlockJacobiReport::Block& block : found.worst) {
        worst.push_back({"", std::vector<Fact>{{"block", block.block},
                                               {"first_row", block.first_row},
                                               {"rows", block.rows},
                                               {"condition", block.condition},
                                               {"format", to_string(block.format)}}});
    }
    report.facts.push_back({"blocks", std::vector<Fact>{{"near_singular", found.near_singular},
                                                        {"stored_bytes", found.stored_bytes},
                                                        {"working_bytes", found.working_bytes},
                                                        {"rebuilds", found.rebuilds},
                                                        {"formats", std::move(formats)},
                                                        {"condition_decades", std::move(decades)},
                                                        {"worst", std::move(worst)}}});
    return report;
}

template PreconditionerReport BlockJacobi<float>::make_report() const;
template PreconditionerReport BlockJacobi<double>::make_report() const;

}  // namespace tessera
