// The PC types tessera, tesserabjacobi, tesserabildl and tesserailu: preconditioners of the
// diagonal block of a rank.

#include <algorithm>
#include <optional>

#include "device.hpp"
#include "local_matrix.hpp"
#include "pc.hpp"
#include "product.hpp"

namespace tessera::petsc {

namespace {

/// The format of products inside a preconditioner: blocks of the size of the matrix, where Tessera
/// has these.
FormatOptions inner_format(PC pc) {
    FormatOptions format;
    const Index block = block_size(pc);
    if (block == 2 || block == 3 || block == 4 || block == 6) format.block = block;
    return format;
}

class LocalMethod : public Method {
  public:
    PetscErrorCode set_up(PC pc, bool fresh) final {
        LocalBlocks blocks;
        std::string reason;

        PetscFunctionBegin;
        PetscCall(local_blocks(pc->pmat, blocks));
        PetscCall(guarded_on_all(PetscObjectComm(PetscObject(pc)), [&]() -> PetscErrorCode {
            fresh = fresh || !preconditioner_;
            try {
                PetscCall(make_or_update(pc, blocks.diagonal, fresh));
                if (preconditioner_->singular_blocks() > 0) {
                    reason = preconditioner_->report().unusable;
                }
            } catch (const NotPositiveDefinite& error) {
                reset();
                not_made_.emplace(matrix_->view().rows);
                reason = error.what();
            }
            context = matrix_->context();
            return PETSC_SUCCESS;
        }));
        PetscCall(report_singular(pc, reason));
        if (fresh && preconditioner_) {
            PetscCall(PetscInfo(pc, "Tessera: %s of %d rows\n", preconditioner_->describe().c_str(),
                                int(preconditioner_->rows())));
        }
        flops = jacobi() ? 2. * PetscLogDouble(jacobi()->blocks().entries) : 0;
        PetscFunctionReturn(PETSC_SUCCESS);
    }

    void reset() final {
        preconditioner_.reset();
        not_made_.reset();
    }

    const Operator<Scalar>* map() const final {
        if (not_made_) return &*not_made_;
        return preconditioner_.get();
    }

    bool apply_transpose(PC pc, std::span<const Scalar> r, std::span<Scalar> z) final {
        if (jacobi()) {
            jacobi()->apply_transposed(*context, r, z);
            return true;
        }
        if (const auto* ilu = dynamic_cast<const Ilu<Scalar>*>(preconditioner_.get())) {
            ilu->apply_transposed(*context, r, z);
            return true;
        }
        if (!always_symmetric() && !known_symmetric(pc)) return false;
        map()->apply(*context, r, z);
        return true;
    }

    void set_coordinates(int dimensions, std::vector<double> values) final {
        coordinates_.dimensions = dimensions;
        coordinates_.values = std::move(values);
    }

    PetscErrorCode view(PC pc, PetscViewer viewer) final {
        int mine = jacobi() ? int(jacobi()->blocks().largest) : 0, largest = mine;
        PetscInt blocks = jacobi() ? jacobi()->blocks().count : 0, all = blocks;

        PetscFunctionBegin;
        const MPI_Comm comm = PetscObjectComm(PetscObject(pc));
        PetscCallMPI(MPI_Allreduce(&mine, &largest, 1, MPI_INT, MPI_MAX, comm));
        PetscCallMPI(MPI_Allreduce(&blocks, &all, 1, MPIU_INT, MPI_SUM, comm));
        PetscCall(PetscViewerASCIIPrintf(viewer, "  Tessera %s: %s on %s\n", version(),
                                         preconditioner_ ? preconditioner_->describe().c_str()
                                                         : "not made, as the matrix is not "
                                                           "positive definite",
                                         context->description().c_str()));
        if (largest > 0) {
            PetscCall(PetscViewerASCIIPrintf(
                viewer, "  %" PetscInt_FMT " blocks, largest of %d rows\n", all, largest));
        }
        PetscFunctionReturn(PETSC_SUCCESS);
    }

  protected:
    /// The preconditioner of matrix_. May throw; not collective.
    virtual PetscErrorCode make(PC pc, std::unique_ptr<Preconditioner<Scalar>>& made) = 0;
    /// Whether M is symmetric for every matrix that it can be made of.
    virtual bool always_symmetric() const = 0;

    /// A preconditioner by its text, with what PETSc knows of the matrix: the size of its blocks,
    /// near-null vectors, coordinates.
    PetscErrorCode make_by_text(PC pc, std::string text,
                                std::unique_ptr<Preconditioner<Scalar>>& made) {
        NearNullSpace near_null;

        PetscFunctionBegin;
        const Index block = block_size(pc);
        const bool is_amg = Spec(text).name() == "amg";
        if (is_amg && block > 1 && text.find("block=") == std::string::npos) {
            text += ",block=" + std::to_string(block);
        }
        PetscCall(near_null_space(pc, matrix_->view().rows, near_null));
        made = parse_preconditioner(Spec(text))
                   ->make(*matrix_->context(), matrix_->view(),
                          {inner_format(pc), coordinates_, std::move(near_null)});
        PetscCheck(made, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
                   "Tessera: %s is no preconditioner: use -pc_type none", text.c_str());
        PetscFunctionReturn(PETSC_SUCCESS);
    }

    /// The blocks that the matrix names (MatSetVariableBlockSizes, MatSetBlockSize), else
    /// neighbouring rows of equal pattern, up to `bound` rows.
    PetscErrorCode blocks_of_matrix(PC pc, Index bound, BlockPartition& blocks) {
        PetscInt count = 0;
        const PetscInt* sizes = nullptr;

        PetscFunctionBegin;
        const Context& where = *matrix_->context();
        const CsrView<Scalar> view = matrix_->view();
        const Index block = block_size(pc);
        PetscCall(MatGetVariableBlockSizes(pc->pmat, &count, &sizes));
        if (count > 0) {
            std::vector<Index> starts{0};
            for (PetscInt b = 0; b < count; ++b) starts.push_back(starts.back() + Index(sizes[b]));
            blocks = blocks_from_offsets(where, view.rows, starts);
        } else if (block > 1 && block <= largest_block_bound) {
            blocks = uniform_partition(where, view.rows, block);
        } else {
            blocks = find_blocks(where, view, bound);
        }
        PetscFunctionReturn(PETSC_SUCCESS);
    }

    std::shared_ptr<LocalMatrix> matrix_;
    NodeCoordinates coordinates_;

  private:
    /// May throw; not collective.
    PetscErrorCode make_or_update(PC pc, Mat diagonal, bool& fresh) {
        PetscFunctionBegin;
        PetscCall(LocalMatrix::read(diagonal, fresh, matrix_));
        fresh = fresh || memory_ != matrix_->memory();
        memory_ = matrix_->memory();
        if (fresh) {
            reset();
            PetscCall(make(pc, preconditioner_));
        } else {
            preconditioner_->update(*matrix_->context(), matrix_->view());
        }
        PetscFunctionReturn(PETSC_SUCCESS);
    }

    const BlockJacobi<Scalar>* jacobi() const {
        return dynamic_cast<const BlockJacobi<Scalar>*>(preconditioner_.get());
    }

    std::unique_ptr<Preconditioner<Scalar>> preconditioner_;
    PetscMemType memory_ = PETSC_MEMTYPE_HOST;  ///< The memory of its matrix.
    std::optional<NotMade> not_made_;           ///< In place of it.
};

/// Any preconditioner of Tessera by its text.
class ByText final : public LocalMethod {
  public:
    PetscErrorCode set_from_options(PC, OptionItems PetscOptionsObject) override {
        PetscFunctionBegin;
        PetscOptionsHeadBegin(PetscOptionsObject, "Tessera options");
        PetscCall(PetscOptionsString("-pc_tessera_spec",
                                     "Preconditioner as Tessera names it (block_jacobi:24, amg, "
                                     "chebyshev:6); none: block Jacobi with the matrix's blocks",
                                     "PCSetFromOptions", text_, text_, sizeof text_, nullptr));
        PetscCall(product_option(PetscOptionsObject, "-pc_tessera_product", *this));
        PetscOptionsHeadEnd();
        // Names and options that do not exist are found here.
        PetscCall(guarded([&]() -> PetscErrorCode {
            if (text_[0]) parse_preconditioner(Spec(text_));
            return PETSC_SUCCESS;
        }));
        PetscFunctionReturn(PETSC_SUCCESS);
    }

  protected:
    PetscErrorCode make(PC pc, std::unique_ptr<Preconditioner<Scalar>>& made) override {
        BlockPartition blocks;

        PetscFunctionBegin;
        if (text_[0]) {
            PetscCall(make_by_text(pc, text_, made));
            PetscFunctionReturn(PETSC_SUCCESS);
        }
        PetscCall(blocks_of_matrix(pc, default_block_bound, blocks));
        made = std::make_unique<BlockJacobi<Scalar>>(*matrix_->context(), matrix_->view(),
                                                     std::move(blocks));
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    bool always_symmetric() const override {
        const std::string name = Spec(text_).name();
        return name == "jacobi" || name == "block_ldlt";
    }

  private:
    char text_[1024] = "";
};

/// How rows become blocks.
enum class Blocks { mat, supervariable, natural };
const char* to_string(Blocks blocks) {
    return blocks == Blocks::mat             ? "mat"
           : blocks == Blocks::supervariable ? "supervariable"
                                             : "natural";
}

class BlockJacobiMethod final : public LocalMethod {
  public:
    PetscErrorCode set_from_options(PC, OptionItems PetscOptionsObject) override {
        constexpr Blocks ways[] = {Blocks::mat, Blocks::supervariable, Blocks::natural};
        using enum BlockPrecision;
        constexpr BlockPrecision precisions[] = {working, adaptive, f64, f32, bf16, f16};
        constexpr SingularPolicy policies[] = {SingularPolicy::stop, SingularPolicy::identity,
                                               SingularPolicy::shift, SingularPolicy::generalised};

        PetscFunctionBegin;
        PetscOptionsHeadBegin(PetscOptionsObject, "Tessera block Jacobi options");
        PetscCall(choice_option(PetscOptionsObject, "-pc_tesserabjacobi_blocks",
                                "How rows become blocks (mat: MatSetVariableBlockSizes, "
                                "MatSetBlockSize, else supervariable)",
                                ways, blocks_));
        PetscCall(PetscOptionsInt("-pc_tesserabjacobi_bound",
                                  "Largest rows of a supervariable or natural block, 1 to 64",
                                  "PCSetFromOptions", bound_, &bound_, nullptr));
        PetscCall(choice_option(PetscOptionsObject, "-pc_tesserabjacobi_precision",
                                "Stored format of the inverses (adaptive: for each block the "
                                "smallest that its condition allows)",
                                precisions, options_.precision));
        PetscCall(choice_option(PetscOptionsObject, "-pc_tesserabjacobi_singular",
                                "What becomes of singular blocks (stop: the solve does not start)",
                                policies, options_.singular));
        PetscCall(product_option(PetscOptionsObject, "-pc_tesserabjacobi_product", *this));
        PetscOptionsHeadEnd();
        PetscCheck(bound_ >= 1 && bound_ <= largest_block_bound, PETSC_COMM_SELF,
                   PETSC_ERR_ARG_OUTOFRANGE,
                   "-pc_tesserabjacobi_bound %" PetscInt_FMT ": give 1 to %d rows", bound_,
                   int(largest_block_bound));
        PetscFunctionReturn(PETSC_SUCCESS);
    }

  protected:
    PetscErrorCode make(PC pc, std::unique_ptr<Preconditioner<Scalar>>& made) override {
        BlockPartition blocks;

        PetscFunctionBegin;
        const Context& where = *matrix_->context();
        if (blocks_ == Blocks::mat) {
            PetscCall(blocks_of_matrix(pc, Index(bound_), blocks));
        } else {
            blocks = find_blocks(
                where, matrix_->view(), Index(bound_),
                blocks_ == Blocks::natural ? Blocking::natural : Blocking::supervariable);
        }
        made = std::make_unique<BlockJacobi<Scalar>>(where, matrix_->view(), std::move(blocks),
                                                     options_);
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    bool always_symmetric() const override { return false; }

  private:
    Blocks blocks_ = Blocks::mat;
    PetscInt bound_ = default_block_bound;
    BlockJacobiOptions options_;
};

/// Block incomplete LDL^T.
class BlockLdltMethod final : public LocalMethod {
  public:
    PetscErrorCode set_from_options(PC, OptionItems PetscOptionsObject) override {
        constexpr BlockLdltStage methods[] = {BlockLdltStage::jacobi, BlockLdltStage::level};

        PetscFunctionBegin;
        PetscOptionsHeadBegin(PetscOptionsObject, "Tessera block incomplete LDL^T options");
        PetscCall(PetscOptionsInt("-pc_tesserabildl_block",
                                  "Rows of a block: 1, 4, 8, 16 or 32; 0: the block size of the "
                                  "matrix where it is one of these, else 8",
                                  "PCSetFromOptions", block_, &block_, nullptr));
        PetscCall(PetscOptionsInt("-pc_tesserabildl_fill", "Levels of block fill",
                                  "PCSetFromOptions", fill_, &fill_, nullptr));
        PetscCall(choice_option(PetscOptionsObject, "-pc_tesserabildl_method",
                                "jacobi: sweeps over all blocks at once; level: level by level",
                                methods, method_));
        PetscCall(PetscOptionsBool("-pc_tesserabildl_positive_definite",
                                   "Uses the absolute values of D, as MINRES requires",
                                   "PCSetFromOptions", positive_definite_, &positive_definite_,
                                   nullptr));
        PetscCall(PetscOptionsString("-pc_tesserabildl_options",
                                     "Further options of Tessera's block_ldlt (pivoting=rook)",
                                     "PCSetFromOptions", more_, more_, sizeof more_, nullptr));
        PetscCall(product_option(PetscOptionsObject, "-pc_tesserabildl_product", *this));
        PetscOptionsHeadEnd();
        PetscCall(guarded([&]() -> PetscErrorCode {
            parse_preconditioner(Spec(text(1)));
            return PETSC_SUCCESS;
        }));
        PetscFunctionReturn(PETSC_SUCCESS);
    }

  protected:
    PetscErrorCode make(PC pc, std::unique_ptr<Preconditioner<Scalar>>& made) override {
        return make_by_text(pc, text(block_size(pc)), made);
    }
    bool always_symmetric() const override { return true; }

  private:
    /// The text of the options for a matrix with blocks of so many rows.
    std::string text(Index size) const {
        constexpr Index sizes[] = {4, 8, 16, 32};
        const bool fits = std::ranges::find(sizes, size) != std::end(sizes);
        const Offset block = block_ != 0 ? Offset(block_) : fits ? size : 8;
        return "block_ldlt:" + std::to_string(block) + ",fill=" + std::to_string(fill_) +
               ",method=" + tessera::to_string(method_) +
               (positive_definite_ ? ",positive_definite" : "") + (more_[0] ? "," : "") + more_;
    }

    PetscInt block_ = 0, fill_ = 0;
    BlockLdltStage method_ = BlockLdltStage::jacobi;
    PetscBool positive_definite_ = PETSC_FALSE;
    char more_[512] = "";
};

/// Block incomplete LDU.
class IluMethod final : public LocalMethod {
  public:
    PetscErrorCode set_from_options(PC, OptionItems PetscOptionsObject) override {
        constexpr IluStage methods[] = {IluStage::level, IluStage::jacobi};

        PetscFunctionBegin;
        PetscOptionsHeadBegin(PetscOptionsObject, "Tessera block incomplete LDU options");
        PetscCall(PetscOptionsInt("-pc_tesserailu_block",
                                  "Rows of a block, 1 to 32; 0: natural blocks, or 4 to 8 rows",
                                  "PCSetFromOptions", block_, &block_, nullptr));
        PetscCall(PetscOptionsInt("-pc_tesserailu_fill", "Levels of block fill", "PCSetFromOptions",
                                  fill_, &fill_, nullptr));
        PetscCall(choice_option(PetscOptionsObject, "-pc_tesserailu_method",
                                "level: level by level; jacobi: sweeps over all blocks at once",
                                methods, method_));
        PetscCall(PetscOptionsString("-pc_tesserailu_options",
                                     "Further options of Tessera's ilu (matching=on)",
                                     "PCSetFromOptions", more_, more_, sizeof more_, nullptr));
        PetscCall(product_option(PetscOptionsObject, "-pc_tesserailu_product", *this));
        PetscOptionsHeadEnd();
        PetscCall(guarded([&]() -> PetscErrorCode {
            parse_preconditioner(Spec(text()));
            return PETSC_SUCCESS;
        }));
        PetscFunctionReturn(PETSC_SUCCESS);
    }

  protected:
    PetscErrorCode make(PC pc, std::unique_ptr<Preconditioner<Scalar>>& made) override {
        return make_by_text(pc, text(), made);
    }
    bool always_symmetric() const override { return false; }

  private:
    std::string text() const {
        return "ilu" + (block_ != 0 ? ":" + std::to_string(block_) : "") +
               ",fill=" + std::to_string(fill_) + ",method=" + tessera::to_string(method_) +
               (more_[0] ? "," : "") + more_;
    }

    PetscInt block_ = 0, fill_ = 0;
    IluStage method_ = IluStage::level;
    char more_[512] = "";
};

}  // namespace

PetscErrorCode create_local(PC pc) { return create(pc, std::make_unique<ByText>()); }
PetscErrorCode create_block_jacobi(PC pc) {
    return create(pc, std::make_unique<BlockJacobiMethod>());
}
PetscErrorCode create_block_ldlt(PC pc) { return create(pc, std::make_unique<BlockLdltMethod>()); }
PetscErrorCode create_ilu(PC pc) { return create(pc, std::make_unique<IluMethod>()); }

}  // namespace tessera::petsc
