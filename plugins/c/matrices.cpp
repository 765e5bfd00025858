#include "handles.hpp"

using namespace tessera;
using namespace c_interface;

namespace {

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

}  // namespace

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
                                   static_cast<const T*>(values),
                                   {.sort = sort != 0 ? SortColumns::yes : SortColumns::no}));
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
                        context,
                        borrow_bsr(context->context, block_rows, block_columns, block, blocks,
                                   offsets, indices, static_cast<const T*>(values), order,
                                   {.sort = sort != 0 ? SortColumns::yes : SortColumns::no}));
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
