#include <algorithm>
#include <fstream>
#include <initializer_list>
#include <sstream>

#include "tessera/block_jacobi.hpp"
#include "tessera/block_ldlt.hpp"
#include "tessera/polynomial.hpp"

namespace tessera {

namespace {

template <class Choice>
Choice choose(Spec& spec, const std::string& key, std::initializer_list<Choice> choices) {
    std::vector<std::string> words;
    for (const Choice choice : choices) words.emplace_back(to_string(choice));
    const std::string word = spec.word(key, words.front(), words);
    return *(choices.begin() + (std::ranges::find(words, word) - words.begin()));
}

SingularPolicy singular_policy(Spec& spec) {
    return choose(spec, "singular",
                  {SingularPolicy::stop, SingularPolicy::identity, SingularPolicy::shift,
                   SingularPolicy::generalised});
}

BlockJacobiOptions block_jacobi_options(Spec& spec) {
    BlockJacobiOptions options;
    options.singular = singular_policy(spec);
    options.precision =
        choose(spec, "precision",
               {BlockPrecision::working, BlockPrecision::adaptive, BlockPrecision::f64,
                BlockPrecision::f32, BlockPrecision::bf16, BlockPrecision::f16});
    options.accuracy = spec.real("accuracy", options.accuracy, 0, 1);
    return options;
}

/// Blocks from a text file: their sizes, in order, separated by white space.
BlockPartition blocks_from_file(const Context& context, const std::string& file, Index rows,
                                Index bound) {
    std::ifstream stream(file);
    if (!stream) {
        throw InvalidArgument(
            "block_jacobi: blocks='" + file +
            "' is neither supervariable, natural, similar, uniform:K nor a file that can "
            "be read");
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
BlockPartition partition(const Context& context, const CsrView<T>& matrix, Index bound,
                         const std::string& blocks) {
    static constexpr std::string_view uniform = "uniform:";
    BlockPartition found;
    for (const Blocking way : {Blocking::supervariable, Blocking::natural, Blocking::similar}) {
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
        found = blocks_from_file(context, blocks, matrix.rows, bound);
    }
    found.options = std::to_string(bound) + ",blocks=" + blocks;
    return found;
}

}  // namespace

std::vector<std::string> preconditioner_names() {
    return {"none",          "jacobi",    "block_jacobi", "block_ldlt",        "neumann",
            "least_squares", "chebyshev", "chebyshev4",   "chebyshev4_optimal"};
}

template <class T>
std::unique_ptr<Preconditioner<T>> make_preconditioner(const Context& context, Spec preconditioner,
                                                       const CsrView<T>& matrix) {
    const std::string& name = preconditioner.name();
    if (name == "none") {
        preconditioner.finish();
        return nullptr;
    }
    if (name == "jacobi") {
        const SingularPolicy policy = singular_policy(preconditioner);
        preconditioner.finish();
        return std::make_unique<Jacobi<T>>(context, matrix, policy);
    }
    if (name == "block_jacobi") {
        const Index bound =
            Index(preconditioner.integer(0, default_block_bound, 1, largest_block_bound));
        const std::string blocks = preconditioner.word("blocks", "supervariable");
        const BlockJacobiOptions options = block_jacobi_options(preconditioner);
        preconditioner.finish();
        return std::make_unique<BlockJacobi<T>>(context, matrix,
                                                partition(context, matrix, bound, blocks), options);
    }
    if (name == "block_ldlt") {
        return std::make_unique<BlockLdlt<T>>(context, matrix,
                                              parse_block_ldlt(std::move(preconditioner)));
    }
    const std::vector<std::string> names = preconditioner_names();
    if (std::ranges::find(names, name) == names.end()) {
        throw InvalidArgument(unknown_word_message("preconditioner", name, names));
    }
    return std::make_unique<PolynomialPreconditioner<T>>(context, matrix,
                                                         parse_polynomial(preconditioner));
}

template std::unique_ptr<Preconditioner<float>> make_preconditioner<float>(const Context&, Spec,
                                                                           const CsrView<float>&);
template std::unique_ptr<Preconditioner<double>> make_preconditioner<double>(
    const Context&, Spec, const CsrView<double>&);

}  // namespace tessera
