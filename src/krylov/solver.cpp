#include "tessera/solver.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <new>
#include <optional>
#include <tuple>

#include "base/checks.hpp"
#include "krylov/at_work.hpp"
#include "krylov/messages.hpp"
#include "krylov/prepared_matrix.hpp"
#include "krylov/refinement.hpp"

namespace tessera {

namespace {

/// The report of a solve that is not started because a preconditioner cannot be used.
SolveReport unsolved_report(const PreconditionerReport& setup, bool in_float) {
    const double unknown = std::numeric_limits<double>::quiet_NaN();
    SolveReport report;
    report.relative_residual = unknown;
    report.true_relative_residual = unknown;
    if (setup.first_non_finite_row >= 0) {
        report.status = Status::non_finite;
        report.message = "row " + std::to_string(setup.first_non_finite_row) +
                         (in_float ? " of the matrix has a value that is not finite in float"
                                   : " of the matrix has a NaN or infinity") +
                         ", so the solve was not started";
        return report;
    }
    report.status = Status::singular_block;
    report.message =
        setup.unusable + (setup.blocks > 0
                              ? ", so the solve was not started; use singular=shift"
                              : " and the solve was not started; use the solver idr with the "
                                "preconditioner block_jacobi");
    return report;
}

}  // namespace

template <class T>
struct Solver<T>::State {
    State(const Context& chosen, const Spec& solver_text, const Spec& preconditioner_text,
          const Spec& format_text)
        : context(chosen),
          texts{solver_text.normalised(), preconditioner_text.normalised(),
                format_text.normalised()} {
        for (const std::string& text : texts) is_automatic = is_automatic || text == "auto";
        configure(texts[0], texts[1], texts[2]);
    }

    void configure(const std::string& solver_text, const std::string& preconditioner_text,
                   const std::string& format_text);
    void setup(const CsrView<T>& matrix);
    void update(const CsrView<T>& matrix);
    std::vector<SolveReport> solve(Vectors<const T> b, Vectors<T> x, const SolveOptions& options);
    std::vector<SolveReport> solve_once(Vectors<const T> b, Vectors<T> x,
                                        const SolveOptions& options);
    std::vector<Attempt> choose_attempts(bool on_the_left) const;
    void make_first_of(std::vector<Attempt> chosen);
    void explain_next(const Error& error);
    bool take_next_attempt();
    void change_side();
    void check(const CsrView<T>& matrix, const char* function) const;
    template <class Work>
    void set_up(Work&& work);
    void make_attempt();
    void make(const CsrView<T>& matrix);
    void drop() {
        iterative.reset();
        low.reset();
        prepared.reset();
        rounded = {};
    }
    const PreconditionerReport& report() const { return low ? low->report() : prepared->report(); }
    /// use(the preconditioner), which is null for none.
    template <class Use>
    auto with_preconditioner(Use&& use) const {
        require(iterative != nullptr, "Solver: there is no matrix; call setup first");
        return low ? use(low->preconditioner()) : use(prepared->preconditioner());
    }

    const Context context;
    const std::array<std::string, 3> texts;       ///< As given: solver, preconditioner, format.
    bool is_automatic = false;                    ///< One of them is auto.
    MatrixFacts facts;                            ///< Found by setup if is_automatic.
    bool left = false;                            ///< The side of the latest solve.
    std::vector<Attempt> attempts;                ///< Empty unless is_automatic.
    std::size_t attempt = 0;                      ///< The one in use.
    std::unique_ptr<SolverConfig> solver;         ///< Null: refinement, or not chosen yet.
    std::optional<RefinementOptions> refinement;  ///< The matrix in single precision is in `low`.
    std::unique_ptr<PreconditionerConfig> preconditioner;  ///< Null: not chosen yet.
    FormatOptions format;
    Shared<NodeCoordinates> coordinates;
    CsrView<T> given;  ///< The matrix of the latest setup or update.
    std::optional<PreparedMatrix<T>> prepared;
    CsrMatrix<float> rounded;
    std::optional<PreparedMatrix<float>> low;
    std::unique_ptr<IterativeSolver<T>> iterative;  ///< Null: there is no matrix.
    bool at_work = false;
};

/// Reads the texts other than auto.
template <class T>
void Solver<T>::State::configure(const std::string& solver_text,
                                 const std::string& preconditioner_text,
                                 const std::string& format_text) {
    solver.reset();
    refinement.reset();
    preconditioner.reset();
    const Spec named = solver_text;
    if (named.name() == "refinement") {
        require(std::is_same_v<T, double>, "Solver: refinement solves systems in double precision");
        refinement = parse_refinement(named);
    } else if (solver_text != "auto") {
        solver = parse_solver(named);
    }
    if (format_text != "auto") format = parse_format(format_text);
    if (preconditioner_text == "auto") return;
    preconditioner = parse_preconditioner(preconditioner_text);
    if (format_text != "auto" && format.format != MatrixFormat::csr) {
        preconditioner->use_format(format);
    }
    if (!coordinates->values.empty()) preconditioner->use_coordinates(coordinates);
}

template <class T>
void Solver<T>::State::check(const CsrView<T>& matrix, const char* function) const {
    AtWork::check(at_work);
    check_matrix(function, matrix);
    check_memory(context, function, matrix);
    require(matrix.rows == matrix.columns, function, ": the matrix must be square");
    Offset end = 0;
    copy_to_host(context, matrix.row_offsets_span().last(1), std::span<Offset>(&end, 1));
    require(end == matrix.nonzeros, function, ": the row offsets end at ", end, ", not at the ",
            matrix.nonzeros, " nonzeros");
    if constexpr (std::is_same_v<T, double>) {
        if (!refinement || context.on_gpu()) return;
        const std::string fault = float_range_fault(matrix);
        require(fault.empty(), function, ": ", fault, ", which refinement needs");
    }
}

template <class T>
void Solver<T>::State::make(const CsrView<T>& matrix) {
    if constexpr (std::is_same_v<T, double>) {
        if (refinement) {
            const auto none = parse_preconditioner("none");
            prepared.emplace(context, matrix, format, *none);
            rounded = rounded_to_float(context, matrix);
            low.emplace(context, rounded.view(), format, *preconditioner);
            iterative = make_refinement(context, prepared->matrix(), low->matrix(),
                                        low->preconditioner(), *refinement);
            return;
        }
    }
    prepared.emplace(context, matrix, format, *preconditioner);
    iterative = solver->make(context, prepared->matrix(), prepared->preconditioner());
}

/// Does the work of a setup or update; where it fails there is no matrix.
template <class T>
template <class Work>
void Solver<T>::State::set_up(Work&& work) {
    try {
        work();
        context.synchronize();
    } catch (const std::bad_alloc&) {
        drop();
        throw OutOfMemory("out of memory of the host");
    } catch (const InvalidArgument& error) {
        drop();
        Index row = -1;
        try {
            row = first_non_finite_row(context, given);
        } catch (const std::exception&) {  // The first error says more.
        }
        if (row < 0) throw;
        throw InvalidArgument("row " + std::to_string(row) +
                              " of the matrix has a NaN or infinity: " + error.what());
    } catch (...) {
        drop();
        throw;
    }
}

/// Sets up the attempt in use for the given matrix.
template <class T>
void Solver<T>::State::make_attempt() {
    drop();
    set_up([&] {
        if (is_automatic) {
            const Attempt& next = attempts[attempt];
            configure(next.solver, next.preconditioner, next.format);
        }
        make(given);
    });
}

/// The next attempt is taken as this one cannot be set up.
template <class T>
void Solver<T>::State::explain_next(const Error& error) {
    const std::string& failed = attempts[attempt].preconditioner;
    attempts[attempt + 1].reason = failed + " cannot be set up (" + error.what() + ")";
}

/// Sets up the first of the later attempts that the matrix allows; false: there is none.
template <class T>
bool Solver<T>::State::take_next_attempt() {
    while (attempt + 1 < attempts.size()) {
        ++attempt;
        try {
            make_attempt();
            if (report().unusable.empty() || attempt + 1 == attempts.size()) return true;
        } catch (const Error& error) {
            if (!worth_another(error) || attempt + 1 == attempts.size()) throw;
            explain_next(error);
        }
    }
    return false;
}

template <class T>
std::vector<Attempt> Solver<T>::State::choose_attempts(bool on_the_left) const {
    return choose(facts, texts[0], texts[1], texts[2], on_the_left);
}

/// Sets up the first attempt that the matrix allows.
template <class T>
void Solver<T>::State::make_first_of(std::vector<Attempt> chosen) {
    attempts = std::move(chosen);
    attempt = 0;
    try {
        make_attempt();
    } catch (const Error& error) {
        if (!worth_another(error) || attempts.size() == 1) throw;
        explain_next(error);
        take_next_attempt();
    }
    if (!report().unusable.empty()) take_next_attempt();
}

template <class T>
void Solver<T>::State::setup(const CsrView<T>& matrix) {
    check(matrix, "Solver::setup");
    drop();  // Looking at the matrix may fail.
    given = matrix;
    if (!is_automatic) return make_attempt();
    facts = find_facts(context, matrix, *coordinates);
    make_first_of(choose_attempts(left));
}

template <class T>
void Solver<T>::State::update(const CsrView<T>& matrix) {
    require(iterative != nullptr, "Solver::update: there is no matrix; call setup first");
    check(matrix, "Solver::update");
    require(matrix.rows == given.rows && matrix.nonzeros == given.nonzeros,
            "Solver::update: the matrix must have the pattern of that in setup");
    given = matrix;
    set_up([&] {
        prepared->update(context, matrix);
        if constexpr (std::is_same_v<T, double>) {
            if (low) {
                convert<double, float>(context, matrix.values_span(), rounded.values().view());
                low->update(context, rounded.view());
            }
        }
        iterative->operators_changed();
    });
}

template <class T>
std::vector<SolveReport> Solver<T>::State::solve_once(Vectors<const T> b, Vectors<T> x,
                                                      const SolveOptions& options) {
    if (!report().unusable.empty()) {
        check_solve<T>(context, prepared->matrix(), b, x, options);
        return std::vector<SolveReport>(std::size_t(b.count),
                                        unsolved_report(report(), low.has_value()));
    }
    std::vector<SolveReport> solved = iterative->solve(b, x, options);
    const auto changed = [](const SolveReport& one) { return one.recoveries > 0; };
    if (std::ranges::any_of(solved, changed)) low ? low->take_report() : prepared->take_report();
    return solved;
}

/// Chooses anew for solves on the other side; nothing is set up where the attempts are the same.
template <class T>
void Solver<T>::State::change_side() {
    std::vector<Attempt> chosen = choose_attempts(!left);
    const auto words = [](const Attempt& one) {
        return std::tie(one.solver, one.preconditioner, one.format);
    };
    if (!std::ranges::equal(chosen, attempts, {}, words, words)) make_first_of(std::move(chosen));
    left = !left;
}

template <class T>
std::vector<SolveReport> Solver<T>::State::solve(Vectors<const T> b, Vectors<T> x,
                                                 const SolveOptions& options) {
    require(iterative != nullptr, "Solver::solve: there is no matrix; call setup first");
    const AtWork guard(at_work);
    if (!is_automatic) return solve_once(b, x, options);
    if (options.left_preconditioning != left) {
        check_solve<T>(context, prepared->matrix(), b, x, options);
        change_side();
    }
    std::vector<SolveReport> total(std::size_t(b.count));
    SolveReport longest;  // Of the right-hand sides, that with the most iterations.
    while (true) {
        const Attempt current = attempts[attempt];
        const auto solved = solve_once(b, x, attempt_options(options, current, longest));
        bool goes_badly = false;
        for (std::size_t j = 0; j < total.size(); ++j) {
            goes_badly = goes_badly || worth_another(solved[j], current.max_iterations);
            total[j] = joined(total[j], solved[j]);
            if (total[j].iterations >= longest.iterations) longest = total[j];
        }
        const bool has_more =
            longest.iterations < options.max_iterations && longest.seconds < options.max_seconds;
        if (!goes_badly || !has_more) return total;
        const std::size_t before = attempt;
        try {
            if (!take_next_attempt()) return total;
        } catch (const Error& error) {  // Values of an update may fit no later attempt.
            if (!worth_another(error)) throw;
            attempt = before;
            make_attempt();
            for (SolveReport& report : total) {
                if (report.status == Status::converged) continue;
                report.message += std::string(" No other way can be set up: ") + error.what() + ".";
            }
            return total;
        }
    }
}

template <class T>
Solver<T>::Solver(const Context& context, const Spec& solver, const Spec& preconditioner,
                  const Spec& format)
    : state_(std::make_unique<State>(context, solver, preconditioner, format)) {}
template <class T>
Solver<T>::~Solver() = default;
template <class T>
Solver<T>::Solver(Solver&&) noexcept = default;
template <class T>
Solver<T>& Solver<T>::operator=(Solver&&) noexcept = default;

template <class T>
typename Solver<T>::State& Solver<T>::state() const {
    require(state_ != nullptr, "Solver: used after it was moved from");
    return *state_;
}

template <class T>
void Solver<T>::setup(const CsrView<T>& matrix) {
    state().setup(matrix);
}

template <class T>
void Solver<T>::update(const CsrView<T>& matrix) {
    state().update(matrix);
}

template <class T>
SolveReport Solver<T>::solve(Input<T> b, WriteVector<T> x, const SolveOptions& options) {
    return std::move(state().solve(one_vector(b), one_vector(x), options).front());
}

template <class T>
std::vector<SolveReport> Solver<T>::solve(Vectors<const T> b, Vectors<T> x,
                                          const SolveOptions& options) {
    return state().solve(b, x, options);
}

template <class T>
void Solver<T>::use_coordinates(const Shared<NodeCoordinates>& coordinates) {
    state().coordinates = coordinates;
    if (state().preconditioner) state().preconditioner->use_coordinates(coordinates);
}

template <class T>
bool Solver<T>::has_matrix() const {
    return state().iterative != nullptr;
}

template <class T>
const PreconditionerReport& Solver<T>::preconditioner_report() const {
    require(state().iterative != nullptr, "Solver: there is no matrix; call setup first");
    return state().report();
}

template <class T>
std::string Solver<T>::preconditioner() const {
    return state().with_preconditioner(
        [](const auto* made) { return made != nullptr ? made->describe() : "none"; });
}

template <class T>
Index Solver<T>::singular_blocks() const {
    return state().with_preconditioner(
        [](const auto* made) { return made != nullptr ? made->singular_blocks() : 0; });
}

template <class T>
std::string Solver<T>::format() const {
    require(state().iterative != nullptr, "Solver: there is no matrix; call setup first");
    FormatOptions format = state_->format;
    format.block = state_->prepared->block();
    return to_string(format);
}

template <class T>
std::vector<Attempt> Solver<T>::attempts() const {
    return state().attempts;
}

template <class T>
int Solver<T>::attempt() const {
    return int(state().attempt);
}

template class Solver<float>;
template class Solver<double>;

}  // namespace tessera
