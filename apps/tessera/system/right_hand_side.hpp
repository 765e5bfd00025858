#pragma once

#include <string>

#include "tessera/operator.hpp"

namespace tessera::cli {

/// The requested right-hand side.
struct RightHandSide {
    enum class Kind { automatic, ones, load, random, solution_ones, solution_random, file };
    Kind kind = Kind::automatic;
    std::uint64_t seed = 1;
    std::string file;

    /// ones | load | random[:seed] | solution:ones | solution:random[:seed] | FILE; empty: the load
    /// if there is one, else ones. A seed in the text overrides `seed`. Throws InvalidArgument for
    /// other texts.
    static RightHandSide parse(const std::string& text, std::uint64_t seed);
    bool has_known_solution() const {
        return kind == Kind::solution_ones || kind == Kind::solution_random;
    }
};

/// b, or several one after the other, and, if known, the solution; in the memory of a Context.
template <class T>
struct Vectors {
    Buffer<T> b;
    Buffer<T> solution;
};

/// Builds b for `matrix`; `load`: that of the problem (host memory, may be empty). For solution:* b
/// = A x* with x* ones or uniform in [0, 1).
template <class T>
Vectors<T> make_vectors(const Context& context, const Context& host, const RightHandSide& requested,
                        const Operator<T>& matrix, const std::vector<T>& load);

/// Reads a vector of `rows` entries; `what` names it in the message if the size is wrong.
template <class T>
std::vector<T> read_sized_vector(const Context& host, const std::string& path, Index rows,
                                 const std::string& what);

/// ||x - x*|| / ||x*||, host memory, summed in double.
template <class T>
double forward_error(const std::vector<T>& x, const std::vector<T>& solution);

}  // namespace tessera::cli
