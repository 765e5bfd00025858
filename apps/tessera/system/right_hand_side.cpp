#include "system/right_hand_side.hpp"

#include <cmath>

#include "system/system.hpp"
#include "tessera/io.hpp"
#include "tessera/spec.hpp"
#include "tessera/vector_ops.hpp"

namespace tessera::cli {

namespace {

const std::vector<std::string> words = {"ones",
                                        "load",
                                        "random",
                                        "random:SEED",
                                        "solution:ones",
                                        "solution:random",
                                        "solution:random:SEED"};

std::uint64_t parse_seed(const std::string& text, const std::string& seed) {
    std::int64_t number = 0;
    std::string reason = parse_integer(seed, number);
    if (number < 0) reason = "negative";
    if (!reason.empty()) {
        throw InvalidArgument("--rhs " + text + ": the seed '" + seed + "' is " + reason);
    }
    return std::uint64_t(number);
}

}  // namespace

RightHandSide RightHandSide::parse(const std::string& text, std::uint64_t seed) {
    RightHandSide requested{Kind::automatic, seed, {}};
    const auto seeded = [&](const std::string& word, Kind kind) {
        if (text != word && !text.starts_with(word + ":")) return false;
        requested.kind = kind;
        if (text != word) requested.seed = parse_seed(text, text.substr(word.size() + 1));
        return true;
    };
    if (text.empty()) return requested;
    if (text == "ones") {
        requested.kind = Kind::ones;
    } else if (text == "load") {
        requested.kind = Kind::load;
    } else if (text == "solution:ones") {
        requested.kind = Kind::solution_ones;
    } else if (!seeded("random", Kind::random) &&
               !seeded("solution:random", Kind::solution_random)) {
        if (!is_file_name(text)) {
            throw InvalidArgument(
                unknown_word_message("right-hand side (and no such file)", text, words) +
                ", or a file");
        }
        requested.kind = Kind::file;
        requested.file = text;
    }
    return requested;
}

template <class T>
std::vector<T> read_sized_vector(const Context& host, const std::string& path, Index rows,
                                 const std::string& what) {
    std::vector<T> vector = io::read_vector<T>(host, path);
    if (vector.size() != std::size_t(rows)) {
        throw InvalidArgument(what + " '" + path + "' has " + std::to_string(vector.size()) +
                              " entries, but the matrix has " + std::to_string(rows) + " rows");
    }
    return vector;
}

template <class T>
Vectors<T> make_vectors(const Context& context, const Context& host, const RightHandSide& requested,
                        const Operator<T>& matrix, const std::vector<T>& load) {
    using Kind = RightHandSide::Kind;
    const Index rows = matrix.rows();
    if (requested.kind == Kind::file) {
        return {copy_to_buffer(context, io::read_vectors<T>(host, requested.file, rows)), {}};
    }
    if (requested.kind == Kind::load && load.empty()) {
        throw InvalidArgument("this matrix has no load; use --rhs ones, or a file");
    }
    if (!load.empty() && (requested.kind == Kind::load || requested.kind == Kind::automatic)) {
        return {copy_to_buffer(context, load), {}};
    }
    Vectors<T> vectors{Buffer<T>(context, rows), {}};
    const auto fill_vector = [&](std::span<T> x, bool random) {
        if (random) return fill_uniform(context, requested.seed, x);
        fill(context, T(1), x);
    };
    if (!requested.has_known_solution()) {
        fill_vector(vectors.b.view(), requested.kind == Kind::random);
        return vectors;
    }
    vectors.solution = Buffer<T>(context, rows);
    fill_vector(vectors.solution.view(), requested.kind == Kind::solution_random);
    matrix.apply(context, std::as_const(vectors.solution).view(), vectors.b.view());
    return vectors;
}

template <class T>
double forward_error(const std::vector<T>& x, const std::vector<T>& solution) {
    double error = 0;
    double norm = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {  // x may be too large to be squared.
        error = std::hypot(error, double(x[i]) - double(solution[i]));
        norm = std::hypot(norm, double(solution[i]));
    }
    return error / norm;
}

#define TESSERA_INSTANTIATE(T)                                                                \
    template std::vector<T> read_sized_vector<T>(const Context&, const std::string&, Index,   \
                                                 const std::string&);                         \
    template Vectors<T> make_vectors<T>(const Context&, const Context&, const RightHandSide&, \
                                        const Operator<T>&, const std::vector<T>&);           \
    template double forward_error<T>(const std::vector<T>&, const std::vector<T>&);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera::cli
