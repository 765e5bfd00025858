#include "precond/multigrid/ranks/distributed_amg.hpp"

#include <cmath>
#include <limits>

#include "base/checks.hpp"
#include "base/scratch/scratch.hpp"
#include "precond/multigrid/blocks/block_scaling.hpp"
#include "precond/multigrid/config.hpp"
#include "tessera/detail/vector_steps.hpp"

namespace tessera {

namespace {

/// Automatic choices replaced by their results, equal on all ranks.
AmgOptions resolved(const Context& context, const OwnRows& matrix, AmgOptions options) {
    const Halo& halo = *matrix.halo;
    const int block = matrix.rows.view().height;
    const NodeCoordinates& points = *options.coordinates;
    on_all_ranks(halo.communicator(), [&] {
        require_argument("coordinates", points.unknowns.empty(),
                         "amg: over ranks all nodes must have all of their unknowns");
        require_argument("block", options.block == 0 || options.block == block,
                         "amg: the nodes of the matrix have ", block, " unknowns, not ",
                         options.block);
    });
    options.block = block;
    // A rank without nodes has no opinion.
    const int fits = points.values.empty() ? 0 : points.dimensions;
    int dimensions = 0;
    for (const int other : gather_to_host(halo.communicator(), context, fits)) {
        dimensions = std::max(dimensions, other);
    }
    on_all_ranks(halo.communicator(), [&] {
        require_argument("coordinates", fits == 0 || fits == dimensions,
                         "amg: a rank has coordinates of ", fits, " dimensions, another one of ",
                         dimensions);
    });
    const bool rotations =
        options.near_null_kind != AmgNearNull::translations && block >= 2 && dimensions == block;
    require(options.near_null_kind != AmgNearNull::rigid_body || rotations,
            "amg: near_null=rigid_body needs coordinates of as many dimensions as a node has "
            "unknowns, 2 or 3; a node has ",
            block);
    options.near_null_kind = rotations ? AmgNearNull::rigid_body : AmgNearNull::translations;
    if (points.values.empty()) options.coordinates = NodeCoordinates{dimensions, {}};
    if (options.coarse_rows == 0) {
        const Offset rows =
            std::min<Offset>(halo.all_nodes() * block, std::numeric_limits<Index>::max());
        options.coarse_rows = automatic_coarse_rows(Index(rows), context.on_gpu());
    }
    return options;
}

}  // namespace

template <class T>
DistributedAmg<T>::DistributedAmg(const Context& context, OwnRows matrix, const AmgOptions& options,
                                  const multigrid::RankOptions& ranks)
    : communicator_(matrix.halo->communicator()),
      sums_(communicator_),
      rows_(matrix.halo->own() * matrix.rows.view().height),
      block_(matrix.rows.view().height) {
    const AmgOptions chosen = resolved(context, matrix, options);
    near_null_kind_ = chosen.near_null_kind;
    const double rounding = std::numeric_limits<T>::epsilon();
    const auto make = [&]<class C>(std::type_identity<C>) {
        hierarchy_ = std::make_unique<multigrid::DistributedHierarchy<C>>(
            context, std::move(matrix), chosen, ranks, rounding);
    };
    if (chosen.single_precision) {
        make(std::type_identity<float>());
    } else {
        make(std::type_identity<T>());
    }
}

template <class T>
void DistributedAmg<T>::update(const Context& context, BsrMatrix<double> rows) {
    std::visit(
        [&](const auto& made) {
            require(made->has_pattern(context, rows.view()),
                    "amg: update needs the pattern that the hierarchy was made for");
            raised_ = 0;
            made->update(context, std::move(rows));
        },
        hierarchy_);
}

/// z = S^T M S r, where S r is divided by a power of two near its norm before it is rounded.
template <class T>
void DistributedAmg<T>::apply(const Context& context, std::span<const T> r, std::span<T> z) const {
    check_vector("amg", "r", r, rows_);
    check_vector("amg", "z", z, rows_);
    visit([&]<class C>(const multigrid::DistributedHierarchy<C>& made) {
        require(made.complete(), "amg: there is no hierarchy, as an update failed");
        const Scratch<T> scaled(context, rows_);
        const auto scale = [&](bool transposed, const T* x, T* y) {
            for_each_index(
                context, rows_,
                multigrid::ApplyScaling<T>{block_, transposed, made.scaling().data(), x, y});
        };
        scale(false, r.data(), scaled.data());
        const std::span<const T> from = scaled.view();
        if constexpr (std::is_same_v<C, T>) {
            const Scratch<T> out(context, rows_);
            made.cycle().apply(context, from, out.view());
            scale(true, out.data(), z.data());
        } else {
            const Scratch<T> square(context, 1);
            const Scratch<C> in(context, rows_), out(context, rows_);
            {
                const UseRankSums use(context, &sums_);
                dot<T>(context, from, from, square.data());
            }
            convert<T, C>(context, from, in.view(), square.data());
            made.cycle().apply(context, std::span<const C>(in.view()), out.view());
            convert<C, T>(context, std::span<const C>(out.view()), scaled.view(), square.data());
            scale(true, scaled.data(), z.data());
        }
    });
}

/// Raises the bounds of eigenvalues, on which all ranks decide alike.
template <class T>
bool DistributedAmg<T>::recover(const Context& context, Offset known) const {
    if (recoveries_ > known) return true;
    if (raised_ == multigrid::max_recoveries) return false;
    ++raised_;
    ++recoveries_;
    const double factor = std::pow(multigrid::recovery_factor, double(raised_));
    std::visit([&](const auto& made) { made->raise_bounds(factor); }, hierarchy_);
    context.synchronize();
    return true;
}

template <class T>
std::vector<AmgLevel> DistributedAmg<T>::levels() const {
    return visit([](const auto& made) {
        std::vector<AmgLevel> levels;
        Offset transfers = 0;
        for (const multigrid::DistributedLevel& level : made.levels()) {
            levels.push_back({Index(level.halo->all_nodes()), level.matrix.view().height,
                              level.blocks, level.lambda, transfers});
            transfers = level.prolongator_blocks;
        }
        const auto& gathered = made.gathered().hierarchy().levels();
        levels.back().lambda = gathered.front().lambda;
        transfers = gathered.front().prolongator_blocks;
        for (std::size_t l = 1; l < gathered.size(); ++l) {
            const multigrid::Level& level = gathered[l];
            levels.push_back({level.nodes, level.block, level.blocks, level.lambda, transfers});
            transfers = level.prolongator_blocks;
        }
        return levels;
    });
}

template <class T>
int DistributedAmg<T>::distributed_levels() const {
    return visit([](const auto& made) { return int(made.levels().size()) - 1; });
}

template <class T>
std::vector<Offset> DistributedAmg<T>::nodes_of_ranks(int level) const {
    return visit([level](const auto& made) {
        std::vector<Offset> nodes;
        if (std::size_t(level) >= made.levels().size()) return nodes;
        const std::vector<Offset>& starts = made.levels()[std::size_t(level)].halo->starts();
        for (std::size_t r = 0; r + 1 < starts.size(); ++r) {
            nodes.push_back(starts[r + 1] - starts[r]);
        }
        return nodes;
    });
}

template <class T>
double DistributedAmg<T>::operator_complexity() const {
    return visit([](const auto& made) { return made.operator_complexity(); });
}

template <class T>
std::vector<std::string> DistributedAmg<T>::warnings() const {
    return visit([](const auto& made) { return made.warnings(); });
}

template <class T>
const char* DistributedAmg<T>::stored_values() const {
    return visit([]<class C>(const multigrid::DistributedHierarchy<C>& made) {
        const multigrid::Cycle<C>& cycle =
            made.levels().size() > 1 ? made.cycle() : made.gathered().hierarchy().cycle();
        if (cycle.values() != ValueFormat::working) return to_string(cycle.values());
        return sizeof(C) == 4 ? "f32" : "f64";
    });
}

template class DistributedAmg<double>;

}  // namespace tessera
