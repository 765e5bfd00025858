#include <algorithm>
#include <cmath>

#include "core.hpp"

using namespace python_module;

namespace {

/// f(array) with integers of 4 or 8 bytes.
template <class F>
auto with_integers(int bytes, Address array, F&& f) {
    return bytes == 4 ? f(pointer<const std::int32_t>(array)) : f(pointer<const Offset>(array));
}

/// The matrix that `borrow` gives; on a GPU with arrays of the host (`on_host`) its copy.
template <class T, class Borrow>
void take(Matrix& matrix, TypedMatrix<T>& typed, bool on_host, Borrow&& borrow) {
    matrix.copied = on_host && matrix.context.on_gpu();
    const Context home = matrix.copied ? Context::cpu(matrix.context.threads()) : matrix.context;
    typed.borrowed = borrow(home);
    typed.view = typed.borrowed.view();
    if (matrix.copied) {
        typed.owned = copy_to(matrix.context, typed.view);
        typed.view = typed.owned.view();
    }
}

template <class Borrow>
std::shared_ptr<Matrix> make_matrix(const Context& context, int bytes, bool on_host,
                                    nb::object arrays, Borrow&& borrow) {
    auto matrix = std::make_shared<Matrix>(context);
    matrix->arrays = std::move(arrays);
    const Computing computing;
    with_type(bytes, [&]<class T>(T) {
        auto& typed = matrix->typed.emplace<TypedMatrix<T>>();
        take<T>(*matrix, typed, on_host, [&](const Context& home) { return borrow(home, T()); });
        matrix->was_unsorted = typed.borrowed.was_sorted();
    });
    return matrix;
}

std::shared_ptr<Matrix> csr(const Context& context, int bytes, bool on_host, Index rows,
                            Index columns, Offset nonzeros, Address offsets, int offset_bytes,
                            Address indices, int index_bytes, Address values, nb::object arrays) {
    return make_matrix(
        context, bytes, on_host, std::move(arrays), [&]<class T>(const Context& home, T) {
            return with_integers(offset_bytes, offsets, [&](const auto* at) {
                return with_integers(index_bytes, indices, [&](const auto* columns_at) {
                    return borrow_csr(home, rows, columns, nonzeros, at, columns_at,
                                      pointer<const T>(values), {.sort = SortColumns::if_needed});
                });
            });
        });
}

std::shared_ptr<Matrix> bsr(const Context& context, int bytes, bool on_host, Index block_rows,
                            Index block_columns, Index block, Offset blocks, Address offsets,
                            int offset_bytes, Address indices, int index_bytes, Address values,
                            nb::object arrays) {
    return make_matrix(
        context, bytes, on_host, std::move(arrays), [&]<class T>(const Context& home, T) {
            return with_integers(offset_bytes, offsets, [&](const auto* at) {
                return with_integers(index_bytes, indices, [&](const auto* columns_at) {
                    return borrow_bsr(home, block_rows, block_columns, block, blocks, at,
                                      columns_at, pointer<const T>(values), BlockOrder::row_major,
                                      {.sort = SortColumns::if_needed});
                });
            });
        });
}

std::shared_ptr<Matrix> coo(const Context& context, int bytes, bool on_host, Index rows,
                            Index columns, Offset entries, int index_bytes, Address row_indices,
                            Address column_indices, Address values, nb::object arrays) {
    return make_matrix(
        context, bytes, on_host, std::move(arrays), [&]<class T>(const Context& home, T) {
            return with_integers(index_bytes, row_indices, [&]<class I>(const I* i) {
                return borrow_coo(home, rows, columns, entries, i, pointer<const I>(column_indices),
                                  pointer<const T>(values));
            });
        });
}

/// On the host.
std::shared_ptr<Matrix> transposed(const Matrix& matrix) {
    auto result = std::make_shared<Matrix>(matrix.context);
    const Computing computing;
    std::visit(
        [&]<class T>(const TypedMatrix<T>& typed) {
            auto& made = result->typed.emplace<TypedMatrix<T>>();
            made.owned = transpose(matrix.context, typed.view);
            made.view = made.owned.view();
        },
        matrix.typed);
    return result;
}

AnyDict facts(const Matrix& matrix, const std::optional<Points>& points,
              const std::vector<Index>& unknowns) {
    const NodeCoordinates coordinates = to_coordinates(points, unknowns);
    MatrixFacts found;
    {
        const Computing computing;
        found = std::visit(
            [&](const auto& typed) { return find_facts(matrix.context, typed.view, coordinates); },
            matrix.typed);
    }
    nb::dict result;
    result["rows"] = found.rows;
    result["nonzeros"] = found.nonzeros;
    result["symmetric"] = found.symmetric;
    result["positive_diagonal"] = found.positive_diagonal;
    result["natural_blocks"] = found.blocks;
    result["largest_natural_block"] = found.largest_block;
    result["rows_per_node"] = found.rows_per_node;
    nb::list attempts;
    for (const Attempt& attempt : choose(found, "auto", "auto", "auto")) {
        attempts.append(
            nb::make_tuple(attempt.solver, attempt.preconditioner, attempt.format, attempt.reason));
    }
    result["attempts"] = attempts;
    return result;
}

/// The first row that holds NaN or infinity; -1: none. Waits; from a GPU the values are copied.
Offset non_finite_row(const Matrix& matrix) {
    const Computing computing;
    return std::visit(
        [&](const auto& typed) { return first_non_finite_row(matrix.context, typed.view); },
        matrix.typed);
}

nb::object blocks(const Matrix& matrix, Index bound, bool natural) {
    std::vector<Index> offsets;
    {
        const Computing computing;
        const BlockPartition partition = std::visit(
            [&](const auto& typed) {
                return find_blocks(matrix.context, typed.view, bound,
                                   natural ? Blocking::natural : Blocking::supervariable);
            },
            matrix.typed);
        offsets = copy_to_host(matrix.context, partition.block_offsets);
        offsets.resize(std::size_t(partition.count) + 1);
    }
    return to_numpy(std::move(offsets));
}

}  // namespace

void python_module::replace_values(Matrix& matrix, Address values, nb::object arrays,
                                   const std::function<void()>& use) {
    const Interruptible interruptible;
    std::visit(
        [&]<class T>(TypedMatrix<T>& typed) {
            if (matrix.copied) {
                typed.borrowed.update(Context::cpu(matrix.context.threads()),
                                      pointer<const T>(values));
                copy_from_host(matrix.context, typed.borrowed.view().values_span(),
                               typed.owned.values().view());
                return;
            }
            typed.borrowed.update(matrix.context, pointer<const T>(values));
            typed.view = typed.borrowed.view();
        },
        matrix.typed);
    std::swap(matrix.arrays, arrays);  // Which are released when use() has ended.
    use();
}

void python_module::bind_matrices(nb::module_& module) {
    nb::class_<Matrix>(module, "Matrix", "A sparse matrix in memory of the caller.")
        .def_prop_ro("rows",
                     [](const Matrix& m) {
                         return std::visit([](const auto& t) { return t.view.rows; }, m.typed);
                     })
        .def_prop_ro("columns",
                     [](const Matrix& m) {
                         return std::visit([](const auto& t) { return t.view.columns; }, m.typed);
                     })
        .def_prop_ro("nonzeros",
                     [](const Matrix& m) {
                         return std::visit([](const auto& t) { return t.view.nonzeros; }, m.typed);
                     })
        .def_prop_ro("bytes", &Matrix::bytes)
        .def_prop_ro("borrows_values",
                     [](const Matrix& m) {
                         return !m.copied &&
                                std::visit(
                                    [](const auto& t) { return t.borrowed.borrows_values(); },
                                    m.typed);
                     })
        .def_prop_ro("was_unsorted", [](const Matrix& m) { return m.was_unsorted; })
        .def("transposed", &transposed)
        .def("non_finite_row", &non_finite_row)
        .def("facts", &facts, nb::arg("points").none(), nb::arg("unknowns"))
        .def("blocks", &blocks, nb::arg("bound"), nb::arg("natural"));
    module.def("csr", &csr, nb::arg("context"), nb::arg("bytes"), nb::arg("on_host"),
               nb::arg("rows"), nb::arg("columns"), nb::arg("nonzeros"), nb::arg("offsets"),
               nb::arg("offset_bytes"), nb::arg("indices"), nb::arg("index_bytes"),
               nb::arg("values"), nb::arg("arrays").none());
    module.def("bsr", &bsr, nb::arg("context"), nb::arg("bytes"), nb::arg("on_host"),
               nb::arg("block_rows"), nb::arg("block_columns"), nb::arg("block"), nb::arg("blocks"),
               nb::arg("offsets"), nb::arg("offset_bytes"), nb::arg("indices"),
               nb::arg("index_bytes"), nb::arg("values"), nb::arg("arrays").none());
    module.def("coo", &coo, nb::arg("context"), nb::arg("bytes"), nb::arg("on_host"),
               nb::arg("rows"), nb::arg("columns"), nb::arg("entries"), nb::arg("index_bytes"),
               nb::arg("row_indices"), nb::arg("column_indices"), nb::arg("values"),
               nb::arg("arrays").none());
}
