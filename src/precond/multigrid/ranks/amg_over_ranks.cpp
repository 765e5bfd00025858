#include "tessera/amg_over_ranks.hpp"

#include <algorithm>

#include "base/checks.hpp"
#include "precond/multigrid/config.hpp"
#include "precond/multigrid/ranks/distributed_amg.hpp"
#include "tessera/detail/floating_point.hpp"

namespace tessera {

namespace {

/// A level of at most so many nodes is gathered: there messages take longer than the work that
/// ranks would share (measured: docs/decisions/ranks.md). Groups of threads share the memory that
/// each of them would read.
constexpr Offset automatic_gather_nodes(bool on_gpu) { return on_gpu ? 20'000 : 2'000; }

class AmgOfRows final : public PreconditionerOverRanks {
  public:
    /// `gather_nodes`: negative for an automatic choice.
    AmgOfRows(const Context& context, OwnRows matrix, AmgOptions options, Offset gather_nodes = -1)
        : options_(std::move(options)),
          block_(matrix.rows.view().height),
          m_(context, std::move(matrix), options_,
             {.gather_nodes =
                  gather_nodes < 0 ? automatic_gather_nodes(context.on_gpu()) : gather_nodes}) {}

    Index rows() const override { return m_.rows(); }
    Index columns() const override { return m_.rows(); }
    void apply(const Context& context, std::span<const double> r,
               std::span<double> z) const override {
        m_.apply(context, r, z);
    }
    bool can_be_captured() const override { return m_.can_be_captured(); }
    bool recover(const Context& context, Offset known) const override {
        return m_.recover(context, known);
    }
    Offset recoveries() const override { return m_.recoveries(); }

    bool has_pattern(const Context& context, const BsrView<double>& rows) const override {
        return m_.has_pattern(context, rows);
    }
    void update(const Context& context, BsrMatrix<double> rows) override {
        m_.update(context, std::move(rows));
    }
    std::string describe() const override {
        AmgOptions chosen = options_;
        chosen.block = block_;
        return text_of(chosen);
    }
    PreconditionerReport make_report() const override {
        PreconditionerReport report;
        report.warnings = m_.warnings();
        const bool is_given = m_.given_vectors() > 0;
        const AmgNearNull kind = m_.near_null_kind();
        if (!is_given && options_.near_null_kind == AmgNearNull::automatic &&
            kind == AmgNearNull::translations) {
            const std::string warning = translations_warning(*options_.coordinates, block_);
            if (!warning.empty()) report.warnings.insert(report.warnings.begin(), warning);
        }
        const int vectors = is_given                            ? m_.given_vectors()
                            : kind == AmgNearNull::translations ? block_
                            : block_ == 2                       ? 3
                                                                : 6;
        report.values.push_back(amg_report(is_given ? "given" : near_null_name(kind, block_),
                                           vectors, m_.operator_complexity(), m_.stored_values(),
                                           m_.recoveries(), m_.levels()));
        return report;
    }

    const DistributedAmg<double>& amg() const { return m_; }
    int block() const { return block_; }

  private:
    const AmgOptions options_;
    const int block_;
    DistributedAmg<double> m_;
};

/// Throws on all ranks unless the options are the same on all.
void agree_on_options(const Context& context, const Communicator& communicator,
                      const AmgOptions& options, Offset gather_nodes) {
    const std::string mine =
        concat(text_of(options), ",omega=", options.omega, ",lambda_factor=", options.lambda_factor,
               ",gather_nodes=", gather_nodes, context.on_gpu() ? ", on a GPU" : ", on a CPU");
    // FNV-1a, as std::hash may differ between machines.
    std::uint64_t hash = 14695981039346656037U;
    for (const char c : mine) hash = (hash ^ std::uint64_t(c)) * 1099511628211U;
    const std::vector<std::uint64_t> all = gather_to_host(communicator, context, hash);
    const auto other = std::ranges::find_if(all, [&](std::uint64_t h) { return h != all.front(); });
    require(other == all.end(), "amg: rank ", other - all.begin(),
            " has other options than rank 0; on rank ", communicator.rank(), " they are ", mine);
}

}  // namespace

std::unique_ptr<PreconditionerOverRanks> AmgConfig::make_over_ranks(
    const Context& context, OwnRows matrix, const PreconditionerInputs& own) const {
    require(!symmetric_part, "amg: symmetric_part=on is for one device");
    AmgOptions chosen = options;
    chosen.coordinates = own.coordinates;
    chosen.near_null = own.near_null;
    return std::make_unique<AmgOfRows>(context, std::move(matrix), std::move(chosen));
}

struct AmgOverRanks::State {
    std::shared_ptr<const Halo> halo;
    AmgOfRows m;
};

AmgOverRanks::AmgOverRanks(const Context& context, const Communicator& communicator,
                           const RowsOfRank& rows, const AmgOptions& options, Offset gather_nodes) {
    const detail::DefaultFloatingPoint environment;
    AmgOptions chosen = options;
    chosen.block = std::max(options.block, 1);
    agree_on_options(context, communicator, chosen, gather_nodes);
    require_argument("block", chosen.block <= max_bsr_block, "amg: a node has 1 to ", max_bsr_block,
                     " unknowns, not ", chosen.block);
    OwnRows matrix = own_rows(context, communicator, rows, chosen.block);
    const std::shared_ptr<const Halo> halo = matrix.halo;
    state_.reset(
        new State{halo, AmgOfRows(context, std::move(matrix), std::move(chosen), gather_nodes)});
    communicator.agree(nullptr);  // The last part of a setup sends no messages.
}

AmgOverRanks::~AmgOverRanks() = default;

void AmgOverRanks::update(const Context& context, const RowsOfRank& rows) {
    const detail::DefaultFloatingPoint environment;
    state_->m.update(context, own_rows(context, *state_->halo, rows, state_->m.block()));
    state_->halo->communicator().agree(nullptr);
}

Index AmgOverRanks::rows() const { return state_->m.rows(); }
void AmgOverRanks::apply(const Context& context, std::span<const double> r,
                         std::span<double> z) const {
    state_->m.apply(context, r, z);
}
bool AmgOverRanks::can_be_captured() const { return state_->m.can_be_captured(); }
bool AmgOverRanks::recover(const Context& context, Offset known) const {
    return state_->m.recover(context, known);
}
Offset AmgOverRanks::recoveries() const { return state_->m.recoveries(); }
std::string AmgOverRanks::describe() const { return state_->m.describe(); }
std::vector<AmgLevel> AmgOverRanks::levels() const { return state_->m.amg().levels(); }
std::vector<Offset> AmgOverRanks::nodes_of_ranks(int level) const {
    return state_->m.amg().nodes_of_ranks(level);
}
double AmgOverRanks::operator_complexity() const { return state_->m.amg().operator_complexity(); }
std::string AmgOverRanks::stored_values() const { return state_->m.amg().stored_values(); }
std::string AmgOverRanks::near_null() const {
    return state_->m.amg().given_vectors() > 0
               ? "given"
               : near_null_name(state_->m.amg().near_null_kind(), state_->m.block());
}
std::vector<std::string> AmgOverRanks::warnings() const { return state_->m.make_report().warnings; }

}  // namespace tessera
