#include "precond/multigrid/config.hpp"
#include "precond/multigrid/ranks/distributed_amg.hpp"

namespace tessera {

namespace {

/// A level of at most so many nodes is gathered: there messages take longer than the work that
/// ranks would share (measured: docs/decisions/ranks.md). Groups of threads share the memory that
/// each of them would read.
constexpr Offset gather_nodes(bool on_gpu) { return on_gpu ? 20'000 : 2'000; }

class AmgOverRanks final : public PreconditionerOverRanks {
  public:
    AmgOverRanks(const Context& context, OwnRows matrix, AmgOptions options)
        : options_(std::move(options)),
          block_(matrix.rows.view().height),
          m_(context, std::move(matrix), options_,
             {.gather_nodes = gather_nodes(context.on_gpu())}) {}

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
        const bool is_given = !options_.near_null->values.empty();
        const AmgNearNull kind = m_.near_null_kind();
        if (!is_given && options_.near_null_kind == AmgNearNull::automatic &&
            kind == AmgNearNull::translations) {
            const std::string warning = translations_warning(*options_.coordinates, block_);
            if (!warning.empty()) report.warnings.insert(report.warnings.begin(), warning);
        }
        const int vectors = is_given                            ? options_.near_null->columns
                            : kind == AmgNearNull::translations ? block_
                            : block_ == 2                       ? 3
                                                                : 6;
        report.values.push_back(amg_report(is_given ? "given" : near_null_name(kind, block_),
                                           vectors, m_.operator_complexity(), m_.stored_values(),
                                           m_.recoveries(), m_.levels()));
        return report;
    }

  private:
    const AmgOptions options_;
    const int block_;
    DistributedAmg<double> m_;
};

}  // namespace

std::unique_ptr<PreconditionerOverRanks> AmgConfig::make_over_ranks(
    const Context& context, OwnRows matrix, const PreconditionerInputs& own) const {
    AmgOptions chosen = options;
    chosen.coordinates = own.coordinates;
    chosen.near_null = own.near_null;
    return std::make_unique<AmgOverRanks>(context, std::move(matrix), std::move(chosen));
}

}  // namespace tessera
