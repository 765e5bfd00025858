#include "precond/multigrid/ranks/level_products.hpp"

#include "base/phases.hpp"
#include "tessera/detail/symmetric_product.hpp"
#include "tessera/products.hpp"

namespace tessera::multigrid {

namespace {

/// f(), as the phase of this name.
template <class F>
void timed(const Context& context, const char* name, F&& f) {
    const Phase phase(context, name, 0, PhaseStep::setup);
    f();
}

/// P^T. Columns of own aggregates come first in the rows of P, so that their blocks have in these
/// rows the places that they have among themselves.
void transpose_own_columns(const Context& context, BsrView<double> p, Index own,
                           Transposed<double>& transposed) {
    if (transposed.matrix.view().row_offsets == nullptr) {
        BsrView<double> pattern = p;
        pattern.values = nullptr;
        transposed =
            transposed_pattern<double>(context, column_range(context, pattern, 0, own).view());
    }
    p.blocks = transposed.matrix.blocks();
    transpose_values(context, p, transposed);
}

/// A P of own rows, whose values are computed where those of ghosts' rows then follow.
void multiply_joined(const Context& context, const Halo& halo, const BsrView<double>& a,
                     ProductsOverRanks& made, Offset all) {
    const BsrView<double> p = made.prolongator.view();
    BsrMatrix<double>& own = made.own_product;
    timed(context, "setup: A P", [&] {
        if (own.view().row_offsets == nullptr) own = pattern_of_product(context, a, p);
    });
    timed(context, "setup: rows of others",
          [&] { made.product.set_pattern(context, halo, own, made.prolongator.columns(), all); });
    timed(context, "setup: A P", [&] {
        own.values() = Buffer<double>(context, made.product.view().entries());
        update_product(context, a, p, own);
    });
    timed(context, "setup: rows of others",
          [&] { made.product.take_values(context, halo, own, std::move(own.values())); });
    own.values() = {};
}

/// The numbering of the next level, which is that of A P, and P in it.
void number_coarse_level(const Context& context, const Communicator& communicator,
                         ProductsOverRanks& made, DistributedLevel& coarse) {
    const Phase phase(context, "setup: numbering", 0, PhaseStep::setup);
    const Numbering& columns = made.product.columns();
    coarse.halo = std::make_shared<const Halo>(context, communicator, made.starts, columns.ghosts);
    made.transfer = renumbered(context, std::as_const(made.own_prolongator).view(),
                               made.tentative.columns(), columns);
}

}  // namespace

DeviceVectors make_products(const Context& context, DistributedLevel& level,
                            const DeviceVectors& near_null, double omega_over_lambda,
                            DistributedLevel& coarse) {
    const Halo& halo = *level.halo;
    const BsrView<double> a = std::as_const(level.matrix).view();
    ProductsOverRanks& made = level.products;
    const bool first = coarse.halo == nullptr;
    const Index own = made.aggregates.count;
    const Offset all = made.starts.back();
    const auto join = [&](const BsrMatrix<double>& rows, const Numbering& columns,
                          JoinedRows& joined) {
        const Phase phase(context, "setup: rows of others", 0, PhaseStep::setup);
        joined.set(context, halo, rows, columns, all);
    };
    TentativeProlongator tentative =
        tentative_prolongator(context, made.aggregates, near_null, a.height);
    const Numbering own_columns(context, made.starts[std::size_t(halo.communicator().rank())], own,
                                {});
    join(tentative.prolongator, own_columns, made.tentative);
    timed(context, "setup: P", [&] {
        smooth_prolongator(context, a, made.aggregates.has_dense, made.tentative.view(),
                           omega_over_lambda, made.own_prolongator);
    });
    made.tentative.release_values();
    join(made.own_prolongator, made.tentative.columns(), made.prolongator);
    const BsrView<double> p = made.prolongator.view();
    timed(context, "setup: P^T", [&] { transpose_own_columns(context, p, own, made.transposed); });
    multiply_joined(context, halo, a, made, all);
    made.prolongator.release_values();
    timed(context, "setup: P^T (A P)", [&] {
        const BsrView<double> left = std::as_const(made.transposed.matrix).view(),
                              right = made.product.view();
        if (first) {
            coarse.matrix = multiply_symmetric(context, left, right);
        } else {
            update_symmetric_product(context, left, right, coarse.matrix);
        }
    });
    made.product.release_values();
    if (first) number_coarse_level(context, halo.communicator(), made, coarse);
    made.transfer.values() = std::move(made.own_prolongator.values());
    set_dropped(context, tentative.dropped, coarse.matrix);
    return std::move(tentative.coarse);
}

}  // namespace tessera::multigrid
