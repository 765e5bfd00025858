#include "krylov/driver/test_several_vectors.hpp"

// Products and preconditioners with several vectors at once.
namespace tessera::test {

namespace {

/// The results of f.apply_vectors are those of apply.
template <class T>
void expect_equal_columns(const Operator<T>& f, int count) {
    const Context& where = context();
    HostVectors<T> x = random_vectors<T>(f.columns(), count), y(f.rows(), count);
    const Buffer<T> from = copy_to_buffer(where, x.values);
    Buffer<T> to = copy_to_buffer(where, y.values), one(where, f.rows());
    const Vectors<const T> columns{from.data(), f.columns(), count, x.leading()};
    f.apply_vectors(where, columns, y.view(to.data()));
    y.values = copy_to_host(where, to);
    EXPECT_TRUE(y.pads_are_whole());
    for (int j = 0; j < count; ++j) {
        f.apply(where, columns[j], one.view());
        const std::span<T> found = y[j];
        EXPECT_TRUE(same_bits(copy_to_host(where, one), std::vector<T>(found.begin(), found.end())))
            << "vector " << j << " of " << count;
    }
}

/// The results of f.apply_step_vectors, with y as `next`, are those of apply_step.
template <class T>
void expect_equal_steps(const Operator<T>& f, const RecurrenceStep<T>& step, int count) {
    const Context& where = context();
    HostVectors<T> x = random_vectors<T>(f.rows(), count), r = random_vectors<T>(f.rows(), count);
    HostVectors<T> y = random_vectors<T>(f.rows(), count);
    const Buffer<T> given_x = copy_to_buffer(where, x.values),
                    given_r = copy_to_buffer(where, r.values);
    Buffer<T> next = copy_to_buffer(where, y.values), one(where, f.rows());
    Buffer<T> work(where, Offset(y.values.size())), work_of_one(where, f.rows());
    const Vectors<const T> xs{given_x.data(), f.rows(), count, x.leading()};
    const Vectors<const T> rs{given_r.data(), f.rows(), count, r.leading()};
    const Vectors<T> nexts = y.view(next.data());
    f.apply_step_vectors(where, step, xs, nexts, rs, nexts, y.view(work.data()));
    HostVectors<T> found = y;
    found.values = copy_to_host(where, next);
    EXPECT_TRUE(found.pads_are_whole());
    for (int j = 0; j < count; ++j) {
        copy_from_host<T>(where, y[j], one.view());
        f.apply_step(where, step, xs[j], one.view(), rs[j], one.view(), work_of_one.view());
        const std::span<T> column = found[j];
        EXPECT_TRUE(
            same_bits(copy_to_host(where, one), std::vector<T>(column.begin(), column.end())))
            << "vector " << j << " of " << count;
    }
}

/// A matrix with a row and a column of `size` entries and a diagonal.
template <class T>
CsrMatrix<T> arrow(Index size) {
    const auto rows = std::size_t(size);
    std::vector<std::vector<Index>> pattern(rows);
    std::vector<std::vector<T>> values(rows);
    for (Index i = 0; i < size; ++i) {
        for (Index j = 0; j < size; ++j) {
            if (i != j && i != 3 && j != 3) continue;
            pattern[std::size_t(i)].push_back(j);
            values[std::size_t(i)].push_back(T(1) / T(1 + i + 2 * j));
        }
    }
    return make_csr<T>(size, size, pattern, values);
}

template <class T>
void check_preconditioners() {
    const CsrMatrix<T> matrix = copy_to(context(), test_matrix<T>());
    for (const int count : {0, 1, 2, 3, 8, 11}) {
        for (const char* format : {"csr", "sell", "ell", "sbell:2", "sbell:3", "bcsr:2"}) {
            SCOPED_TRACE(format);
            expect_equal_columns(*make_operator(context(), matrix, parse_format(format)), count);
        }
        for (const char* text :
             {"jacobi", "block_jacobi:7", "block_jacobi:4,precision=adaptive", "chebyshev:3",
              "least_squares:4,format=sbell:2,values=f16", "neumann:2,scaling=none",
              "chebyshev:3,precision=f32", "block_ldlt:4"}) {
            SCOPED_TRACE(text);
            expect_equal_columns(*make_preconditioner(context(), text, matrix), count);
        }
    }
}

template <class T>
void check_every_format() {
    for (const char* problem : {"elasticity3d:5", "elasticity2d:12,element=t3", "poisson2d:70"}) {
        const auto given = problems::generate<T>(host(), Spec(problem)).matrix;
        const CsrMatrix<T> matrix = copy_to(context(), given);
        if (fewer_run() && problem != std::string("elasticity3d:5")) continue;
        for (const char* format :
             {"csr", "sell", "sell:7", "sbell:2", "sbell:3", "sbell:3,index=32", "sbell:4",
              "sbell:6", "sbell:3,values=f16", "sbell:2,values=bf16,index=32", "sell,values=f32",
              "sbell:3,sort_window=all", "bell:3", "bcsr:3"}) {
            SCOPED_TRACE(std::string(problem) + " " + format);
            const auto a = make_operator(context(), matrix, parse_format(format));
            for (const int count : {1, 2, 3, 4, 5, 7, 8, 9, 17}) expect_equal_columns(*a, count);
            for (const int count : {2, 4, 8}) {
                expect_equal_steps<T>(*a, {T(-1), T(0), T(1), T(0)}, count);
                expect_equal_steps<T>(*a, {T(0.5), T(2), T(-0.25), T(3)}, count);
            }
        }
    }
    const CsrMatrix<T> long_rows = copy_to(context(), arrow<T>(3000));
    const CsrOperator<T> a(context(), long_rows.view());
    for (const int count : {1, 2, 8, 9}) expect_equal_columns<T>(a, count);
}

}  // namespace

TEST(several_products, preconditioners_as_one_by_one) {
    check_preconditioners<double>();
    check_preconditioners<float>();
}

TEST(several_products, every_format_as_one_by_one) {
    check_every_format<double>();
    check_every_format<float>();
}

}  // namespace tessera::test
