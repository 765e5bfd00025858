#include <algorithm>

#include "base/checks.hpp"
#include "distributed/preconditioner.hpp"
#include "precond/block_jacobi/config.hpp"
#include "precond/direct/config.hpp"
#include "precond/incomplete/block_ldlt/config.hpp"
#include "precond/incomplete/ilu/config.hpp"
#include "precond/jacobi/config.hpp"
#include "precond/multigrid/config.hpp"
#include "precond/polynomial/config.hpp"
#include "tessera/detail/floating_point.hpp"

namespace tessera {

namespace {

/// A registered preconditioner. A Config is made of a Spec, all of which it reads (Spec::finish),
/// and has `help`, and the functions bytes and make<T> of a PreconditionerConfig; make may leave
/// out the inputs. If it has those of ConfigOverRanks too, it is one.
struct Entry {
    std::string name;
    const char* help;
    std::unique_ptr<PreconditionerConfig> (*parse)(const Spec&);
};

template <class Config>
class Registered : public PreconditionerConfig {
  public:
    explicit Registered(const Spec& spec) : config_(spec) {}
    const Config& config() const { return config_; }
    std::unique_ptr<Preconditioner<float>> make(const Context& context,
                                                const CsrView<float>& matrix,
                                                const PreconditionerInputs& inputs) const override {
        return make_checked(context, matrix, inputs);
    }
    std::unique_ptr<Preconditioner<double>> make(
        const Context& context, const CsrView<double>& matrix,
        const PreconditionerInputs& inputs) const override {
        return make_checked(context, matrix, inputs);
    }
    Offset bytes(Index rows, Offset nonzeros, Offset bytes_per_value) const override {
        return config_.bytes(rows, nonzeros, bytes_per_value);
    }

  private:
    template <class T>
    std::unique_ptr<Preconditioner<T>> make_checked(const Context& context,
                                                    const CsrView<T>& matrix,
                                                    const PreconditionerInputs& inputs) const {
        const detail::DefaultFloatingPoint environment;
        check_matrix("make_preconditioner", matrix);
        check_memory(context, "make_preconditioner", matrix);
        return naming_argument("preconditioner", [&] {
            if constexpr (requires { config_.make(context, matrix, inputs); }) {
                return config_.make(context, matrix, inputs);
            } else {
                return config_.make(context, matrix);
            }
        });
    }

    Config config_;
};

/// A Config that is also one over ranks.
template <class Config>
class RegisteredOverRanks final : public Registered<Config>, public ConfigOverRanks {
  public:
    using Registered<Config>::Registered;
    int unknowns_of_node() const override { return this->config().unknowns_of_node(); }
    PreconditionerInputs inputs_for(Index rows, const PreconditionerInputs& given) const override {
        return this->config().inputs_for(rows, given);
    }
    std::unique_ptr<PreconditionerOverRanks> make_over_ranks(
        const Context& context, OwnRows matrix, const PreconditionerInputs& own) const override {
        return naming_argument("preconditioner", [&] {
            return this->config().make_over_ranks(context, std::move(matrix), own);
        });
    }
};

template <class Config>
Entry entry(const std::string& name) {
    constexpr bool over_ranks = requires { &Config::make_over_ranks; };
    using Made = std::conditional_t<over_ranks, RegisteredOverRanks<Config>, Registered<Config>>;
    return {name, Config::help, [](const Spec& spec) -> std::unique_ptr<PreconditionerConfig> {
                return std::make_unique<Made>(spec);
            }};
}

struct NoneConfig {
    static constexpr const char* help = "\n";
    explicit NoneConfig(const Spec& spec) { spec.finish(); }
    template <class T>
    std::unique_ptr<Preconditioner<T>> make(const Context&, const CsrView<T>&) const {
        return nullptr;
    }
    Offset bytes(Index, Offset, Offset) const { return 0; }
};

/// The registered preconditioners, one per line.
const std::vector<Entry>& entries() {
    static const std::vector<Entry> all = {
        entry<NoneConfig>("none"),
        entry<JacobiConfig>("jacobi"),
        entry<BlockJacobiConfig>("block_jacobi"),
        entry<BlockLdltConfig>("block_ldlt"),
        entry<IluConfig>("ilu"),
        entry<DirectConfig>("direct"),
        entry<AmgConfig>("amg"),
        entry<PolynomialConfig>("neumann"),
        entry<PolynomialConfig>("least_squares"),
        entry<PolynomialConfig>("chebyshev"),
        entry<PolynomialConfig>("chebyshev4"),
        entry<PolynomialConfig>("chebyshev4_optimal"),
    };
    return all;
}

}  // namespace

std::vector<std::string> preconditioner_names() {
    std::vector<std::string> names;
    for (const Entry& one : entries()) names.push_back(one.name);
    return names;
}

std::string preconditioner_help() {
    std::string text;
    for (auto first = entries().begin(); first != entries().end();) {
        text += "  " + first->name;
        auto next = first + 1;  // Names with the same help are listed together.
        for (; next != entries().end() && next->help == first->help; ++next) {
            text += ", " + next->name;
        }
        text += (next - first > 1 ? "\n              " : "") + std::string(first->help);
        first = next;
    }
    return text;
}

std::unique_ptr<PreconditionerConfig> parse_preconditioner(Spec text) {
    return naming_argument("preconditioner", [&] {
        for (const Entry& one : entries()) {
            if (one.name == text.name()) return one.parse(text);
        }
        throw InvalidArgument(
            unknown_word_message("preconditioner", text.name(), preconditioner_names()));
    });
}

}  // namespace tessera
