#include "tessera/amg.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <variant>

#include "base/checks.hpp"
#include "base/concat.hpp"
#include "base/phases.hpp"
#include "base/scratch/scratch.hpp"
#include "precond/multigrid/blocks/block_scaling.hpp"
#include "precond/multigrid/config.hpp"
#include "precond/multigrid/hierarchy.hpp"
#include "precond/multigrid/setup/padding.hpp"
#include "precond/pattern_hash.hpp"
#include "tessera/detail/blocks.hpp"
#include "tessera/detail/vector_steps.hpp"

namespace tessera {

namespace {

/// The matrix in blocks of nodes, in double.
template <class T>
BsrMatrix<double> blocks_of(const Context& context, const CsrView<T>& matrix,
                            const multigrid::Padding& padding, int block) {
    const Phase phase(context, "setup: blocks", 0, PhaseStep::setup);
    const CsrMatrix<T> padded = padding.empty() ? CsrMatrix<T>() : padding.pad(context, matrix);
    BsrMatrix<T> blocks = to_bsr(context, padding.empty() ? matrix : padded.view(), block, block);
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
        check_square("amg", matrix.rows, matrix.columns);
        require_argument("block", options.block >= 0 && options.block <= max_bsr_block,
                         "amg: a node has 1 to ", max_bsr_block, " unknowns");
        const NodeCoordinates& points = *options.coordinates;
        require_argument(
            "coordinates",
            points.values.empty() || (points.dimensions >= 1 && points.dimensions <= 3),
            "amg: coordinates have 1 to 3 dimensions");
        if (points.unknowns.empty()) {
            find_nodes(context, matrix);
        } else {
            if (options.block == 0) options.block = points.dimensions;
            require_argument("coordinates", options.block == points.dimensions, "amg: nodes of ",
                             options.block, " unknowns do not fit coordinates of ",
                             points.dimensions, " dimensions that name the unknowns");
            padding =
                multigrid::Padding(context, points.unknowns, Offset(points.values.size()), rows);
        }
        padded_rows = padding.empty() ? rows : padding.rows();
        require_argument("block", padded_rows % options.block == 0, "amg: nodes of ", options.block,
                         " unknowns do not divide a matrix of ", rows, " rows");
        choose_near_null(context);
        hash = pattern_hash(context, matrix);
        if (options.single_precision) {
            make<float>(context, matrix);
        } else {
            make<T>(context, matrix);
        }
    }

    /// Chooses the number of unknowns per node (AmgOptions::block). If natural blocks are nodes,
    /// also finds the unknowns that have no row.
    void find_nodes(const Context& context, const CsrView<T>& matrix) {
        const NodeCoordinates& points = *options.coordinates;
        const Offset nodes =
            points.values.empty() ? 0 : Offset(points.values.size()) / points.dimensions;
        if (nodes > 0 && rows > 0 && rows % nodes == 0 && rows / nodes <= max_bsr_block) {
            if (options.block == 0) options.block = int(rows / nodes);
            return;
        }
        if (options.block == 1) return;
        BlockPartition found;
        if (!options.natural_blocks) {
            found = find_blocks(context, matrix, max_bsr_block, Blocking::natural);
        }
        const BlockPartition& blocks = options.natural_blocks ? *options.natural_blocks : found;
        const bool fits = are_nodes(blocks) && (nodes == 0 || nodes == blocks.count) &&
                          (options.block == 0 || options.block == blocks.largest);
        const Offset all = Offset(blocks.count) * blocks.largest;
        if (fits && all > rows) {
            padding = multigrid::Padding(
                context, multigrid::unknowns_of_rows(context, matrix, blocks), all, rows);
        }
        if (options.block > 0) return;
        options.block = nodes > 0 ? points.dimensions : int(node_rows(context, matrix, blocks));
        if (options.block == 1 && blocks.largest >= 2 &&
            3 * Offset(blocks.count) <= 2 * Offset(blocks.rows)) {
            warnings.push_back(
                "rows are taken as nodes of one unknown, though they seem to come in blocks of up "
                "to " +
                std::to_string(blocks.largest) +
                ": give the fixed unknowns of nodes identity rows, or name block=");
        }
    }

    void choose_near_null(const Context& context) {
        const int block = options.block;
        const NearNullSpace& given = *options.near_null;
        if (!given.values.empty()) {
            near_null_columns = given.columns;
            near_null_name = "given";
            require_argument("near_null",
                             given.columns >= 1 && given.columns <= max_bsr_block &&
                                 Offset(given.values.size()) == Offset(rows) * given.columns,
                             "amg: the near-null space must have ", rows, " rows of 1 to ",
                             max_bsr_block, " numbers");
            if (!padding.empty()) options.near_null = padding.pad(context, given);
            return;
        }
        const NodeCoordinates& points = *options.coordinates;
        const bool rotations = options.near_null_kind != AmgNearNull::translations &&
                               !points.values.empty() && block >= 2 && points.dimensions == block;
        require(options.near_null_kind != AmgNearNull::rigid_body || rotations,
                "amg: near_null=rigid_body needs coordinates of as many dimensions as a node has "
                "unknowns, 2 or 3; a node has ",
                block);
        near_null_kind = rotations ? AmgNearNull::rigid_body : AmgNearNull::translations;
        if (rotations) {
            near_null_columns = block == 2 ? 3 : 6;
            near_null_name = "rigid_body";
            return;
        }
        near_null_columns = block;
        near_null_name = tessera::near_null_name(near_null_kind, block);
        if (options.near_null_kind != AmgNearNull::automatic) return;
        const std::string warning = translations_warning(points, block);
        if (!warning.empty()) warnings.push_back(warning);
    }

    /// The matrix in blocks, again.
    typename multigrid::Hierarchy<float>::FirstMatrix again(const CsrView<T>& matrix) const {
        if (!options.matrix_stays) return {};
        return [this, matrix](const Context& context) {
            return blocks_of(context, matrix, padding, options.block);
        };
    }

    template <class C>
    void make(const Context& context, const CsrView<T>& matrix) {
        resolved_options = options;
        resolved_options.near_null_kind = near_null_kind;
        if (options.coarse_rows == 0) {
            resolved_options.coarse_rows = automatic_coarse_rows(padded_rows, context.on_gpu());
        }
        hierarchy = std::make_unique<multigrid::Hierarchy<C>>(
            context, blocks_of(context, matrix, padding, options.block), resolved_options,
            std::numeric_limits<T>::epsilon(), again(matrix));
        visit([&](const auto& made) { reserve_work(context, made.cycle(), 1); });
    }

    /// Reserves the work space of an application to some vectors, which then does not allocate.
    template <class C>
    void reserve_work(const Context& context, const multigrid::Cycle<C>& cycle, int count) const {
        constexpr bool converts = !std::is_same_v<C, T>;
        const Offset n = padded_rows, numbers = n * count, size = sizeof(T),
                     narrow = numbers * Offset(sizeof(C));
        reserve_scratch(
            context, {numbers * size, converts ? count * size : 0, padding.empty() ? 0 : n * size,
                      converts ? narrow : 0, narrow, cycle.work_bytes(count)});
    }

    void update(const Context& context, const CsrView<T>& matrix) {
        require(matrix.nonzeros == nonzeros,
                "amg: update needs a matrix of the pattern that it was set up with");
        require(pattern_hash(context, matrix) == hash,
                "amg: update needs the pattern that the hierarchy was made for");
        recovered.reset();
        raised = 0;
        visit([&](auto& made) {
            made.update(context, blocks_of(context, matrix, padding, options.block), again(matrix));
        });
    }

    template <class F>
    decltype(auto) visit(F&& f) const {
        return std::visit([&](const auto& pointer) -> decltype(auto) { return f(*pointer); },
                          hierarchy);
    }

    bool recover(const Context& context, Offset known) {
        const std::lock_guard lock(mutex);
        if (recoveries > known) return true;
        if (raised == multigrid::max_recoveries) return false;
        const double factor = std::pow(multigrid::recovery_factor, raised + 1);
        visit([&](const auto& made) {
            // The first cycle stays: captured graphs use its matrices.
            if (!recovered) recovered = made.template make_cycle<T>(context);
            made.set_bounds(*recovered, factor);
        });
        context.synchronize();  // Other Contexts may use the new cycle from now on.
        ++raised;
        ++recoveries;
        return true;
    }

    /// Name of the type of stored values in the cycle that is applied.
    const char* stored_values() const {
        const auto name = []<class C>(const multigrid::Cycle<C>& cycle) {
            if (cycle.values() != ValueFormat::working) return to_string(cycle.values());
            return sizeof(C) == 4 ? "f32" : "f64";
        };
        const std::lock_guard lock(mutex);
        if (recovered) return name(*recovered);
        return visit([&](const auto& made) { return name(made.cycle()); });
    }

    void apply(const Context& context, Vectors<const T> r, Vectors<T> z) const {
        visit([&](const auto& made) {
            require(made.complete(), "amg: there is no hierarchy, as an update failed");
            std::shared_ptr<const multigrid::Cycle<T>> other;
            {
                const std::lock_guard lock(mutex);
                other = recovered;
            }
            if (other) {
                apply_cycle(context, made, *other, r, z);
            } else {
                apply_cycle(context, made, made.cycle(), r, z);
            }
        });
    }

    /// z = S^T M S r. If the cycle is in float and T is double, S r is divided by a power of two
    /// near its norm before it is rounded, and the result multiplied by it.
    template <class C, class D>
    void apply_cycle(const Context& context, const multigrid::Hierarchy<D>& made,
                     const multigrid::Cycle<C>& cycle, Vectors<const T> r, Vectors<T> z) const {
        constexpr bool converts = !std::is_same_v<C, T>;
        const Index n = padded_rows;
        const Offset numbers = Offset(n) * r.count;
        reserve_work(context, cycle, r.count);
        const Scratch<T> scaled(context, numbers), squares(context, converts ? r.count : 0),
            padded(context, padding.empty() ? 0 : n);
        const Scratch<C> in(context, converts ? numbers : 0), out(context, numbers);
        const auto vectors = [&]<class V>(V* data) { return Vectors<V>{data, n, r.count, n}; };
        const auto scale = [&](bool transposed, const T* x, T* y) {
            for_each_index(
                context, n,
                multigrid::ApplyScaling<T>{made.block(), transposed, made.scaling().data(), x, y});
        };
        const auto scale_back = [&](const T* x, T* y) {
            scale(true, x, padding.empty() ? y : padded.data());
            if (!padding.empty()) padding.unpad<T>(context, padded.data(), y);
        };
        const Vectors<T> x = vectors(scaled.data());
        for (int j = 0; j < r.count; ++j) {
            if (!padding.empty()) padding.pad<T>(context, r[j].data(), padded.data());
            scale(false, padding.empty() ? r[j].data() : padded.data(), x[j].data());
        }
        if constexpr (converts) {
            for (int j = 0; j < r.count; ++j) {
                T* const square = squares.data() + j;
                dot<T>(context, x[j], x[j], square);
                convert<T, C>(context, x[j], vectors(in.data())[j], square);
            }
            cycle.apply_vectors(context, vectors(in.data()), vectors(out.data()));
            for (int j = 0; j < r.count; ++j) {
                convert<C, T>(context, vectors(out.data())[j], x[j], squares.data() + j);
                scale_back(x[j].data(), z[j].data());
            }
        } else {
            cycle.apply_vectors(context, x, vectors(out.data()));
            for (int j = 0; j < r.count; ++j) {
                scale_back(vectors(out.data())[j].data(), z[j].data());
            }
        }
    }

    AmgOptions options;
    AmgOptions resolved_options;  ///< `options` with automatic choices replaced by their results.
    Index rows, padded_rows = 0;
    Offset nonzeros;
    std::uint64_t hash = 0;  ///< The matrix's pattern_hash.
    multigrid::Padding padding;
    AmgNearNull near_null_kind = AmgNearNull::automatic;
    std::string near_null_name;
    int near_null_columns = 1;
    std::vector<std::string> warnings;
    std::conditional_t<std::is_same_v<T, float>, std::variant<HierarchyPointer<float>>,
                       std::variant<HierarchyPointer<float>, HierarchyPointer<double>>>
        hierarchy;
    mutable std::mutex mutex;                        ///< Guards what `recover` changes.
    std::shared_ptr<multigrid::Cycle<T>> recovered;  ///< Applied in place of the first cycle.
    int raised = 0;         ///< Times that bounds were raised since the last setup or update.
    Offset recoveries = 0;  ///< Times that bounds were raised at all.
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
bool Amg<T>::recover(const Context& context, Offset known) const {
    return state_->recover(context, known);
}

template <class T>
Offset Amg<T>::recoveries() const {
    const std::lock_guard lock(state_->mutex);
    return state_->recoveries;
}

template <class T>
const AmgOptions& Amg<T>::options() const {
    return state_->options;
}

template <class T>
std::vector<AmgLevel> Amg<T>::levels() const {
    return state_->visit([](const auto& made) {
        std::vector<AmgLevel> levels;
        Offset transfers = 0;
        for (const multigrid::Level& level : made.levels()) {
            levels.push_back({level.nodes, level.block, level.blocks, level.lambda, transfers});
            transfers = level.prolongator_blocks;
        }
        return levels;
    });
}

template <class T>
double Amg<T>::operator_complexity() const {
    return state_->visit([](const auto& made) { return made.operator_complexity(); });
}

template <class T>
std::vector<std::string> Amg<T>::warnings() const {
    std::vector<std::string> all = state_->warnings;
    state_->visit([&](const auto& made) {
        all.insert(all.end(), made.warnings().begin(), made.warnings().end());
    });
    const std::lock_guard lock(state_->mutex);
    if (state_->raised > 0) {
        all.push_back("the cycle was not positive definite and was made anew " +
                      std::to_string(state_->raised) +
                      " times, with larger bounds of the spectrum and in working precision "
                      "(precision=working begins with that)");
    }
    return all;
}

template <class T>
PreconditionerReport Amg<T>::make_report() const {
    PreconditionerReport report;
    report.warnings = warnings();
    report.values.push_back(amg_report(state_->near_null_name, state_->near_null_columns,
                                       operator_complexity(), state_->stored_values(), recoveries(),
                                       levels()));
    return report;
}

template class Amg<float>;
template class Amg<double>;

}  // namespace tessera
