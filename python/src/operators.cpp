#include <algorithm>

#include "core.hpp"

using namespace python_module;

namespace {

/// A function of Python, called as function(x, y) with addresses to write y = A x. It does not own
/// the function, so that the garbage collector sees who does: the Python object of the Map, which
/// must outlive all uses.
template <class T>
class PythonOperator final : public Operator<T> {
  public:
    PythonOperator(Index rows, Index columns, nb::handle function)
        : rows_(rows), columns_(columns), function_(function) {}
    Index rows() const override { return rows_; }
    Index columns() const override { return columns_; }
    void apply(const Context&, std::span<const T> x, std::span<T> y) const override {
        const WithLock lock;
        call_python(function_, Address(x.data()), Address(y.data()));
    }
    bool can_be_captured() const override { return false; }

  private:
    Index rows_, columns_;
    nb::handle function_;
};

nb::typed<nb::object, Map> python_operator(const Context& context, int bytes, Index rows,
                                           Index columns, nb::object function) {
    auto map = std::make_shared<Map>(context);
    with_type(bytes, [&]<class T>(T) {
        map->any = std::shared_ptr<Operator<T>>(
            std::make_shared<PythonOperator<T>>(rows, columns, function));
    });
    nb::object made = nb::cast(map);
    made.attr("function") = function;
    return made;
}

/// A map made of a matrix: make(matrix as CsrView<T>) gives a unique_ptr to an operator.
template <class Make>
std::shared_ptr<Map> of_matrix(const Context& context, std::shared_ptr<Matrix> matrix,
                               bool symmetric, Make&& make) {
    auto map = std::make_shared<Map>(context);
    map->symmetric = symmetric;
    with_type(matrix->bytes(), [&]<class T>(T) {
        const Interruptible interruptible;
        map->any = std::shared_ptr<Operator<T>>(make(matrix->view<T>()));
    });
    map->matrix = std::move(matrix);
    return map;
}

std::shared_ptr<Map> matrix_operator(const Context& context, std::shared_ptr<Matrix> matrix,
                                     const std::string& format) {
    const FormatOptions options = parse_format(format);
    return of_matrix(context, std::move(matrix), false, [&]<class T>(const CsrView<T>& view) {
        return make_operator(context, view, options);
    });
}

std::shared_ptr<Map> preconditioner(const Context& context, std::shared_ptr<Matrix> matrix,
                                    const std::string& text, const std::optional<Points>& points,
                                    const std::vector<Index>& unknowns) {
    const auto config = parse_preconditioner(text);
    PreconditionerInputs inputs;
    if (points) inputs.coordinates = to_coordinates(points, unknowns);
    const std::string name = Spec(text).name();
    const bool knows_transpose = name == "block_jacobi" || name == "direct" || name == "ilu";
    auto map = of_matrix(context, std::move(matrix), !knows_transpose,
                         [&]<class T>(const CsrView<T>& view) {
                             auto made = config->make(context, view, inputs);
                             if (made == nullptr)
                                 throw InvalidArgument("'none' is no preconditioner");
                             return made;
                         });
    const bool is_symmetric_always = name == "jacobi" || name == "amg" || name == "block_ldlt";
    map->symmetric_as_matrix = !knows_transpose && !is_symmetric_always;
    return map;
}

/// `offsets`: the first row of each block, and the number of rows; empty: all have `block` rows.
std::shared_ptr<Map> block_triangular_solve(const Context& context, std::shared_ptr<Matrix> matrix,
                                            Index block, const std::vector<Index>& offsets,
                                            bool upper, bool unit_diagonal) {
    const BlockTriangularOptions options{upper, unit_diagonal};
    return of_matrix(context, std::move(matrix), false, [&]<class T>(const CsrView<T>& view) {
        if (offsets.empty()) {
            return std::make_unique<BlockTriangularSolve<T>>(context, view, block, options);
        }
        return std::make_unique<BlockTriangularSolve<T>>(
            context, view, blocks_from_offsets(context, view.rows, offsets), options);
    });
}

std::shared_ptr<Map> multigrid(const Context& context, std::shared_ptr<Matrix> matrix,
                               const std::optional<Points>& points,
                               const std::vector<Index>& unknowns,
                               const std::optional<Points>& near_null, int block, double theta,
                               int smoothing_steps, Index coarse_rows, int max_levels,
                               bool single_precision) {
    AmgOptions options;
    options.coordinates = to_coordinates(points, unknowns);
    if (near_null) options.near_null = to_near_null(*near_null);
    options.block = block;
    options.theta = theta;
    options.smoothing_steps = smoothing_steps;
    options.coarse_rows = coarse_rows;
    options.max_levels = max_levels;
    options.single_precision = single_precision;
    return of_matrix(context, std::move(matrix), true, [&]<class T>(const CsrView<T>& view) {
        return std::make_unique<Amg<T>>(context, view, options);
    });
}

/// z = M r, or M^T r, for `count` vectors: columns of column-major arrays.
void apply(const Map& map, const Context& context, bool transposed, Offset count, Address r,
           Offset r_leading, Address z, Offset z_leading) {
    const Computing computing;
    const Users::Reader reader(map.users, "the operator");
    map.require_usable("preconditioner");
    std::visit(
        [&]<class T>(const std::shared_ptr<Operator<T>>& a) {
            const Vectors<const T> in(pointer<const T>(r), a->columns(), int(count), r_leading);
            const Vectors<T> out(pointer<T>(z), a->rows(), int(count), z_leading);
            if (transposed && map.symmetric_as_matrix && map.matrix_is_symmetric < 0) {
                map.matrix_is_symmetric = is_symmetric(context, map.matrix->view<T>());
            }
            if (transposed && map.symmetric_as_matrix && map.matrix_is_symmetric == 0) {
                throw InvalidArgument(
                    "rmatvec: the transpose is not known, as the matrix is not symmetric");
            }
            if (!transposed || map.symmetric) return a->apply_vectors(context, in, out);
            if (const auto* const direct = dynamic_cast<const Direct<T>*>(a.get())) {
                return direct->apply_transposed(context, in, out);
            }
            const auto* const blocks = dynamic_cast<const BlockJacobi<T>*>(a.get());
            const auto* const ilu = dynamic_cast<const Ilu<T>*>(a.get());
            const auto* const triangle = dynamic_cast<const BlockTriangularSolve<T>*>(a.get());
            if (!blocks && !ilu && !triangle) {
                throw InvalidArgument("rmatvec: the transpose is not known");
            }
            for (int j = 0; j < in.count; ++j) {
                if (blocks) blocks->apply_transposed(context, in[j], out[j]);
                if (ilu) ilu->apply_transposed(context, in[j], out[j]);
                if (triangle) triangle->apply_transposed(context, in[j], out[j]);
            }
        },
        map.any);
}

template <class T>
Preconditioner<T>& preconditioner_of(const std::shared_ptr<Operator<T>>& any) {
    auto* const found = dynamic_cast<Preconditioner<T>*>(any.get());
    if (found == nullptr) throw InvalidArgument("this operator is no preconditioner");
    return *found;
}

/// Sets up for other values of the matrix, which is its own.
void update_map(Map& map, Address values, nb::object arrays) {
    const Users::Writer writer(map.users, "the preconditioner");
    map.failed = true;
    map.matrix_is_symmetric = -1;
    replace_values(*map.matrix, values, std::move(arrays), [&] {
        std::visit(
            [&]<class T>(const std::shared_ptr<Operator<T>>& any) {
                Preconditioner<T>& preconditioner = preconditioner_of(any);
                preconditioner.update(map.context, map.matrix->view<T>());
                map.failed = preconditioner.singular_blocks() > 0 &&
                             !preconditioner.report().unusable.empty();
            },
            map.any);
    });
}

std::string describe(const Map& map) {
    const Users::Reader reader(map.users, "the preconditioner");
    return std::visit([](const auto& any) { return preconditioner_of(any).describe(); }, map.any);
}

AnyDict report(const Map& map) {
    PreconditionerReport found;
    {
        const Computing computing;
        const Users::Writer writer(map.users, "the preconditioner");  // It waits on the Context.
        found =
            std::visit([](const auto& any) { return preconditioner_of(any).report(); }, map.any);
    }
    return to_python(found);
}

/// (nodes, block, blocks, lambda, transfers) of each level, and the operator complexity.
AnyTuple levels(const Map& map) {
    const Users::Reader reader(map.users, "the preconditioner");
    return std::visit(
        []<class T>(const std::shared_ptr<Operator<T>>& any) {
            const auto* const amg = dynamic_cast<const Amg<T>*>(any.get());
            if (amg == nullptr) throw InvalidArgument("levels: this is no multigrid");
            nb::list list;
            for (const AmgLevel& level : amg->levels()) {
                list.append(nb::make_tuple(level.nodes, level.block, level.blocks, level.lambda,
                                           level.transfers));
            }
            return nb::make_tuple(list, amg->operator_complexity());
        },
        map.any);
}

/// f(factors) of exact factors.
template <class F>
auto of_direct(const Map& map, const char* who, F&& f) {
    const Computing computing;
    const Users::Reader reader(map.users, "the preconditioner");
    map.require_usable("preconditioner");
    return std::visit(
        [&]<class T>(const std::shared_ptr<Operator<T>>& any) {
            const auto* const direct = dynamic_cast<const Direct<T>*>(any.get());
            if (direct == nullptr) throw InvalidArgument(std::string(who) + ": no exact factors");
            return f(*direct);
        },
        map.any);
}

AnyTuple slogdet(const Map& map) {
    const auto [sign, logarithm] = of_direct(map, "slogdet", [](const auto& direct) {
        const auto found = direct.log_determinant();
        return std::pair(found.sign, found.logarithm);
    });
    return nb::make_tuple(double(sign), logarithm);
}

AnyTuple inertia(const Map& map) {
    const DirectReport found =
        of_direct(map, "inertia", [](const auto& direct) { return direct.report(); });
    if (!found.symmetric) {
        throw InvalidArgument("inertia: the factors are L U, the matrix is not symmetric");
    }
    return nb::make_tuple(found.positive, found.negative, found.null_pivots);
}

double rcond(const Map& map) {
    return of_direct(map, "rcond",
                     [](const auto& direct) { return direct.reciprocal_condition(); });
}

/// Throws InvalidArgument unless `text` names a method, a preconditioner (`kind` M) or a format
/// with its options, or auto, where `or_auto`.
void check_text(const std::string& kind, const std::string& text, bool or_auto) {
    if (kind == "method") {
        or_auto ? (void)MethodConfig(text) : (void)parse_solver(text);
    } else if (kind == "M") {
        or_auto ? (void)MethodConfig("auto", text) : (void)parse_preconditioner(text);
    } else {
        or_auto ? (void)MethodConfig("auto", "auto", text) : (void)parse_format(text);
    }
}

nb::object modes(const Points& points) {
    const detail::DefaultFloatingPoint environment;
    NearNullSpace space = rigid_body_modes(to_coordinates(points, {}));
    return to_numpy(std::move(space.values), std::size_t(space.columns));
}

}  // namespace

void python_module::bind_operators(nb::module_& module) {
    nb::class_<Map>(module, "Map", nb::dynamic_attr(), "An operator of the library.")
        .def_prop_ro(
            "rows",
            [](const Map& m) { return std::visit([](const auto& a) { return a->rows(); }, m.any); })
        .def_prop_ro("columns",
                     [](const Map& m) {
                         return std::visit([](const auto& a) { return a->columns(); }, m.any);
                     })
        .def_prop_ro("bytes", &Map::bytes)
        .def_prop_ro("context", [](const Map& m) { return m.context; })
        .def("apply", &apply, nb::arg("context"), nb::arg("transposed"), nb::arg("count"),
             nb::arg("r"), nb::arg("r_leading"), nb::arg("z"), nb::arg("z_leading"))
        .def("update", &update_map, nb::arg("values"), nb::arg("arrays"))
        .def("describe", &describe)
        .def("report", &report)
        .def("levels", &levels)
        .def("slogdet", &slogdet)
        .def("inertia", &inertia)
        .def("rcond", &rcond);
    module.def("python_operator", &python_operator, nb::arg("context"), nb::arg("bytes"),
               nb::arg("rows"), nb::arg("columns"), nb::arg("function"));
    module.def("matrix_operator", &matrix_operator, nb::arg("context"), nb::arg("matrix"),
               nb::arg("format"));
    module.def("preconditioner", &preconditioner, nb::arg("context"), nb::arg("matrix"),
               nb::arg("text"), nb::arg("points").none(), nb::arg("unknowns"));
    module.def("multigrid", &multigrid, nb::arg("context"), nb::arg("matrix"),
               nb::arg("points").none(), nb::arg("unknowns"), nb::arg("near_null").none(),
               nb::arg("block"), nb::arg("theta"), nb::arg("smoothing_steps"),
               nb::arg("coarse_rows"), nb::arg("max_levels"), nb::arg("single_precision"));
    module.def("block_triangular_solve", &block_triangular_solve, nb::arg("context"),
               nb::arg("matrix"), nb::arg("block"), nb::arg("offsets"), nb::arg("upper"),
               nb::arg("unit_diagonal"));
    module.def("rigid_body_modes", &modes, nb::arg("points"));
    module.def("preconditioner_names", &preconditioner_names);
    module.def("preconditioner_help", &preconditioner_help);
    module.def("format_names", &format_names);
    module.def("check_text", &check_text, nb::arg("kind"), nb::arg("text"), nb::arg("or_auto"));
}
