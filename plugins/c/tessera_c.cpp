#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>

#include "handles.hpp"
#include "tessera/detail/report_json.hpp"

using namespace tessera;
using namespace c_interface;
using Json = nlohmann::ordered_json;

struct tessera_solver {
    Context context;
    std::variant<Solver<float>, Solver<double>> solver;
    std::shared_ptr<const AnyMatrix> matrix = nullptr;  ///< Null: there is none.
    bool solved = false;
    SolveReport report = {};  ///< If `solved`.
    std::string json = {};    ///< Made when it is first asked for.

    void forget_solve() {
        solved = false;
        json.clear();
    }
};

namespace {

thread_local std::string latest_message;  // NOLINT

std::string to_json(const SolveReport& report, const PreconditionerReport& setup,
                    const std::string& preconditioner) {
    Json json;
    detail::add_fields(json, report, setup);
    json["preconditioner"] = preconditioner;
    json["blocks"] = {{"count", setup.blocks}, {"largest", setup.largest_block}};
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

SolveOptions to_options(const tessera_options* given, const char* function) {
    SolveOptions options;
    if (given == nullptr) return options;
    require(given->size == sizeof(tessera_options), function,
            "the options were not set by tessera_options_init");
    if (!std::isnan(given->rtol)) options.rtol = given->rtol;
    options.atol = given->atol;
    options.max_seconds = given->max_seconds;
    options.max_iterations = given->max_iterations;
    options.stagnation_window = given->stagnation_window;
    options.check_interval = given->check_interval;
    options.left_preconditioning = given->left_preconditioning != 0;
    if (given->observer != nullptr) {
        options.observer = [given](const Progress& progress) {
            return given->observer(given->observer_data, progress.vector, progress.iterations,
                                   progress.relative_residual) == 0;
        };
    }
    return options;
}

tessera_report to_report(const SolveReport& report) {
    return {tessera_status(report.status),
            std::int32_t(report.recoveries),
            report.iterations,
            report.operator_applications,
            report.restarts,
            report.relative_residual,
            report.true_relative_residual,
            report.seconds};
}

static_assert(int(Status::converged) == TESSERA_CONVERGED);
static_assert(int(Status::max_iterations) == TESSERA_MAX_ITERATIONS);
static_assert(int(Status::max_seconds) == TESSERA_MAX_SECONDS);
static_assert(int(Status::accuracy_lost) == TESSERA_ACCURACY_LOST);
static_assert(int(Status::stagnated) == TESSERA_STAGNATED);
static_assert(int(Status::breakdown) == TESSERA_BREAKDOWN);
static_assert(int(Status::non_finite) == TESSERA_NON_FINITE);
static_assert(int(Status::singular_block) == TESSERA_SINGULAR_BLOCK);
static_assert(int(Status::interrupted) == TESSERA_INTERRUPTED);
static_assert(int(Status::unbalanced) == TESSERA_UNBALANCED);
static_assert(int(Status::rounding_limit) == TESSERA_ROUNDING_LIMIT);
static_assert(int(Status::least_squares) == TESSERA_LEAST_SQUARES);
static_assert(int(Status::singular) == TESSERA_SINGULAR);

/// use(solver, view) for a solver and a matrix of one type on one device.
template <class Use>
void take_matrix(tessera_solver* solver, const tessera_matrix* matrix, const char* function,
                 Use&& use) {
    not_null(solver, function, "solver");
    solver->forget_solve();
    not_null(matrix, function, "matrix");
    require(matrix->context.device() == solver->context.device(), function,
            "the matrix is on another device than the solver");
    require(matrix->matrix->index() == solver->solver.index(), function,
            "the matrix has another type than the solver");
    std::visit(
        [&]<class T>(Solver<T>& typed) {
            try {
                use(typed, std::get<Matrix<T>>(*matrix->matrix).view);
            } catch (...) {
                if (!typed.has_matrix()) solver->matrix = nullptr;
                throw;
            }
        },
        solver->solver);
    solver->matrix = matrix->matrix;
}

void solve_vectors(tessera_solver* solver, int32_t count, const void* b, int64_t b_leading, void* x,
                   int64_t x_leading, const tessera_options* options, tessera_report* reports,
                   const char* name) {
    not_null(solver, name, "solver");
    solver->forget_solve();
    require(solver->matrix != nullptr, name,
            "the solver has no matrix; call tessera_solver_setup first");
    require(count > 0, name, "there are no right-hand sides");
    const SolveOptions solve_options = to_options(options, name);
    std::vector<SolveReport> all;
    std::visit(
        [&]<class T>(Solver<T>& typed) {
            const Offset rows = std::get<Matrix<T>>(*solver->matrix).view.rows;
            all =
                typed.solve(Vectors<const T>{static_cast<const T*>(b), rows, count, b_leading},
                            Vectors<T>{static_cast<T*>(x), rows, count, x_leading}, solve_options);
        },
        solver->solver);
    if (reports != nullptr) std::ranges::transform(all, reports, to_report);
    const auto failed =
        std::ranges::find_if(all, [](const SolveReport& one) { return !is_solved(one.status); });
    solver->report = std::move(failed != all.end() ? *failed : all.front());
    solver->solved = true;
}

}  // namespace

/// Where memory for a message runs out it is left empty.
tessera_error c_interface::fail(tessera_error error, const char* message) noexcept {
    try {
        std::string_view text(message);
        const std::size_t end = text.find(": ");
        const bool names_function = text.starts_with("borrow_") || text.starts_with("Solver::");
        if (names_function && end != text.npos) text.remove_prefix(end + 2);
        latest_message = text;
    } catch (...) {
        latest_message.clear();
    }
    return error;
}

const char* tessera_version(void) { return version(); }

const char* tessera_message(void) { return latest_message.c_str(); }

tessera_error tessera_context_create(const char* device, int threads, tessera_context** context) {
    return guarded([&] {
        constexpr const char* name = "tessera_context_create";
        not_null(device, name, "device");
        not_null(context, name, "context");
        const Context made = Context::from_name(device, threads);
        *context = new tessera_context{made, made.description()};
    });
}

tessera_error tessera_context_create_on_stream(int device, CUstream_st* stream,
                                               const tessera_allocator* allocator, int threads,
                                               tessera_context** context) {
    return guarded([&] {
        not_null(context, "tessera_context_create_on_stream", "context");
        DeviceAllocator functions;
        if (allocator != nullptr) {
            functions = {allocator->allocate, allocator->release, allocator->data};
        }
        const Context made = Context::cuda(device, stream, functions, threads);
        *context = new tessera_context{made, made.description()};
    });
}

void tessera_context_free(tessera_context* context) { delete context; }

tessera_error tessera_context_synchronize(tessera_context* context) {
    return guarded([&] {
        not_null(context, "tessera_context_synchronize", "context")->context.synchronize();
    });
}

const char* tessera_context_description(const tessera_context* context) {
    return context != nullptr ? context->description.c_str() : "";
}

int tessera_context_on_gpu(const tessera_context* context) {
    return context != nullptr && context->context.on_gpu() ? 1 : 0;
}

tessera_error tessera_allocate(tessera_context* context, size_t bytes, void** array) {
    return guarded([&] {
        constexpr const char* name = "tessera_allocate";
        not_null(context, name, "context");
        not_null(array, name, "array");
        require(bytes > 0 && bytes <= size_t(INT64_MAX), name, "the number of bytes is 0 or huge");
        Buffer<std::byte> buffer(context->context, Offset(bytes));
        void* const data = buffer.data();
        context->arrays.emplace(data, std::move(buffer));
        *array = data;
    });
}

tessera_error tessera_release(tessera_context* context, void* array) {
    return guarded([&] {
        not_null(context, "tessera_release", "context");
        require(array == nullptr || context->arrays.erase(array) == 1, "tessera_release",
                "the array is not one of tessera_allocate with this context");
    });
}

tessera_error tessera_copy(tessera_context* context, const void* from, void* to, size_t bytes) {
    return guarded([&] {
        not_null(context, "tessera_copy", "context");
        if (bytes == 0) return;
        require(bytes <= size_t(INT64_MAX), "tessera_copy", "the number of bytes is huge");
        detail::copy_bytes(context->context, not_null(from, "tessera_copy", "from"),
                           not_null(to, "tessera_copy", "to"), Offset(bytes), true);
    });
}

void tessera_options_init(tessera_options* options) {
    if (options == nullptr) return;
    const SolveOptions defaults;
    *options = {sizeof(tessera_options),
                std::numeric_limits<double>::quiet_NaN(),  // The default of the type.
                defaults.atol,
                defaults.max_seconds,
                defaults.max_iterations,
                defaults.stagnation_window,
                defaults.check_interval,
                0,
                nullptr,
                nullptr};
}

tessera_error tessera_solver_create(tessera_context* context, tessera_type type, const char* solver,
                                    const char* preconditioner, const char* format,
                                    tessera_solver** created) {
    return guarded([&] {
        constexpr const char* name = "tessera_solver_create";
        not_null(context, name, "context");
        not_null(created, name, "created");
        check_type(type, name);
        *created = with_type(type, [&]<class T>(T) {
            return new tessera_solver{context->context,
                                      Solver<T>(context->context, solver != nullptr ? solver : "cg",
                                                preconditioner != nullptr ? preconditioner : "none",
                                                format != nullptr ? format : "csr")};
        });
    });
}

void tessera_solver_free(tessera_solver* solver) { delete solver; }

tessera_error tessera_solver_set_null_space(tessera_solver* solver, int32_t rows, int32_t columns,
                                            const double* vectors, int64_t leading_dimension) {
    return guarded([&] {
        constexpr const char* name = "tessera_solver_set_null_space";
        not_null(solver, name, "solver");
        require(rows >= 0 && columns >= 0, name, "a size is negative");
        NearNullSpace space{columns, {}};
        if (rows > 0 && columns > 0) {
            not_null(vectors, name, "vectors");
            require(columns == 1 || leading_dimension >= rows, name,
                    "the leading dimension is below the number of rows");
            space.values.reserve(std::size_t(rows) * std::size_t(columns));
            for (Offset i = 0; i < rows; ++i) {
                for (Offset c = 0; c < columns; ++c) {
                    space.values.push_back(vectors[i + c * leading_dimension]);
                }
            }
        }
        std::visit([&](auto& typed) { typed.use_null_space(std::move(space)); }, solver->solver);
    });
}

tessera_error tessera_solver_setup(tessera_solver* solver, const tessera_matrix* matrix) {
    return guarded([&] {
        take_matrix(solver, matrix, "tessera_solver_setup",
                    [](auto& typed, const auto& view) { typed.setup(view); });
    });
}

tessera_error tessera_solver_update(tessera_solver* solver, const tessera_matrix* matrix) {
    return guarded([&] {
        take_matrix(solver, matrix, "tessera_solver_update",
                    [](auto& typed, const auto& view) { typed.update(view); });
    });
}

tessera_error tessera_solver_solve(tessera_solver* solver, const void* b, void* x,
                                   const tessera_options* options, tessera_report* report) {
    return guarded(
        [&] { solve_vectors(solver, 1, b, 0, x, 0, options, report, "tessera_solver_solve"); });
}

tessera_error tessera_solver_solve_vectors(tessera_solver* solver, int32_t count, const void* b,
                                           int64_t b_leading, void* x, int64_t x_leading,
                                           const tessera_options* options,
                                           tessera_report* reports) {
    return guarded([&] {
        solve_vectors(solver, count, b, b_leading, x, x_leading, options, reports,
                      "tessera_solver_solve_vectors");
    });
}

const char* tessera_solver_message(const tessera_solver* solver) {
    return solver != nullptr && solver->solved ? solver->report.message.c_str() : nullptr;
}

const char* tessera_solver_json(tessera_solver* solver) {
    const tessera_error error = guarded([&] {
        constexpr const char* name = "tessera_solver_json";
        not_null(solver, name, "solver");
        require(solver->solved, name, "the latest call with this solver was no solve");
        if (!solver->json.empty()) return;
        std::visit(
            [&](const auto& typed) {
                solver->json =
                    to_json(solver->report, typed.preconditioner_report(), typed.preconditioner());
            },
            solver->solver);
    });
    return error == TESSERA_SUCCESS ? solver->json.c_str() : nullptr;
}

const char* tessera_status_name(tessera_status status) {
    const bool known = status >= TESSERA_CONVERGED && status <= TESSERA_SINGULAR;
    return known ? to_string(Status(status)) : "unknown";
}
