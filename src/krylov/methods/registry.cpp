#include "base/dispatch.hpp"
#include "krylov/methods/bicgstab.hpp"
#include "krylov/methods/cg.hpp"
#include "krylov/methods/gmres.hpp"
#include "krylov/methods/idr.hpp"
#include "krylov/methods/minres.hpp"
#include "krylov/methods/richardson.hpp"
#include "krylov/methods/sqmr.hpp"

namespace tessera {

namespace {

/// A registered solver. A Config is constructed from a Spec, all of which it reads (Spec::finish),
/// and has `traits` (MethodTraits), a function method<T> that makes the Method, and numbers(rows),
/// the count of values that the method allocates; see PlainConfig.
struct Entry {
    std::string name;
    std::string options;  ///< As --help shows them, after the name.
    std::string purpose;
    std::unique_ptr<SolverConfig> (*parse)(const Spec&);
};

template <class Config>
class Registered final : public SolverConfig {
  public:
    explicit Registered(const Spec& spec) : config_(spec) {}
    std::unique_ptr<IterativeSolver<float>> make(
        const Context& context, const Operator<float>& matrix,
        const Operator<float>* preconditioner) const override {
        return make_driver<float>(context, matrix, preconditioner, method_factory<float>(),
                                  Config::traits);
    }
    std::unique_ptr<IterativeSolver<double>> make(
        const Context& context, const Operator<double>& matrix,
        const Operator<double>* preconditioner) const override {
        return make_driver<double>(context, matrix, preconditioner, method_factory<double>(),
                                   Config::traits);
    }
    /// With b and x of the caller, and four vectors of the driver.
    Offset numbers(Offset rows) const override { return config_.numbers(rows) + 6 * rows; }
    bool allows_left() const override { return Config::traits.allows_left; }
    bool symmetric_only() const override { return Config::traits.symmetric_only; }
    bool is_stationary() const override { return Config::traits.is_stationary; }

  private:
    template <class T>
    MethodFactory<T> method_factory() const {
        return [config = config_](const System<T>& system) { return config.method(system); };
    }

    Config config_;
};

template <class Config>
Entry entry(const char* name, const char* options, const char* purpose) {
    return {name, options, purpose, [](const Spec& spec) -> std::unique_ptr<SolverConfig> {
                return std::make_unique<Registered<Config>>(spec);
            }};
}

/// The registered solvers, one per line of help.
const std::vector<Entry>& entries() {
    static const std::vector<Entry> all = {
        entry<CgConfig>("cg", "", "symmetric positive definite"),
        entry<FcgConfig>("fcg", "", "the same, with a preconditioner that may vary a little"),
        entry<BicgstabConfig>("bicgstab", "", "any matrix"),
        entry<IdrConfig>("idr", "[:S][,seed=1][,angle=0.7][,smoothing]", "any matrix; S 1..16 (4)"),
        entry<GmresConfig>("gmres", "[:RESTART]", "any matrix; RESTART 1..10000 (30)"),
        entry<MinresConfig>("minres", "",
                            "symmetric, also indefinite, with a positive definite preconditioner"),
        entry<SqmrConfig>("sqmr", "", "symmetric, also indefinite"),
        entry<RichardsonConfig>("richardson", "", "a preconditioner close to the inverse"),
    };
    return all;
}

}  // namespace

std::vector<std::string> solver_names() {
    std::vector<std::string> names;
    for (const Entry& one : entries()) names.push_back(one.name);
    return names;
}

std::string solver_help() {
    std::string text;
    for (const Entry& one : entries()) {
        std::string line = "  " + one.name + one.options;
        if (!one.purpose.empty()) line.resize(std::max<std::size_t>(line.size() + 2, 26), ' ');
        text += line + one.purpose + "\n";
    }
    return text;
}

std::unique_ptr<SolverConfig> parse_solver(Spec text) {
    return naming_argument("solver", [&] {
        for (const Entry& one : entries()) {
            if (one.name == text.name()) return one.parse(text);
        }
        throw InvalidArgument(unknown_word_message("solver", text.name(), solver_names()));
    });
}

}  // namespace tessera
