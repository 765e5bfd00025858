// The PC type tesseraamg: smoothed aggregation of the matrix over all ranks.

#include <algorithm>
#include <limits>
#include <type_traits>

#include <tessera/nccl.hpp>

#include "device.hpp"
#include "pc.hpp"
#include "rank_rows.hpp"

#if defined(PETSC_USE_REAL_DOUBLE) && !defined(PETSC_HAVE_MPIUNI)

#include "mpi_communicator.hpp"

namespace tessera::petsc {

namespace {

/// Precision of the cycle, and values of its matrices, as option values.
enum class Precision { f32, working };
const char* to_string(Precision precision) {
    return precision == Precision::f32 ? "f32" : "working";
}
enum class Values { automatic, working, f16 };
const char* to_string(Values values) {
    return values == Values::automatic ? "auto" : values == Values::working ? "working" : "f16";
}

/// How ranks send each other the numbers of their GPUs.
enum class Messages { automatic, mpi, nccl };
const char* to_string(Messages messages) {
    return messages == Messages::automatic ? "auto" : messages == Messages::mpi ? "mpi" : "nccl";
}

class AmgMethod final : public Method {
  public:
    PetscErrorCode set_from_options(PC pc, OptionItems PetscOptionsObject) override;
    PetscErrorCode set_up(PC pc, bool fresh) override;
    void reset() override {
        amg_.reset();
        not_made_.reset();
        rows_.reset();
        nccl_.reset();
        communicator_.reset();
    }
    PetscErrorCode view(PC pc, PetscViewer viewer) override;
    void set_coordinates(int dimensions, std::vector<double> values) override {
        coordinates_ = NodeCoordinates{dimensions, std::move(values)};
    }
    const Operator<Scalar>* map() const override {
        if (not_made_) return &*not_made_;
        return amg_.get();
    }
    bool apply_transpose(PC pc, std::span<const Scalar> r, std::span<Scalar> z) override {
        if (!known_symmetric(pc)) return false;
        map()->apply(*context, r, z);
        return true;
    }
    void run(const std::function<void()>& application) const override {
        communicator_->run(application);
    }

  private:
    PetscErrorCode read_words(OptionItems PetscOptionsObject);
    PetscErrorCode read_numbers(OptionItems PetscOptionsObject);
    PetscErrorCode read_options(OptionItems PetscOptionsObject);
    PetscErrorCode make_communicator(MPI_Comm comm);
    PetscErrorCode choose_messages(PC pc, bool on_gpus);
    PetscErrorCode make_or_update(PC pc, bool fresh);
    PetscErrorCode make_or_update_on_all(PC pc, bool fresh, std::string& reason);
    PetscErrorCode view_levels(PetscViewer viewer);

    AmgOptions options_;
    int gather_nodes_ = -1;
    Messages messages_ = Messages::automatic;
    NodeCoordinates coordinates_;
    std::unique_ptr<MpiCommunicator> communicator_;
    std::unique_ptr<Communicator> nccl_;  ///< Null where MPI sends all messages.
    std::unique_ptr<RankRows> rows_;
    PetscMemType memory_ = PETSC_MEMTYPE_HOST;
    std::unique_ptr<AmgOverRanks> amg_;
    std::optional<NotMade> not_made_;  ///< In place of it.
};

PetscErrorCode AmgMethod::read_words(OptionItems PetscOptionsObject) {
    using enum AmgNearNull;
    constexpr AmgNearNull near_null[] = {automatic, rigid_body, translations};
    constexpr AmgStrength strengths[] = {AmgStrength::both, AmgStrength::distance,
                                         AmgStrength::frobenius};
    constexpr Precision precisions[] = {Precision::f32, Precision::working};
    constexpr Values all_values[] = {Values::automatic, Values::working, Values::f16};
    constexpr Messages all_messages[] = {Messages::automatic, Messages::mpi, Messages::nccl};
    Precision precision = options_.single_precision ? Precision::f32 : Precision::working;
    Values values = !options_.values                       ? Values::automatic
                    : *options_.values == ValueFormat::f16 ? Values::f16
                                                           : Values::working;

    PetscFunctionBegin;
    PetscCall(choice_option(PetscOptionsObject, "-pc_tesseraamg_near_null",
                            "Near-null vectors of a matrix that names none (auto: rigid body modes "
                            "where PCSetCoordinates allows)",
                            near_null, options_.near_null_kind));
    PetscCall(choice_option(PetscOptionsObject, "-pc_tesseraamg_strength",
                            "Strong couplings: of blocks, of nodes near each other, or both; "
                            "without coordinates of blocks",
                            strengths, options_.strength));
    PetscCall(choice_option(PetscOptionsObject, "-pc_tesseraamg_precision",
                            "Precision of the cycle (working: double)", precisions, precision));
    PetscCall(choice_option(PetscOptionsObject, "-pc_tesseraamg_values",
                            "Stored values of matrices in the cycle (auto: f16 where the matrix "
                            "allows)",
                            all_values, values));
    PetscCall(choice_option(PetscOptionsObject, "-pc_tesseraamg_messages",
                            "Messages between GPUs (auto: NCCL where it can be loaded and each "
                            "rank has a GPU of its own)",
                            all_messages, messages_));
    PetscCall(product_option(PetscOptionsObject, "-pc_tesseraamg_product", *this));
    options_.single_precision = precision == Precision::f32;
    options_.values = {};
    if (values != Values::automatic) {
        options_.values = values == Values::f16 ? ValueFormat::f16 : ValueFormat::working;
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AmgMethod::read_numbers(OptionItems PetscOptionsObject) {
    PetscReal theta = options_.theta;

    PetscFunctionBegin;
    const auto read = [&](const char* name, const char* help, int low, int high,
                          auto& value) -> PetscErrorCode {
        PetscInt number = value;

        PetscFunctionBegin;
        PetscCall(PetscOptionsInt(name, help, "PCSetFromOptions", number, &number, nullptr));
        PetscCheck(number >= low && number <= high, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
                   "%s %" PetscInt_FMT ": give %d to %d", name, number, low, high);
        value = std::remove_reference_t<decltype(value)>(number);
        PetscFunctionReturn(PETSC_SUCCESS);
    };
    PetscCall(PetscOptionsReal("-pc_tesseraamg_theta", "Threshold of strong couplings, 0 to 1",
                               "PCSetFromOptions", theta, &theta, nullptr));
    PetscCheck(theta >= 0 && theta <= 1, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "-pc_tesseraamg_theta %g: give a number from 0 to 1", double(theta));
    options_.theta = theta;
    PetscCall(
        read("-pc_tesseraamg_second_pass",
             "Least neighbours of a node that begins an aggregate in pass 2; 0: no such pass; "
             "-1: chosen",
             -1, 1000, options_.second_pass));
    PetscCall(read("-pc_tesseraamg_smoothing_steps",
                   "Products of the smoother before and after the coarse correction, 2 to 16", 2,
                   16, options_.smoothing_steps));
    PetscCall(read("-pc_tesseraamg_coarse_rows",
                   "A level of at most so many rows is solved directly; 0: chosen", 0, 6000,
                   options_.coarse_rows));
    PetscCall(read("-pc_tesseraamg_levels", "Maximum number of levels, 1 to 50", 1, 50,
                   options_.max_levels));
    PetscCall(read(
        "-pc_tesseraamg_gather_nodes",
        "A level of at most so many nodes is collected on every rank; -1: chosen, more on GPUs", -1,
        std::numeric_limits<int>::max(), gather_nodes_));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AmgMethod::read_options(OptionItems PetscOptionsObject) {
    PetscFunctionBegin;
    PetscOptionsHeadBegin(PetscOptionsObject, "Tessera multigrid options");
    PetscCall(read_words(PetscOptionsObject));
    PetscCall(read_numbers(PetscOptionsObject));
    PetscOptionsHeadEnd();
    PetscFunctionReturn(PETSC_SUCCESS);
}

/// Options that are wrong on one rank are an error on all.
PetscErrorCode AmgMethod::set_from_options(PC pc, OptionItems items) {
    PetscFunctionBegin;
    PetscCall(guarded_on_all(PetscObjectComm(PetscObject(pc)),
                             [&]() -> PetscErrorCode { return read_options(items); }));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AmgMethod::make_communicator(MPI_Comm comm) {
    PetscFunctionBegin;
    if (communicator_) PetscFunctionReturn(PETSC_SUCCESS);
#if defined(PETSC_HAVE_DEVICE)
    const bool device_pointers = use_gpu_aware_mpi == PETSC_TRUE;
#else
    const bool device_pointers = false;
#endif
    PetscCall(guarded_on_all(comm, [&]() -> PetscErrorCode {
        communicator_ = std::make_unique<MpiCommunicator>(comm, device_pointers);
        return PETSC_SUCCESS;
    }));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/// Makes the communicator of NCCL if the ranks have a GPU each, which `on_gpus` alone does not say.
/// Collective.
PetscErrorCode AmgMethod::choose_messages(PC pc, bool on_gpus) {
    std::string reason;

    PetscFunctionBegin;
    const bool wanted =
        messages_ == Messages::nccl || (messages_ == Messages::automatic && on_gpus);
    if (!wanted || communicator_->size() == 1) nccl_.reset();
    if (!wanted || communicator_->size() == 1 || nccl_) PetscFunctionReturn(PETSC_SUCCESS);
    try {
        communicator_->run([&] { nccl_ = nccl_communicator(*context, *communicator_); });
    } catch (const std::exception& error) {
        reason = error.what();
    }
    if (nccl_) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCheck(messages_ != Messages::nccl, PetscObjectComm(PetscObject(pc)), PETSC_ERR_SUP,
               "-pc_tesseraamg_messages nccl: %s", reason.c_str());
    PetscCall(PetscInfo(pc, "Tessera: messages by MPI: %s\n", reason.c_str()));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/// May throw; collective.
PetscErrorCode AmgMethod::make_or_update(PC pc, bool fresh) {
    NearNullSpace near_null;

    PetscFunctionBegin;
    RowsOfRank rows;
    rows.own = rows_->own().view();
    if (rows_->others() != nullptr) rows.others = rows_->others()->view();
    const std::vector<PetscInt>& columns = rows_->columns_of_others();
    rows.columns_of_others.assign(columns.begin(), columns.end());
    if (!fresh) {
        amg_->update(*context, rows);
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    AmgOptions chosen = options_;
    chosen.block = int(block_size(pc));
    chosen.coordinates = coordinates_;
    PetscCall(near_null_space(pc, rows.own.rows, near_null));
    chosen.near_null = std::move(near_null);
    const Communicator& communicator = nccl_ ? *nccl_ : *communicator_;
    amg_ =
        std::make_unique<AmgOverRanks>(*context, communicator, rows, chosen, Offset(gather_nodes_));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/// An error on one rank is an error on all, but for matrices that are not positive definite:
/// `reason` then says so. Collective.
PetscErrorCode AmgMethod::make_or_update_on_all(PC pc, bool fresh, std::string& reason) {
    Fault fault;
    bool made = false;

    PetscFunctionBegin;
    try {
        communicator_->run([&] { throw_failure(make_or_update(pc, fresh)); });
        made = true;
    } catch (const NotPositiveDefinite& error) {
        reason = error.what();
    } catch (const RankError&) {  // That rank says why.
    } catch (...) {
        fault = current_fault();
    }
    if (made) PetscFunctionReturn(PETSC_SUCCESS);
    amg_.reset();
    PetscCall(agree(PetscObjectComm(PetscObject(pc)), fault));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AmgMethod::set_up(PC pc, bool fresh) {
    const MPI_Comm comm = PetscObjectComm(PetscObject(pc));
    std::string reason;

    PetscFunctionBegin;
    not_made_.reset();
    PetscCall(make_communicator(comm));
    fresh = fresh || !amg_;
    if (fresh) rows_ = std::make_unique<RankRows>();
    PetscCall(rows_->read(pc->pmat, fresh));
    context = rows_->context();
    // Moved to a GPU, or from there: all ranks set up anew.
    const int words = int(messages_);
    const int mine[4] = {memory_ != rows_->own().memory(), !context->on_gpu(), words, -words};
    int any[4];
    PetscCallMPI(MPI_Allreduce(mine, any, 4, MPI_INT, MPI_MAX, comm));
    PetscCheck(any[2] == -any[3], comm, PETSC_ERR_ARG_INCOMP,
               "-pc_tesseraamg_messages is not the same on all ranks");
    memory_ = rows_->own().memory();
    fresh = fresh || any[0] != 0;
    if (fresh) {
        amg_.reset();
        if (any[0] != 0) nccl_.reset();
        PetscCall(choose_messages(pc, any[1] == 0));
    }
    PetscCall(make_or_update_on_all(pc, fresh, reason));
    if (!amg_) not_made_.emplace(rows_->own().view().rows);
    PetscCall(report_singular(pc, reason));
    if (!amg_) PetscFunctionReturn(PETSC_SUCCESS);
    for (const std::string& warning : amg_->warnings()) {
        PetscCall(PetscInfo(pc, "Tessera: %s\n", warning.c_str()));
    }
    PetscCall(PetscInfo(pc, "Tessera: %s of %d rows on this rank, %d levels, complexity %g\n",
                        amg_->describe().c_str(), int(amg_->rows()), int(amg_->levels().size()),
                        amg_->operator_complexity()));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AmgMethod::view_levels(PetscViewer viewer) {
    PetscFunctionBegin;
    const std::vector<AmgLevel> levels = amg_->levels();
    for (std::size_t l = 0; l < levels.size(); ++l) {
        const AmgLevel& level = levels[l];
        const std::vector<Offset> nodes = amg_->nodes_of_ranks(int(l));
        std::string where = "all on every rank";
        if (!nodes.empty()) {
            const auto [low, high] = std::ranges::minmax(nodes);
            where = std::to_string(low * level.block) + " to " +
                    std::to_string(high * level.block) + " rows on a rank";
        }
        PetscCall(PetscViewerASCIIPrintf(
            viewer, "  level %d: %lld rows, %.1f blocks of %d a row, %s\n", int(l),
            (long long)(level.nodes) * level.block,
            double(level.blocks) / std::max<double>(1, level.nodes), level.block, where.c_str()));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AmgMethod::view(PC, PetscViewer viewer) {
    PetscFunctionBegin;
    if (!amg_) {
        PetscCall(PetscViewerASCIIPrintf(
            viewer, "  Tessera %s: not made, as the matrix is not positive definite\n", version()));
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCall(PetscViewerASCIIPrintf(viewer, "  Tessera %s: %s over all ranks on %s\n", version(),
                                     amg_->describe().c_str(), context->description().c_str()));
    PetscCall(PetscViewerASCIIPrintf(
        viewer, "  near-null vectors: %s; values in the cycle: %s; operator complexity %.3f\n",
        amg_->near_null().c_str(), amg_->stored_values().c_str(), amg_->operator_complexity()));
    PetscCall(PetscViewerASCIIPrintf(viewer, "  messages by %s\n", nccl_ ? "NCCL" : "MPI"));
    PetscCall(view_levels(viewer));
    PetscFunctionReturn(PETSC_SUCCESS);
}

}  // namespace

PetscErrorCode create_amg(PC pc) { return create(pc, std::make_unique<AmgMethod>()); }

}  // namespace tessera::petsc

#else

namespace tessera::petsc {

PetscErrorCode create_amg(PC pc) {
    SETERRQ(PetscObjectComm(PetscObject(pc)), PETSC_ERR_SUP,
            "tesseraamg needs a PETSc with MPI and scalars in double precision: use -pc_type "
            "tessera -pc_tessera_spec amg on one rank");
}

}  // namespace tessera::petsc

#endif
