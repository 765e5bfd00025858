#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <nanobind/typing.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <variant>

#include "interpreter.hpp"
#include "tessera/detail/floating_point.hpp"
#include "tessera/tessera.hpp"

// The extension tessera._core: the public headers for the Python package, which checks arguments,
// knows array libraries and keeps arrays alive. Arrays are addresses here, in the memory of the
// Context unless a comment says otherwise; numbers of bytes tell their types (4: float or int32,
// 8: double or int64).

namespace python_module {

using namespace tessera;

// Results with types that the stub can name.
using AnyDict = nb::typed<nb::dict, std::string, nb::any>;
using AnyList = nb::typed<nb::list, nb::any>;
using AnyTuple = nb::typed<nb::tuple, nb::any, nb::ellipsis>;

/// The address of an array of the caller; 0: none.
using Address = std::uintptr_t;

template <class T>
T* pointer(Address address) {
    return reinterpret_cast<T*>(address);  // NOLINT
}

/// f(T()) for values of 4 or 8 bytes.
template <class F>
auto with_type(int bytes, F&& f) {
    return bytes == 4 ? f(float()) : f(double());
}

/// What the library computes in: without the lock of the interpreter, and in the default
/// floating-point environment, whatever the one of the caller is. Callbacks run in it too.
struct Computing {
    detail::DefaultFloatingPoint environment;
    WithoutLock others_run;
};

/// Guards an object that calls use without the lock of the interpreter: many readers or one writer.
/// None waits; a call that is refused, of another thread or of a callback, throws InUse.
class Users {
  public:
    class Reader {
      public:
        explicit Reader(Users& users, const char* what) : users_(users) {
            int seen = users_.count_;
            do {
                if (seen < 0) throw_in_use(what);
            } while (!users_.count_.compare_exchange_weak(seen, seen + 1));
        }
        Reader(const Reader&) = delete;
        Reader& operator=(const Reader&) = delete;
        ~Reader() { --users_.count_; }

      private:
        Users& users_;
    };
    class Writer {
      public:
        explicit Writer(Users& users, const char* what) : users_(users) {
            int none = 0;
            if (!users_.count_.compare_exchange_strong(none, -1)) throw_in_use(what);
        }
        Writer(const Writer&) = delete;
        Writer& operator=(const Writer&) = delete;
        ~Writer() { users_.count_ = 0; }

      private:
        Users& users_;
    };

  private:
    [[noreturn]] static void throw_in_use(const char* what) {
        throw InUse(std::string(what) + " is in use by another call");
    }
    std::atomic<int> count_{0};  ///< Number of readers; -1: a writer.
};

/// One call at a time of a solver, and the state of its updates.
class SolverUse {
  public:
    /// Runs change() alone. Until an update succeeds, the solver cannot solve.
    template <class Change>
    void update(Change&& change) {
        const Users::Writer writer(users_, name);
        ++updates_;
        failed_ = true;
        change();
        failed_ = false;
    }
    /// Runs work() alone; std::runtime_error if the latest update failed.
    template <class Work>
    auto solve(Work&& work) {
        const Users::Writer writer(users_, name);
        if (failed_) {
            throw std::runtime_error(
                "the latest update failed; update the solver with other values");
        }
        return work();
    }
    Offset updates() const { return updates_; }

  private:
    static constexpr const char* name = "the solver";
    Users users_;
    bool failed_ = false;
    std::atomic<Offset> updates_{0};  ///< Number of updates that began.
};

/// A matrix in arrays of the caller, or in memory of its own.
template <class T>
struct TypedMatrix {
    BorrowedMatrix<T> borrowed = {};  ///< In host memory if `owned` is its copy on a GPU.
    CsrMatrix<T> owned = {};
    CsrView<T> view = {};
};

/// Shared with its Python object without a reference that the garbage collector does not see; so is
/// Map.
struct Matrix : std::enable_shared_from_this<Matrix> {
    Context context;
    std::variant<TypedMatrix<float>, TypedMatrix<double>> typed = {};
    bool copied = false;             ///< From host memory to that of a GPU.
    bool was_unsorted = false;       ///< The rows of the caller are not sorted; those here are.
    nb::object arrays = nb::none();  ///< Python owners of the arrays of the caller.

    explicit Matrix(const Context& at) : context(at) {}
    Matrix(const Matrix&) = delete;
    Matrix& operator=(const Matrix&) = delete;
    ~Matrix() {
        if (!nb::is_alive()) {
            arrays.release();
            return;
        }
        const WithLock lock;
        arrays.reset();
    }
    template <class T>
    const CsrView<T>& view() const {
        return std::get<TypedMatrix<T>>(typed).view;
    }
    int bytes() const { return typed.index() == 0 ? 4 : 8; }
};

/// A matrix, a preconditioner or a function of Python as an operator of the library.
struct Map : std::enable_shared_from_this<Map> {
    Context context;  ///< The Context of its setup.
    std::variant<std::shared_ptr<Operator<float>>, std::shared_ptr<Operator<double>>> any = {};
    std::shared_ptr<Matrix> matrix = nullptr;  ///< Whose arrays it may use.
    bool symmetric = true;                     ///< Its transpose is the same map,
    bool symmetric_as_matrix = false;          ///< if the matrix is symmetric.
    /// Whether it is, as found when the transpose was applied first; -1: not looked at.
    mutable std::atomic<signed char> matrix_is_symmetric = -1;
    bool failed = false;       ///< Its latest update.
    mutable Users users = {};  ///< Calls that apply the map are readers.

    /// Throws InvalidArgument, with the name of the argument, if the latest update failed.
    void require_usable(const char* argument) const {
        if (!failed) return;
        throw InvalidArgument(
            "the latest update failed; update the preconditioner with other values", argument);
    }

    explicit Map(const Context& at) : context(at) {}
    template <class T>
    const std::shared_ptr<Operator<T>>& as() const {
        return std::get<std::shared_ptr<Operator<T>>>(any);
    }
    int bytes() const { return any.index() == 0 ? 4 : 8; }
};

/// Gives the matrix of one object other values in the order of those given first, which `arrays`
/// owns, and calls use(), which makes the object use them. Earlier arrays are released: where use()
/// fails, the object must not be used until another update succeeds. With the lock of the
/// interpreter.
void replace_values(Matrix& matrix, Address values, nb::object arrays,
                    const std::function<void()>& use);

/// A std::vector as a NumPy array that owns it.
template <class T>
nb::object to_numpy(std::vector<T>&& values, std::size_t columns = 0) {
    auto* const kept = new std::vector<T>(std::move(values));
    const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    if (columns == 0) {
        const std::size_t shape[1] = {kept->size()};
        return nb::cast(nb::ndarray<nb::numpy, T>(kept->data(), 1, shape, owner));
    }
    const std::size_t shape[2] = {kept->size() / columns, columns};
    return nb::cast(nb::ndarray<nb::numpy, T>(kept->data(), 2, shape, owner));
}

/// (rows, columns, offsets, indices, values) as NumPy arrays that share one owner; offsets have 32
/// bits where they fit, as SciPy wants both index arrays alike.
template <class T>
AnyTuple to_arrays(CsrMatrix<T>&& given) {
    auto* const matrix = new CsrMatrix<T>(std::move(given));
    const nb::capsule owner(matrix, [](void* p) noexcept { delete static_cast<CsrMatrix<T>*>(p); });
    const std::size_t entries[1] = {std::size_t(matrix->nonzeros())};
    const std::size_t starts[1] = {std::size_t(matrix->rows()) + 1};
    nb::object offsets;
    if (matrix->nonzeros() <= std::numeric_limits<Index>::max()) {
        const Offset* const wide = matrix->row_offsets().data();
        offsets = to_numpy(std::vector<Index>(wide, wide + starts[0]));
    } else {
        offsets = nb::cast(
            nb::ndarray<nb::numpy, Offset>(matrix->row_offsets().data(), 1, starts, owner));
    }
    return nb::make_tuple(
        matrix->rows(), matrix->columns(), offsets,
        nb::cast(nb::ndarray<nb::numpy, Index>(matrix->column_indices().data(), 1, entries, owner)),
        nb::cast(nb::ndarray<nb::numpy, T>(matrix->values().data(), 1, entries, owner)));
}

/// Numbers, texts and lists of a report as Python's.
nb::object to_python(const ReportValues& values);
AnyDict to_python(const PreconditionerReport& report);

/// `points` is an array of nodes x 2 or 3 numbers; `unknowns` as in NodeCoordinates.
using Points = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
NodeCoordinates to_coordinates(const std::optional<Points>& points,
                               const std::vector<Index>& unknowns);
/// A copy of an array of rows x vectors.
NearNullSpace to_near_null(const Points& vectors);

/// A Computing that Ctrl-C ends, where it takes long, and so does the end of `seconds`.
class Interruptible {
  public:
    explicit Interruptible(double seconds = std::numeric_limits<double>::infinity())
        : limit_(seconds, [] {
              const WithLock lock;
              if (PyErr_CheckSignals() != 0) throw nb::python_error();
              return false;
          }) {}

  private:
    Computing computing_;
    TimeLimit limit_;
};

void bind_context(nb::module_& module);
void bind_matrices(nb::module_& module);
void bind_files(nb::module_& module);
void bind_operators(nb::module_& module);
void bind_solvers(nb::module_& module);
void bind_devices(nb::module_& module);
void bind_batched(nb::module_& module);
void bind_factors(nb::module_& module);
void bind_structures(nb::module_& module);

}  // namespace python_module
