#include <algorithm>

#include "krylov/rules.hpp"

namespace tessera {

namespace {

/// A solver and a preconditioner, in both formats or in csr alone.
struct Pair {
    const char* solver;
    const char* preconditioner;
    bool both_formats;
};

constexpr Pair definite[] = {
    {"cg", "jacobi", true},
    {"cg", "block_jacobi:32", true},
    {"cg", "block_jacobi:32,precision=adaptive", false},
    {"cg", "block_jacobi:8", false},
    {"cg", "chebyshev:6", true},
    {"cg", "chebyshev:10", true},
    {"fcg", "amg", true},
    {"fcg", "amg,near_null=translations", true},
};
/// Only sliced formats store values in a lower precision than that of the matrix.
constexpr Pair definite_sliced[] = {
    {"cg", "chebyshev:6,precision=f32,values=f16", true},
    {"cg", "chebyshev:10,precision=f32,values=f16", true},
};
/// Their setup takes longer than other solves where the factors fill in.
constexpr Pair definite_factors[] = {
    {"cg", "block_ldlt:8,method=level,positive_definite", false},
    {"cg", "block_ldlt:8,fill=1,method=level,positive_definite", false},
    {"cg", "block_ldlt:16,fill=2,method=level,positive_definite", false},
    {"cg", "block_ldlt:16,fill=4,method=level,positive_definite", false},
};
constexpr Pair indefinite[] = {
    {"minres", "none", true},
    {"sqmr", "block_ldlt:8,method=level", false},
    {"sqmr", "block_ldlt:8,fill=1,method=level", false},
    {"sqmr", "block_ldlt:16,fill=2,method=level", false},
    {"gmres:50", "block_ldlt:16,fill=2,method=level", false},
    {"sqmr", "block_ldlt:8", false},
    {"sqmr", "block_ldlt:8,fill=1", false},
    {"sqmr", "block_ldlt:16,fill=2", false},
    {"minres", "block_ldlt:8,positive_definite", false},
    {"idr:4,smoothing", "block_jacobi:32,singular=shift", false},
    {"gmres:50", "block_jacobi:32,singular=shift", false},
};
constexpr Pair nonsymmetric[] = {
    {"bicgstab", "ilu,precision=f32", false},
    {"bicgstab", "ilu", false},
    {"bicgstab", "ilu:8", false},
    {"bicgstab", "ilu:8,fill=1", false},
    {"gmres:50", "amg,symmetric_part=on", false},
    {"bicgstab", "jacobi", true},
    {"bicgstab", "block_jacobi:32,singular=shift", true},
    {"idr:4,smoothing", "jacobi", false},
    {"idr:4,smoothing", "block_jacobi:8,singular=shift", false},
    {"idr:4,smoothing", "block_jacobi:32,singular=shift", true},
    {"idr:8,smoothing", "jacobi", false},
    {"idr:8,smoothing", "block_jacobi:32,singular=shift", false},
    {"gmres:50", "jacobi", false},
    {"gmres:50", "block_jacobi:32,singular=shift", false},
    {"gmres:150", "block_jacobi:32,singular=shift", false},
};

class Candidates {
  public:
    Candidates(const MatrixFacts& facts, const std::string& solver,
               const std::string& preconditioner, const std::string& format)
        : sliced_(sliced_format(facts)),
          solver_(solver),
          preconditioner_(preconditioner),
          format_(format) {}

    /// Adds an attempt, with the words that were given in place of its own, unless it is known.
    void add(Attempt attempt) {
        attempt.max_iterations = 0;
        attempt.reason.clear();
        keep_words(attempt, solver_, preconditioner_, format_);
        const auto same = [&](const Attempt& other) { return have_same_words(other, attempt); };
        if (std::ranges::none_of(list_, same)) list_.push_back(std::move(attempt));
    }
    template <std::size_t n>
    void add(const Pair (&pairs)[n], bool csr = true) {
        for (const Pair& pair : pairs) {
            if (csr) add(Attempt{pair.solver, pair.preconditioner, "csr", 0, ""});
            if (pair.both_formats) add(Attempt{pair.solver, pair.preconditioner, sliced_, 0, ""});
        }
    }
    std::vector<Attempt> list() && { return std::move(list_); }

  private:
    std::string sliced_;
    const std::string &solver_, &preconditioner_, &format_;
    std::vector<Attempt> list_;
};

}  // namespace

std::vector<Attempt> candidates(const MatrixFacts& facts, const std::string& solver,
                                const std::string& preconditioner, const std::string& format) {
    Candidates all(facts, solver, preconditioner, format);
    if (facts.symmetric && facts.positive_diagonal) {
        for (const Attempt& attempt : definite_attempts(facts)) all.add(attempt);
        all.add(definite);
        all.add(definite_sliced, false);
        if (facts.rows < 20'000) all.add(definite_factors);
        return std::move(all).list();
    }
    for (const Attempt& attempt : choose(facts, "auto", "auto", "auto")) all.add(attempt);
    if (facts.symmetric) {
        all.add(indefinite);
    } else {
        all.add(nonsymmetric);
    }
    return std::move(all).list();
}

}  // namespace tessera
