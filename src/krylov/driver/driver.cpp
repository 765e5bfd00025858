#include "krylov/driver.hpp"

#include <algorithm>

#include "base/checks.hpp"
#include "krylov/at_work.hpp"
#include "krylov/driver/column_solve.hpp"
#include "krylov/driver/iteration_batches.hpp"
#include "tessera/detail/floating_point.hpp"

namespace tessera {

namespace {

template <class T>
class Driver final : public IterativeSolver<T> {
  public:
    Driver(const Context& context, const Operator<T>& matrix, const Operator<T>* preconditioner,
           MethodFactory<T> factory, const MethodTraits& traits)
        : shared_(context, matrix, preconditioner),
          factory_(std::move(factory)),
          traits_(traits),
          batches_(shared_.context,
                   matrix.can_be_captured() &&
                       (preconditioner == nullptr || preconditioner->can_be_captured())) {}

    SolveReport solve(std::span<const T> b, std::span<T> x, const SolveOptions& options) override {
        return std::move(solve(one_vector(b), one_vector(x), options).front());
    }
    std::vector<SolveReport> solve(Vectors<const T> b, Vectors<T> x,
                                   const SolveOptions& options) override;
    void operators_changed() override {
        const AtWork guard(at_work_);
        batches_.discard_graphs();
        shared_.scaled.set_exponent(0);
        scale_is_known_ = false;
    }

  private:
    void make_method(int columns);
    void prepare(int columns);
    int open(Vectors<const T> b, Vectors<T> x, int first, SolveReport* reports);
    bool scale_matrix();
    void solve_group(Vectors<const T> b, Vectors<T> x, int first, SolveReport* reports);
    void solve_scaled(Vectors<const T> b, Vectors<T> x, int first, SolveReport* reports);
    void iterate(int columns, SolveReport* reports);
    void copy_column(int from, int to);

    SharedSolve<T> shared_;
    const MethodFactory<T> factory_;
    const MethodTraits traits_;
    std::unique_ptr<LeftPreconditioned<T>> left_matrix_;
    std::vector<std::unique_ptr<ColumnSolve<T>>> columns_;
    std::vector<int> positions_;  ///< Index in the group of the right-hand side of each column.
    IterationBatches<T> batches_;
    bool scale_is_known_ = false;  ///< The exponent of shared_.scaled need not be looked for.
    bool at_work_ = false;
};

/// The method for this many columns and the side of the preconditioner that the options ask for,
/// unless there is one.
template <class T>
void Driver<T>::make_method(int columns) {
    const bool wants_left =
        shared_.options->left_preconditioning && shared_.preconditioner != nullptr;
    if (shared_.method && wants_left == shared_.left && columns <= int(columns_.size())) return;
    shared_.method.reset();
    shared_.vectors.reset();
    left_matrix_.reset();
    batches_.start_anew();
    const Context& context = shared_.context;
    const Offset size = shared_.matrix.rows();
    auto vectors = std::make_unique<VectorSet<T>>(context, size, wants_left ? 4 : 3, columns);
    if (wants_left) {
        left_matrix_ =
            std::make_unique<LeftPreconditioned<T>>(shared_.matrix, *shared_.preconditioner);
        shared_.method = factory_({context, *left_matrix_, nullptr, vectors->first(columns, 3),
                                   vectors->first(columns, 1)});
    } else {
        shared_.method = factory_({context, shared_.matrix, shared_.preconditioner,
                                   vectors->first(columns, 0), vectors->first(columns, 1)});
    }
    shared_.left = wants_left;
    shared_.vectors = std::move(vectors);
    columns_.resize(std::size_t(columns));
    for (auto& column : columns_) column = std::make_unique<ColumnSolve<T>>(shared_);
    positions_.resize(std::size_t(columns));
}

template <class T>
void Driver<T>::prepare(int columns) {
    make_method(columns);
    if (shared_.preconditioner != nullptr) {
        const Offset now = shared_.preconditioner->recoveries();
        if (std::exchange(shared_.known_recoveries, now) != now) batches_.discard_graphs();
    }
    shared_.recovered = shared_.restarted = false;
    // Batches adapt to times, which differ between ranks: over ranks there is a check after each
    // iteration.
    const bool over_ranks = rank_sums(shared_.context) != nullptr;
    const int given = shared_.options->check_interval;
    batches_.choose_length(over_ranks && given == 0 ? 1 : given, shared_.method->period(), columns);
    batches_.restart_period();
}

template <class T>
void Driver<T>::copy_column(int from, int to) {
    shared_.vectors->copy_column(shared_.context, from, to);
    shared_.method->copy_column(from, to);
    std::swap(columns_[std::size_t(to)], columns_[std::size_t(from)]);
    columns_[std::size_t(to)]->set_column(to);
    positions_[std::size_t(to)] = positions_[std::size_t(from)];
}

/// Iterates the first columns until all have ended.
template <class T>
void Driver<T>::iterate(int columns, SolveReport* reports) {
    Method<T>& method = *shared_.method;
    const bool alone = columns == 1;
    while (columns > 0) {
        if (method.columns() != columns) {
            method.set_columns(columns);
            batches_.discard_graphs();
        }
        const bool timed = batches_.next_is_timed();
        const double begin = timed ? now() : 0;
        batches_.enqueue(method);
        for (int c = 0; c < columns; ++c) columns_[std::size_t(c)]->read_state();
        const double seconds = timed ? now() - begin : 0;
        for (int c = 0; c < columns; ++c) columns_[std::size_t(c)]->observe();
        const bool period_start = batches_.at_start_of_period();
        for (int c = 0; c < columns;) {
            auto report = columns_[std::size_t(c)]->proceed(period_start);
            if (!report) {
                ++c;
                continue;
            }
            reports[positions_[std::size_t(c)]] = std::move(*report);
            --columns;
            if (c < columns) copy_column(columns, c);
        }
        if (timed) batches_.took(seconds, method.period());
        if (std::exchange(shared_.recovered, false)) batches_.discard_graphs();
        if (std::exchange(shared_.restarted, false) && alone) batches_.restart_period();
    }
}

/// Starts with right-hand sides; the first one has the number `first`. Returns how many columns
/// iterate; the solves of the others have ended, with reports.
template <class T>
int Driver<T>::open(Vectors<const T> b, Vectors<T> x, int first, SolveReport* reports) {
    int columns = 0;
    for (int j = 0; j < b.count; ++j) {
        auto report = columns_[std::size_t(columns)]->open(columns, first + j, b[j], x[j]);
        if (report) {
            reports[j] = std::move(*report);
        } else {
            positions_[std::size_t(columns++)] = j;
        }
    }
    shared_.restarted = false;
    return columns;
}

/// Looks for the scale of A by a product with the right-hand side of the first column, which is
/// open. Whether A is scaled from now on; columns must then be opened again. Nothing is looked for
/// twice, nor with a preconditioner.
template <class T>
bool Driver<T>::scale_matrix() {
    if (shared_.preconditioner != nullptr || std::exchange(scale_is_known_, true)) return false;
    const std::optional<int> exponent = columns_[0]->matrix_exponent();
    if (!exponent || !is_unusual<T>(*exponent)) return false;
    shared_.scaled.set_exponent(-*exponent);
    batches_.discard_graphs();
    return true;
}

/// Solves for right-hand sides that the method iterates together; the first one has the number
/// `first`.
template <class T>
void Driver<T>::solve_group(Vectors<const T> b, Vectors<T> x, int first, SolveReport* reports) {
    prepare(b.count);
    shared_.unusual_b = false;
    std::vector<Offset> products(std::size_t(b.count), 0);  // In starts that are given up.
    int columns = open(b, x, first, reports);
    if (columns > 0 && shared_.unusual_b && scale_matrix()) {
        for (std::size_t c = 0; c < std::size_t(columns); ++c) {
            products[std::size_t(positions_[c])] = columns_[c]->products();
        }
        columns = open(b, x, first, reports);
    }
    iterate(columns, reports);
    for (std::size_t j = 0; j < products.size(); ++j) {
        reports[j].operator_applications += products[j];
    }
    solve_scaled(b, x, first, reports);
    if (b.count == 1 && reports[0].status == Status::converged) {
        batches_.solve_ended(reports[0].iterations);
    }
}

/// Without a preconditioner products with A may have left the range of T, though ||b|| is usual:
/// solves again with A scaled where the method failed, if the scale of A is unusual.
template <class T>
void Driver<T>::solve_scaled(Vectors<const T> b, Vectors<T> x, int first, SolveReport* reports) {
    bool scaled = false;
    for (int j = 0; j < b.count; ++j) {
        if (shared_.preconditioner != nullptr || (scale_is_known_ && !scaled)) return;
        const Status status = reports[j].status;
        if (status != Status::non_finite && status != Status::breakdown &&
            status != Status::accuracy_lost && status != Status::stagnated) {
            continue;
        }
        const auto b_j = b.part(j, 1);
        const auto x_j = x.part(j, 1);
        SolveReport report;
        prepare(b.count);
        if (open(b_j, x_j, first + j, &report) == 0) continue;
        scaled = scaled || scale_matrix();
        reports[j].operator_applications += columns_[0]->products();
        if (!scaled) return;
        iterate(open(b_j, x_j, first + j, &report), &report);
        report.operator_applications += reports[j].operator_applications;
        report.seconds += reports[j].seconds;
        reports[j] = std::move(report);
    }
}

template <class T>
std::vector<SolveReport> Driver<T>::solve(Vectors<const T> b, Vectors<T> x,
                                          const SolveOptions& options) {
    check_solve<T>(shared_.context, shared_.matrix, b, x, options);
    require_argument(
        "left_preconditioning", traits_.allows_left || !options.left_preconditioning,
        "this solver does not support left preconditioning; leave side at right, or use "
        "gmres, idr or bicgstab");
    require_argument("solver",
                     rank_sums(shared_.context) == nullptr || !traits_.depends_on_size,
                     "gmres and idr do not solve over ranks; use cg, fcg, minres, sqmr or bicgstab");
    const AtWork guard(at_work_);
    const detail::DefaultFloatingPoint environment;
    shared_.options = &options;
    std::vector<SolveReport> reports(std::size_t(b.count));
    for (int first = 0; first < b.count; first += traits_.columns) {
        const int count = std::min(traits_.columns, b.count - first);
        solve_group(b.part(first, count), x.part(first, count), first, reports.data() + first);
    }
    return reports;
}

}  // namespace

template <class T>
std::unique_ptr<IterativeSolver<T>> make_driver(const Context& context, const Operator<T>& matrix,
                                                const Operator<T>* preconditioner,
                                                MethodFactory<T> factory,
                                                const MethodTraits& traits) {
    check_square("solve", matrix.rows(), matrix.columns());
    require_argument("preconditioner",
                     preconditioner == nullptr || (preconditioner->rows() == matrix.rows() &&
                                                   preconditioner->columns() == matrix.rows()),
                     "solve: the preconditioner must have the size of the matrix");
    return std::make_unique<Driver<T>>(context, matrix, preconditioner, std::move(factory), traits);
}

template decltype(make_driver<float>) make_driver<float>;
template decltype(make_driver<double>) make_driver<double>;

}  // namespace tessera
