#include "tessera/amg.hpp"

#include <algorithm>
#include <variant>

#include "base/checks.hpp"
#include "base/phases.hpp"
#include "base/scratch/scratch.hpp"
#include "precond/multigrid/config.hpp"
#include "precond/multigrid/hierarchy.hpp"
#include "precond/multigrid/setup/block_scaling.hpp"
#include "tessera/detail/vector_steps.hpp"

namespace tessera {

template <class T>
int amg_block(const Context& context, const CsrView<T>& matrix, const AmgOptions& options) {
    if (options.block > 0) return options.block;
    if (!options.coordinates.values.empty()) return options.coordinates.dimensions;
    const BlockPartition blocks = find_blocks(context, matrix, max_bsr_block, Blocking::natural);
    if (blocks.count == 0 || Offset(blocks.count) * blocks.largest != blocks.rows) return 1;
    return int(blocks.largest);
}
template int amg_block(const Context&, const CsrView<float>&, const AmgOptions&);
template int amg_block(const Context&, const CsrView<double>&, const AmgOptions&);

namespace {

/// The matrix in blocks of nodes, in double.
template <class T>
BsrMatrix<double> blocks_of(const Context& context, const CsrView<T>& matrix, int block) {
    const Phase phase(context, "setup: blocks", 0);
    BsrMatrix<T> blocks = to_bsr(context, matrix, block, block);
    if constexpr (std::is_same_v<T, double>) {
        return blocks;
    } else {
        const Index nodes = blocks.view().block_rows;
        BsrMatrix<double> wide(context, nodes, nodes, block, block, blocks.blocks());
        convert<T, double>(context, std::as_const(blocks).values().view(), wide.values().view());
        wide.row_offsets() = std::move(blocks.row_offsets());
        wide.column_indices() = std::move(blocks.column_indices());
        return wide;
    }
}

}  // namespace

template <class T>
struct Amg<T>::State {
    template <class C>
    using HierarchyPointer = std::unique_ptr<multigrid::Hierarchy<C>>;

    State(const Context& context, const CsrView<T>& matrix, const AmgOptions& given)
        : options(given), rows(matrix.rows), nonzeros(matrix.nonzeros) {
        check_matrix("amg", matrix);
        check_memory(context, "amg", matrix);
        require(matrix.rows == matrix.columns, "amg: the matrix must be square");
        require(options.block >= 0 && options.block <= max_bsr_block, "amg: a node has 1 to ",
                max_bsr_block, " unknowns");
        const NodeCoordinates& points = options.coordinates;
        require(points.values.empty() || (points.dimensions >= 1 && points.dimensions <= 3),
                "amg: coordinates have 1 to 3 dimensions");
        options.block = amg_block(context, matrix, options);
        require(rows % options.block == 0, "amg: nodes of ", options.block,
                " unknowns do not divide a matrix of ", rows, " rows");
        choose_near_null();
        auto blocks = blocks_of(context, matrix, options.block);
        if (options.single_precision) {
            make<float>(context, std::move(blocks));
        } else {
            make<T>(context, std::move(blocks));
        }
    }

    void choose_near_null() {
        const int block = options.block;
        near_null_columns = options.near_null.columns;
        near_null_name = "given";
        if (!options.near_null.values.empty()) return;
        if (multigrid::has_rigid_body_modes(options, block)) {
            near_null_columns = block == 2 ? 3 : 6;
            near_null_name = "rigid_body";
            return;
        }
        near_null_columns = block;
        near_null_name = block == 1 ? "constant" : "translations";
        if (block == 2 || block == 3) {
            warnings.push_back(
                "the near-null space is translations, as no coordinates are known: systems of "
                "elasticity take 2 to 9 times the iterations; give coordinates=FILE (or "
                "near_null=translations, if these are meant)");
        }
    }

    template <class C>
    void make(const Context& context, BsrMatrix<double> blocks) {
        hierarchy = std::make_unique<multigrid::Hierarchy<C>>(context, std::move(blocks), options);
    }

    void update(const Context& context, const CsrView<T>& matrix) {
        require(matrix.nonzeros == nonzeros,
                "amg: update needs a matrix of the pattern that it was set up with");
        auto blocks = blocks_of(context, matrix, options.block);
        visit([&](auto& chosen) { chosen.update(context, std::move(blocks)); });
    }

    template <class F>
    decltype(auto) visit(F&& f) const {
        return std::visit([&](const auto& pointer) -> decltype(auto) { return f(*pointer); },
                          hierarchy);
    }

    void apply(const Context& context, Vectors<const T> r, Vectors<T> z) const {
        visit([&]<class C>(const multigrid::Hierarchy<C>& chosen) {
            require(chosen.complete(), "amg: there is no hierarchy, as an update failed");
            apply_cycle(context, chosen, r, z);
        });
    }

    /// z = S^T M S r; where the cycle is in float and T is double, S r is divided by a power of two
    /// near its norm before.
    template <class C>
    void apply_cycle(const Context& context, const multigrid::Hierarchy<C>& chosen,
                     Vectors<const T> r, Vectors<T> z) const {
        constexpr bool converts = !std::is_same_v<C, T>;
        const Offset numbers = Offset(rows) * r.count;
        const Scratch<T> scaled(context, numbers), squares(context, converts ? r.count : 0);
        const Scratch<C> in(context, converts ? numbers : 0), out(context, numbers);
        const auto vectors = [&]<class V>(V* data) {
            return Vectors<V>{data, rows, r.count, rows};
        };
        const auto scale = [&](bool transposed, const T* x, T* y) {
            for_each_index(context, rows,
                           multigrid::ApplyScaling<T>{chosen.block(), transposed,
                                                      chosen.scaling().data(), x, y});
        };
        const Vectors<T> x = vectors(scaled.data());
        for (int j = 0; j < r.count; ++j) scale(false, r[j].data(), x[j].data());
        if constexpr (converts) {
            for (int j = 0; j < r.count; ++j) {
                T* const square = squares.data() + j;
                dot<T>(context, x[j], x[j], square);
                convert<T, C>(context, x[j], vectors(in.data())[j], square);
            }
            chosen.cycle().apply_vectors(context, vectors(in.data()), vectors(out.data()));
            for (int j = 0; j < r.count; ++j) {
                convert<C, T>(context, vectors(out.data())[j], x[j], squares.data() + j);
                scale(true, x[j].data(), z[j].data());
            }
        } else {
            chosen.cycle().apply_vectors(context, x, vectors(out.data()));
            for (int j = 0; j < r.count; ++j) {
                scale(true, vectors(out.data())[j].data(), z[j].data());
            }
        }
    }

    AmgOptions options;
    Index rows;
    Offset nonzeros;
    const char* near_null_name = "";
    int near_null_columns = 1;
    std::vector<std::string> warnings;
    std::conditional_t<std::is_same_v<T, float>, std::variant<HierarchyPointer<float>>,
                       std::variant<HierarchyPointer<float>, HierarchyPointer<double>>>
        hierarchy;
};

template <class T>
Amg<T>::Amg(const Context& context, const CsrView<T>& matrix, const AmgOptions& options)
    : state_(std::make_unique<State>(context, matrix, options)) {}

template <class T>
Amg<T>::~Amg() = default;

template <class T>
Index Amg<T>::rows() const {
    return state_->rows;
}

template <class T>
void Amg<T>::apply(const Context& context, std::span<const T> r, std::span<T> z) const {
    apply_vectors(context, one_vector(r), one_vector(z));
}

template <class T>
void Amg<T>::apply_vectors(const Context& context, Vectors<const T> r, Vectors<T> z) const {
    check_vectors("amg", "r", r, rows());
    check_vectors("amg", "z", z, rows());
    require(r.count == z.count, "amg: r has ", r.count, " vectors, z has ", z.count);
    if (r.count > 0) state_->apply(context, r, z);
}

template <class T>
void Amg<T>::update(const Context& context, const CsrView<T>& matrix) {
    check_matrix("amg", matrix);
    require(matrix.rows == rows() && matrix.columns == rows(),
            "amg: update needs a matrix of the size that it was set up with");
    state_->update(context, matrix);
}

template <class T>
const AmgOptions& Amg<T>::options() const {
    return state_->options;
}

template <class T>
std::vector<AmgLevel> Amg<T>::levels() const {
    return state_->visit([](const auto& chosen) {
        std::vector<AmgLevel> levels;
        Offset transfers = 0;
        for (const multigrid::Level& level : chosen.levels()) {
            levels.push_back({level.nodes(), level.matrix.view().height, level.matrix.blocks(),
                              level.lambda, transfers});
            transfers = level.prolongator.blocks();
        }
        return levels;
    });
}

template <class T>
double Amg<T>::operator_complexity() const {
    return state_->visit([](const auto& chosen) { return chosen.operator_complexity(); });
}

template <class T>
std::vector<std::string> Amg<T>::warnings() const {
    std::vector<std::string> all = state_->warnings;
    state_->visit([&](const auto& chosen) {
        all.insert(all.end(), chosen.warnings().begin(), chosen.warnings().end());
    });
    return all;
}

template <class T>
PreconditionerReport Amg<T>::make_report() const {
    PreconditionerReport report;
    report.warnings = warnings();
    ReportValues rows;
    for (const AmgLevel& level : levels()) {
        rows.push_back({"", ReportValues{{"nodes", Offset(level.nodes)},
                                         {"block", Offset(level.block)},
                                         {"blocks", level.blocks},
                                         {"prolongator_blocks", level.transfers},
                                         {"lambda", level.lambda}}});
    }
    report.values.push_back(
        {"amg", ReportValues{{"near_null", std::string(state_->near_null_name)},
                             {"near_null_vectors", Offset(state_->near_null_columns)},
                             {"operator_complexity", operator_complexity()},
                             {"levels", rows}}});
    return report;
}

template class Amg<float>;
template class Amg<double>;

}  // namespace tessera
