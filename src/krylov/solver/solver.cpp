#include "tessera/solver.hpp"

#include "base/checks.hpp"
#include "krylov/solver/attempt_engine.hpp"
#include "tessera/detail/floating_point.hpp"

namespace tessera {

template <class T>
struct Solver<T>::State : AttemptEngine<T> {
    using AttemptEngine<T>::AttemptEngine;
};

template <class T>
Solver<T>::Solver(const Context& context, MethodConfig method)
    : state_(std::make_unique<State>(context, std::move(method))) {}
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
void Solver<T>::use_coordinates(const Shared<NodeCoordinates>& coordinates) {
    state().use_coordinates(coordinates);
}

template <class T>
void Solver<T>::use_near_null_space(const Shared<NearNullSpace>& vectors) {
    state().use_near_null_space(vectors);
}

template <class T>
void Solver<T>::use_null_space(const Shared<NearNullSpace>& vectors) {
    state().use_null_space(vectors);
}

template <class T>
void Solver<T>::on_attempt(std::function<void(const AttemptEvent&)> listener) {
    state().on_attempt(std::move(listener));
}

template <class T>
void Solver<T>::setup(const CsrView<T>& matrix) {
    const detail::DefaultFloatingPoint environment;
    state().setup(matrix, nullptr);
}

template <class T>
void Solver<T>::setup(const CsrView<T>& matrix, const Operator<T>& preconditioner) {
    const detail::DefaultFloatingPoint environment;
    state().setup(matrix, &preconditioner);
}

template <class T>
void Solver<T>::setup(const Operator<T>& matrix, const Operator<T>* preconditioner) {
    const detail::DefaultFloatingPoint environment;
    state().setup(matrix, preconditioner);
}

template <class T>
void Solver<T>::update(const CsrView<T>& matrix) {
    const detail::DefaultFloatingPoint environment;
    state().update(matrix);
}

template <class T>
void Solver<T>::operators_changed() {
    state().require_matrix("Solver::operators_changed");
    if (state_->is_ready()) state_->operators_changed();
}

template <class T>
SolveReport Solver<T>::solve(Input<T> b, WriteVector<T> x, const SolveOptions& options) {
    const detail::DefaultFloatingPoint environment;
    return std::move(state().solve(one_vector(b), one_vector(x), options).front());
}

template <class T>
std::vector<SolveReport> Solver<T>::solve(Vectors<const T> b, Vectors<T> x,
                                          const SolveOptions& options) {
    const detail::DefaultFloatingPoint environment;
    return state().solve(b, x, options);
}

template <class T>
bool Solver<T>::has_matrix() const {
    return state().has_matrix();
}

template <class T>
const PreconditionerReport& Solver<T>::preconditioner_report() const {
    state().require_matrix("Solver");
    static const PreconditionerReport none;
    return state_->is_ready() ? state_->system().report() : none;
}

template <class T>
std::string Solver<T>::preconditioner() const {
    state().require_matrix("Solver");
    return state_->is_ready() ? state_->system().preconditioner_text()
                              : state_->stopped_preconditioner();
}

template <class T>
Index Solver<T>::singular_blocks() const {
    state().require_matrix("Solver");
    if (!state_->is_ready()) return 0;
    const Operator<T>* preconditioner = state_->system().preconditioner();
    return preconditioner != nullptr ? preconditioner->singular_blocks() : 0;
}

template <class T>
std::string Solver<T>::format() const {
    state().require_matrix("Solver");
    return state_->is_ready() ? state_->system().format() : "csr";
}

template <class T>
std::vector<Attempt> Solver<T>::attempts() const {
    return state().is_automatic() ? state_->attempts() : std::vector<Attempt>();
}

template <class T>
int Solver<T>::attempt() const {
    return int(state().attempt());
}

template <class T>
const MatrixFacts& Solver<T>::facts() const {
    return state().facts();
}

template class Solver<float>;
template class Solver<double>;

}  // namespace tessera
