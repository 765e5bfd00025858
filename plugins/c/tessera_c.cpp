#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <memory>
#include <new>
#include <variant>

#include "report/values.hpp"
#include "tessera/tessera.h"
#include "tessera/tessera.hpp"

using namespace tessera;
using cli::Json, cli::number;

struct tessera_context {
    Context context;
    std::string description;
    std::map<const void*, Buffer<std::byte>> arrays = {};  ///< Of tessera_allocate.
};

namespace {

/// A borrowed or an owned matrix with values of type T.
template <class T>
struct Matrix {
    CsrView<T> view;
    CsrMatrix<T> owned = {};
    BorrowedMatrix<T> borrowed = {};
};
using AnyMatrix = std::variant<Matrix<float>, Matrix<double>>;

}  // namespace

struct tessera_matrix {
    Context context;
    std::shared_ptr<AnyMatrix> matrix;
};

struct tessera_solver {
    Context context;
    std::variant<Solver<float>, Solver<double>> solver;
    std::shared_ptr<const AnyMatrix> matrix = nullptr;  ///< Null: there is none.
    bool solved = false;
    SolveReport report = {};  ///< If `solved`.
    std::string json = {};    ///< Made when it is first asked for.
};

namespace {

thread_local std::string latest_message;  // NOLINT

/// Where memory for a message runs out it is left empty.
tessera_error fail(tessera_error error, const char* message) noexcept {
    try {
        latest_message = message;
    } catch (...) {
        latest_message.clear();
    }
    return error;
}

/// f(); exceptions become error codes.
template <class F>
tessera_error guarded(F&& f) noexcept {
    try {
        f();
        return TESSERA_SUCCESS;
    } catch (const InvalidArgument& error) {
        return fail(TESSERA_INVALID_ARGUMENT, error.what());
    } catch (const OutOfMemory& error) {
        return fail(TESSERA_OUT_OF_MEMORY, error.what());
    } catch (const DeviceError& error) {
        return fail(TESSERA_DEVICE_ERROR, error.what());
    } catch (const Error& error) {
        return fail(TESSERA_FILE_ERROR, error.what());
    } catch (const std::bad_alloc&) {
        return fail(TESSERA_OUT_OF_MEMORY, "out of memory");
    } catch (const std::exception& error) {
        return fail(TESSERA_INTERNAL_ERROR, error.what());
    } catch (...) {
        return fail(TESSERA_INTERNAL_ERROR, "unknown exception");
    }
}

void require(bool condition, const char* function, const char* what) {
    if (!condition) throw InvalidArgument(std::string(function) + ": " + what);
}

template <class Pointer>
Pointer* not_null(Pointer* pointer, const char* function, const char* name) {
    if (pointer == nullptr) throw InvalidArgument(std::string(function) + ": " + name + " is null");
    return pointer;
}

void check_type(tessera_type type, const char* function) {
    require(type == TESSERA_FLOAT || type == TESSERA_DOUBLE, function,
            "the type is neither TESSERA_FLOAT nor TESSERA_DOUBLE");
}

/// f(T()) for the type.
template <class F>
auto with_type(tessera_type type, F&& f) {
    return type == TESSERA_FLOAT ? f(float()) : f(double());
}

std::string to_json(const SolveReport& report, const PreconditionerReport& setup,
                    const std::string& preconditioner) {
    Json residuals = Json::array();
    for (const double residual : report.residuals) residuals.push_back(number(residual));
    Json json = {{"status", to_string(report.status)},
                 {"message", report.message},
                 {"iterations", report.iterations},
                 {"operator_applications", report.operator_applications},
                 {"relative_residual", number(report.relative_residual)},
                 {"true_relative_residual", number(report.true_relative_residual)},
                 {"restarts", report.restarts},
                 {"recoveries", report.recoveries},
                 {"seconds", number(report.seconds)},
                 {"residuals", std::move(residuals)},
                 {"preconditioner", preconditioner},
                 {"blocks", {{"count", setup.blocks}, {"largest", setup.largest_block}}}};
    const Json groups = cli::to_json(setup.values);
    for (const auto& [group, values] : groups.items()) json[group].update(values);
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

SolveOptions to_options(const tessera_options* given, const char* function) {
    SolveOptions options;
    if (given == nullptr) return options;
    require(given->size == sizeof(tessera_options), function,
            "the options were not set by tessera_options_init");
    options.rtol = given->rtol;
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

/// f(array) with the array as 32- or 64-bit integers.
template <class F>
auto with_bits(int bits, const void* array, const char* function, F&& f) {
    require(bits == 32 || bits == 64, function, "integers have 32 or 64 bits");
    return bits == 32 ? f(static_cast<const std::int32_t*>(array))
                      : f(static_cast<const std::int64_t*>(array));
}

template <class T>
tessera_matrix* new_matrix(const tessera_context* context, BorrowedMatrix<T> borrowed) {
    Matrix<T> matrix{borrowed.view(), {}, std::move(borrowed)};
    return new tessera_matrix{context->context, std::make_shared<AnyMatrix>(std::move(matrix))};
}

/// use(solver, view) for a solver and a matrix of one type on one device.
template <class Use>
void take_matrix(tessera_solver* solver, const tessera_matrix* matrix, const char* function,
                 Use&& use) {
    not_null(solver, function, "solver");
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
    solver->solved = false;
    solver->matrix = matrix->matrix;
}

void solve_vectors(tessera_solver* solver, int32_t count, const void* b, int64_t b_leading, void* x,
                   int64_t x_leading, const tessera_options* options, tessera_report* reports,
                   const char* name) {
    not_null(solver, name, "solver");
    require(solver->matrix != nullptr, name,
            "the solver has no matrix; call tessera_solver_setup first");
    require(count > 0, name, "there are no right-hand sides");
    solver->solved = false;
    solver->json.clear();
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
    const auto failed = std::ranges::find_if(
        all, [](const SolveReport& one) { return one.status != Status::converged; });
    solver->report = std::move(failed != all.end() ? *failed : all.front());
    solver->solved = true;
}

}  // namespace

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

tessera_error tessera_matrix_create(tessera_context* context, tessera_type type, int32_t rows,
                                    int32_t columns, int64_t nonzeros, const int64_t* row_offsets,
                                    const int32_t* column_indices, const void* values,
                                    tessera_matrix** matrix) {
    return guarded([&] {
        constexpr const char* name = "tessera_matrix_create";
        not_null(context, name, "context");
        not_null(matrix, name, "matrix");
        check_type(type, name);
        require(rows >= 0 && columns >= 0 && nonzeros >= 0, name, "a size is negative");
        not_null(row_offsets, name, "row_offsets");
        if (nonzeros > 0) {
            not_null(column_indices, name, "column_indices");
            not_null(values, name, "values");
        }
        *matrix = with_type(type, [&]<class T>(T) {
            const CsrView<T> view{rows,        columns,        nonzeros,
                                  row_offsets, column_indices, static_cast<const T*>(values)};
            return new tessera_matrix{context->context,
                                      std::make_shared<AnyMatrix>(Matrix<T>{view})};
        });
    });
}

tessera_error tessera_matrix_create_csr(tessera_context* context, tessera_type type, int32_t rows,
                                        int32_t columns, int64_t nonzeros, int offset_bits,
                                        const void* row_offsets, int column_bits,
                                        const void* column_indices, const void* values, int sort,
                                        tessera_matrix** matrix) {
    return guarded([&] {
        constexpr const char* name = "tessera_matrix_create_csr";
        not_null(context, name, "context");
        not_null(matrix, name, "matrix");
        check_type(type, name);
        *matrix = with_type(type, [&]<class T>(T) {
            return with_bits(offset_bits, row_offsets, name, [&](const auto* offsets) {
                return with_bits(column_bits, column_indices, name, [&](const auto* indices) {
                    return new_matrix(
                        context,
                        borrow_csr(context->context, rows, columns, nonzeros, offsets, indices,
                                   static_cast<const T*>(values), {.sort = sort != 0}));
                });
            });
        });
    });
}

tessera_error tessera_matrix_create_bsr(tessera_context* context, tessera_type type,
                                        int32_t block_rows, int32_t block_columns, int32_t block,
                                        int64_t blocks, int offset_bits, const void* row_offsets,
                                        int column_bits, const void* column_indices,
                                        const void* values, int column_major, int sort,
                                        tessera_matrix** matrix) {
    return guarded([&] {
        constexpr const char* name = "tessera_matrix_create_bsr";
        not_null(context, name, "context");
        not_null(matrix, name, "matrix");
        check_type(type, name);
        const BlockOrder order =
            column_major != 0 ? BlockOrder::column_major : BlockOrder::row_major;
        *matrix = with_type(type, [&]<class T>(T) {
            return with_bits(offset_bits, row_offsets, name, [&](const auto* offsets) {
                return with_bits(column_bits, column_indices, name, [&](const auto* indices) {
                    return new_matrix(
                        context, borrow_bsr(context->context, block_rows, block_columns, block,
                                            blocks, offsets, indices, static_cast<const T*>(values),
                                            order, {.sort = sort != 0}));
                });
            });
        });
    });
}

tessera_error tessera_matrix_create_coo(tessera_context* context, tessera_type type, int32_t rows,
                                        int32_t columns, int64_t entries, int index_bits,
                                        const void* row_indices, const void* column_indices,
                                        const void* values, tessera_matrix** matrix) {
    return guarded([&] {
        constexpr const char* name = "tessera_matrix_create_coo";
        not_null(context, name, "context");
        not_null(matrix, name, "matrix");
        check_type(type, name);
        *matrix = with_type(type, [&]<class T>(T) {
            return with_bits(index_bits, row_indices, name, [&]<class I>(const I* i) {
                return new_matrix(context, borrow_coo(context->context, rows, columns, entries, i,
                                                      static_cast<const I*>(column_indices),
                                                      static_cast<const T*>(values)));
            });
        });
    });
}

tessera_error tessera_matrix_update(tessera_matrix* matrix, const void* values) {
    return guarded([&] {
        constexpr const char* name = "tessera_matrix_update";
        not_null(matrix, name, "matrix");
        std::visit(
            [&]<class T>(Matrix<T>& typed) {
                const auto* const given = static_cast<const T*>(values);
                require(typed.owned.row_offsets().empty(), name, "the matrix is from a file");
                if (typed.view.nonzeros > 0) not_null(given, name, "values");
                if (typed.borrowed.view().row_offsets == nullptr) {
                    typed.view.values = given;
                    return;
                }
                typed.borrowed.update(matrix->context, given);
                typed.view = typed.borrowed.view();
            },
            *matrix->matrix);
        matrix->context.synchronize();
    });
}

tessera_error tessera_matrix_read(tessera_context* context, tessera_type type, const char* path,
                                  tessera_matrix** matrix) {
    return guarded([&] {
        constexpr const char* name = "tessera_matrix_read";
        not_null(context, name, "context");
        not_null(path, name, "path");
        not_null(matrix, name, "matrix");
        check_type(type, name);
        *matrix = with_type(type, [&]<class T>(T) {
            const Context& at = context->context;
            const Context cpu = at.on_gpu() ? Context::cpu(at.threads()) : at;
            CsrMatrix<T> read = io::read_matrix<T>(cpu, path);
            Matrix<T> placed{{}, at.on_gpu() ? copy_to(at, read) : std::move(read)};
            placed.view = placed.owned.view();
            return new tessera_matrix{at, std::make_shared<AnyMatrix>(std::move(placed))};
        });
    });
}

void tessera_matrix_free(tessera_matrix* matrix) { delete matrix; }

tessera_error tessera_matrix_size(const tessera_matrix* matrix, int32_t* rows, int32_t* columns,
                                  int64_t* nonzeros) {
    return guarded([&] {
        not_null(matrix, "tessera_matrix_size", "matrix");
        std::visit(
            [&](const auto& typed) {
                if (rows != nullptr) *rows = typed.view.rows;
                if (columns != nullptr) *columns = typed.view.columns;
                if (nonzeros != nullptr) *nonzeros = typed.view.nonzeros;
            },
            *matrix->matrix);
    });
}

tessera_error tessera_matrix_validate(const tessera_matrix* matrix) {
    return guarded([&] {
        not_null(matrix, "tessera_matrix_validate", "matrix");
        std::visit(
            [&](const auto& typed) {
                if (matrix->context.on_gpu()) {
                    validate(copy_to_host(matrix->context, typed.view).view());
                } else {
                    validate(typed.view);
                }
            },
            *matrix->matrix);
    });
}

tessera_error tessera_matrix_multiply(const tessera_matrix* matrix, double alpha, const void* x,
                                      double beta, void* y) {
    return guarded([&] {
        constexpr const char* name = "tessera_matrix_multiply";
        not_null(matrix, name, "matrix");
        std::visit(
            [&]<class T>(const Matrix<T>& typed) {
                const CsrView<T>& a = typed.view;
                const auto* in = static_cast<const T*>(x);
                auto* out = static_cast<T*>(y);
                if (a.columns > 0) not_null(in, name, "x");
                if (a.rows > 0) not_null(out, name, "y");
                multiply(matrix->context, a, plan_spmv(matrix->context, a), T(alpha),
                         std::span<const T>(in, std::size_t(a.columns)), T(beta),
                         std::span<T>(out, std::size_t(a.rows)));
            },
            *matrix->matrix);
        matrix->context.synchronize();
    });
}

void tessera_options_init(tessera_options* options) {
    if (options == nullptr) return;
    const SolveOptions defaults;
    *options = {sizeof(tessera_options),
                defaults.rtol,
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
    const bool known = status >= TESSERA_CONVERGED && status <= TESSERA_INTERRUPTED;
    return known ? to_string(Status(status)) : "unknown";
}
