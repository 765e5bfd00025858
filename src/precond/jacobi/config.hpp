#pragma once

#include "precond/jacobi/jacobi.hpp"
#include "precond/singular_policy.hpp"

namespace tessera {

/// Jacobi as registered.
struct JacobiConfig {
    static constexpr const char* help = "[,singular=stop|identity|shift|generalised]\n";
    SingularPolicy policy;

    explicit JacobiConfig(Spec spec) : policy(parse_singular_policy(spec)) { spec.finish(); }
    template <class T>
    std::unique_ptr<Preconditioner<T>> make(const Context& context,
                                            const CsrView<T>& matrix) const {
        return std::make_unique<Jacobi<T>>(context, matrix, policy);
    }
    Offset bytes(Index rows, Offset, Offset bytes_per_value) const {
        return rows * bytes_per_value;
    }
};

}  // namespace tessera
