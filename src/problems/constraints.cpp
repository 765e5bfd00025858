#include <algorithm>

#include "problems/draws.hpp"
#include "problems/generators.hpp"
#include "problems/row_lists.hpp"

namespace tessera::problems {

namespace {

/// The rows of J, and its columns: pairs of index and value, ascending.
struct Constraints {
    using List = std::vector<std::pair<Index, double>>;
    std::vector<List> rows;
    std::vector<List> columns;
};

/// `entries` numbers +-1 in each row, at variables that differ, and a 1 in each column.
Constraints sparse_constraints(std::uint64_t seed, Index count, Index variables, Index entries) {
    Constraints constraints{std::vector<Constraints::List>(std::size_t(count)),
                            std::vector<Constraints::List>(std::size_t(variables))};
    const auto find = [](Constraints::List& row, Index variable) {
        return std::ranges::find(row, variable, &std::pair<Index, double>::first);
    };
    for (Index i = 0; i < count; ++i) {
        Draws draws(seed, i);
        Constraints::List& row = constraints.rows[i];
        while (Index(row.size()) < entries) {
            const Index variable = draws.integer(0, variables - 1);
            const double sign = draws.integer(0, 1) == 0 ? -1 : 1;
            if (find(row, variable) == row.end()) row.emplace_back(variable, sign);
        }
    }
    for (Index j = 0; j < variables; ++j) {
        Constraints::List& row =
            constraints.rows[Draws(seed, Offset(count) + j).integer(0, count - 1)];
        const auto at = find(row, j);
        if (at == row.end()) {
            row.emplace_back(j, 1);
        } else {
            at->second = 1;
        }
    }
    for (Index i = 0; i < count; ++i) {
        for (const auto& [variable, value] : constraints.rows[i]) {
            constraints.columns[variable].emplace_back(i, value);
        }
    }
    return constraints;
}

}  // namespace

template <class T>
Problem<T> kkt(const Context& cpu, Spec& spec) {
    const Index variables = required_size(spec, "kkt:1000,spread=4");
    const double spread = spec.real("spread", 4, 0, 300);
    const double delta = spec.real("delta", 0, 0, 1e300);
    const Index entries = std::min(Index(spec.integer("entries", 3, 1, 1000)), variables);
    const std::uint64_t seed = seed_of(spec);
    spec.finish();
    const Index count = std::max(variables / 2, 1);
    const Index rows = checked_unknowns(spec, double(variables) + count);
    const Constraints constraints = sparse_constraints(seed, count, variables, entries);
    Problem<T> problem;
    problem.matrix = assemble_rows<T>(cpu, rows, [&](Index i, RowList& row) {
        if (i < variables) {
            Draws draws(seed, Offset(count) + variables + i);
            row.add(i, -draws.power_of_ten(spread));
            for (const auto& [c, value] : constraints.columns[i]) row.add(variables + c, value);
        } else {
            for (const auto& [j, value] : constraints.rows[i - variables]) row.add(j, value);
            row.add(i, delta);
        }
    });
    return problem;
}

template <class T>
Problem<T> qpband(const Context& cpu, Spec& spec) {
    const Index variables = required_size(spec, "qpband:1000");
    spec.finish();
    const Index count = std::max(variables / 3, 1);
    const Index rows = checked_unknowns(spec, double(variables) + count);
    Problem<T> problem;
    problem.matrix = assemble_rows<T>(cpu, rows, [&](Index i, RowList& row) {
        if (i < variables) {
            row.add(Offset(i) - 1, -1);
            row.add(i, 2);
            if (i + 1 < variables) row.add(Offset(i) + 1, -1);
            if (i < count) row.add(Offset(variables) + i, 1);
            if (i >= count && i < 2 * count) row.add(Offset(variables) + i - count, -1);
        } else {
            const Index c = i - variables;
            row.add(c, 1);
            if (c + count < variables) row.add(Offset(c) + count, -1);
        }
    });
    return problem;
}

template <class T>
Problem<T> bordered(const Context& cpu, Spec& spec) {
    const Index variables = required_size(spec, "bordered:1000,rows=20");
    const Index count = std::min(Index(spec.integer("rows", 20, 1, 10000)), variables);
    const double density = spec.real("density", 0.3, 0, 1);
    const double spread = spec.real("spread", 3, 0, 300);
    const std::uint64_t seed = seed_of(spec);
    spec.finish();
    const Index rows = checked_unknowns(spec, double(variables) + count);
    const auto border = [&](Offset c, Offset j) {
        Draws draws(seed, c * variables + j);
        const double value = draws.uniform() < density ? draws.normal() : 0;
        return value + (c == j ? 1 : 0);
    };
    Problem<T> problem;
    problem.matrix = assemble_rows<T>(cpu, rows, [&](Index i, RowList& row) {
        if (i < variables) {
            row.add(i, Draws(seed, Offset(count) * variables + i).power_of_ten(spread));
            for (Index c = 0; c < count; ++c) row.add(Offset(variables) + c, border(c, i));
        } else {
            for (Index j = 0; j < variables; ++j) row.add(j, border(i - variables, j));
        }
    });
    return problem;
}

#define TESSERA_INSTANTIATE(T)                            \
    template Problem<T> kkt<T>(const Context&, Spec&);    \
    template Problem<T> qpband<T>(const Context&, Spec&); \
    template Problem<T> bordered<T>(const Context&, Spec&);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera::problems
