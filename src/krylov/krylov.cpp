#include "tessera/krylov.hpp"

#include <limits>

namespace tessera {

const char* to_string(Status status) {
    switch (status) {
        case Status::converged:
            return "converged";
        case Status::max_iterations:
            return "max_iterations";
        case Status::max_seconds:
            return "max_seconds";
        case Status::accuracy_lost:
            return "accuracy_lost";
        case Status::stagnated:
            return "stagnated";
        case Status::breakdown:
            return "breakdown";
        case Status::non_finite:
            return "non_finite";
        case Status::singular_block:
            return "singular_block";
        case Status::interrupted:
            return "interrupted";
    }
    return "";
}

std::vector<std::string> solver_names() {
    return {"cg", "fcg", "bicgstab", "idr", "gmres", "minres", "sqmr", "richardson"};
}

template <class T>
SolveReport solve(const Context& context, Spec solver, const Operator<T>& matrix,
                  const Operator<T>* preconditioner, std::span<const T> b, std::span<T> x,
                  const SolveOptions& options) {
    const std::string& name = solver.name();
    if (name == "idr") {
        IdrOptions idr_options;
        idr_options.s = int(solver.integer(std::size_t(0), idr_options.s, 1, 16));
        idr_options.seed = std::uint64_t(solver.integer("seed", Offset(idr_options.seed), 0,
                                                        std::numeric_limits<Offset>::max()));
        idr_options.angle = solver.real("angle", idr_options.angle, 0, 0.999);
        idr_options.smoothing = solver.flag("smoothing");
        solver.finish();
        return idr(context, matrix, preconditioner, b, x, idr_options, options);
    }
    if (name == "gmres") {
        const int restart = int(solver.integer(std::size_t(0), 30, 1, 10000));
        solver.finish();
        return gmres(context, matrix, preconditioner, b, x, restart, options);
    }
    using Plain = SolveReport (*)(const Context&, const Operator<T>&, const Operator<T>*,
                                  std::span<const T>, std::span<T>, const SolveOptions&);
    const Plain plain = name == "cg"           ? Plain(&cg<T>)
                        : name == "fcg"        ? Plain(&fcg<T>)
                        : name == "bicgstab"   ? Plain(&bicgstab<T>)
                        : name == "minres"     ? Plain(&minres<T>)
                        : name == "sqmr"       ? Plain(&sqmr<T>)
                        : name == "richardson" ? Plain(&richardson<T>)
                                               : nullptr;
    if (plain == nullptr) {
        throw InvalidArgument(unknown_word_message("solver", name, solver_names()));
    }
    solver.finish();
    return plain(context, matrix, preconditioner, b, x, options);
}

#define TESSERA_INSTANTIATE(T)                                                                  \
    template SolveReport solve<T>(const Context&, Spec, const Operator<T>&, const Operator<T>*, \
                                  std::span<const T>, std::span<T>, const SolveOptions&);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera
