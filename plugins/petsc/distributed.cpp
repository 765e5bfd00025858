#include "distributed.hpp"

#include <numeric>
#include <vector>

#include "device.hpp"
#include "product.hpp"

namespace tessera::petsc {

namespace {

/// diag(values) in CSR.
CsrMatrix<Scalar> diagonal_matrix(const Context& context, std::span<const Scalar> values) {
    const Index rows = Index(values.size());
    CsrMatrix<Scalar> matrix(context, rows, rows, rows);
    std::vector<Offset> offsets(values.size() + 1);
    std::vector<Index> columns(values.size());
    std::iota(offsets.begin(), offsets.end(), Offset(0));
    std::iota(columns.begin(), columns.end(), Index(0));
    copy_from_host(context, offsets, matrix.row_offsets().view());
    copy_from_host(context, columns, matrix.column_indices().view());
    copy(context, values, matrix.values().view());
    return matrix;
}

}  // namespace

DistributedOperator::~DistributedOperator() {
    static_cast<void>(MatDestroy(&converted_));
    static_cast<void>(PetscSFDestroy(&exchange_));
}

/// The matrix itself, or for SBAIJ of several ranks, whose upper triangle alone is stored, one in
/// AIJ.
PetscErrorCode DistributedOperator::use_aij(Mat matrix, Mat& usable) {
    PetscBool symmetric_half;

    PetscFunctionBegin;
    usable = matrix;
    PetscCall(PetscObjectBaseTypeCompare(PetscObject(matrix), MATMPISBAIJ, &symmetric_half));
    if (!symmetric_half) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(MatDestroy(&converted_));
    PetscCall(MatConvert(matrix, MATMPIAIJ, MAT_INITIAL_MATRIX, &converted_));
    usable = converted_;
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DistributedOperator::set_up_exchange(Mat matrix, const PetscInt* ghosts,
                                                    PetscInt count, PetscInt block) {
    PetscLayout columns;

    PetscFunctionBegin;
    ghosts_ = count * block;
    std::vector<PetscInt> all(std::size_t(ghosts_) + 1);
    for (PetscInt k = 0; k < ghosts_; ++k) {
        all[std::size_t(k)] = ghosts[k / block] * block + k % block;
    }
    PetscCall(PetscSFDestroy(&exchange_));
    PetscCall(PetscSFCreate(comm_, &exchange_));
    PetscCall(MatGetLayouts(matrix, nullptr, &columns));
    PetscCall(
        PetscSFSetGraphLayout(exchange_, columns, ghosts_, nullptr, PETSC_OWN_POINTER, all.data()));
    PetscCall(PetscSFSetFromOptions(exchange_));
    PetscCall(PetscSFSetUp(exchange_));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DistributedOperator::set(Mat matrix, const FormatOptions& format, bool& positive) {
    LocalBlocks blocks;
    PetscInt rows, columns, ghosts = 0, block = 1;
    PetscBool in_blocks;

    PetscFunctionBegin;
    format_ = format;
    comm_ = PetscObjectComm(PetscObject(matrix));
    PetscCall(use_aij(matrix, matrix));
    PetscCall(local_blocks(matrix, blocks));
    PetscCall(MatGetSize(matrix, &all_rows_, nullptr));
    PetscCall(MatGetLocalSize(matrix, &rows, &columns));
    int differ = rows != columns, any = differ;
    PetscCallMPI(MPI_Allreduce(&differ, &any, 1, MPI_INT, MPI_MAX, comm_));
    PetscCheck(!any, comm_, PETSC_ERR_ARG_SIZ,
               "tesserachebyshev takes square matrices whose columns are distributed as the rows");
    PetscCall(MatGetOwnershipRange(matrix, &first_row_, nullptr));
    if (blocks.off_diagonal) {
        PetscCall(PetscObjectBaseTypeCompare(PetscObject(matrix), MATMPIBAIJ, &in_blocks));
        if (in_blocks) PetscCall(MatGetBlockSize(matrix, &block));
        PetscCall(MatGetSize(blocks.off_diagonal, nullptr, &ghosts));
        ghosts /= block;
    }
    PetscCall(guarded_on_all(comm_, [&]() -> PetscErrorCode {
        rows_ = local_size(rows);
        PetscCall(LocalMatrix::read(blocks.diagonal, true, diagonal_));
        has_off_diagonal_ = blocks.off_diagonal != nullptr && ghosts > 0;
        if (has_off_diagonal_) {
            PetscCall(LocalMatrix::read(blocks.off_diagonal, true, off_diagonal_));
        }
        scaling_ = Buffer<Scalar>(*context(), rows + ghosts * block);
        ghost_values_ = Buffer<Scalar>(*context(), ghosts * block);
        return PETSC_SUCCESS;
    }));
    PetscCall(set_up_exchange(matrix, blocks.ghosts, ghosts, block));
    PetscCall(scale_and_convert(blocks.diagonal, positive));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DistributedOperator::update(Mat matrix, bool& positive) {
    LocalBlocks blocks;

    PetscFunctionBegin;
    PetscCall(use_aij(matrix, matrix));
    PetscCall(local_blocks(matrix, blocks));
    PetscCall(guarded_on_all(comm_, [&]() -> PetscErrorCode {
        PetscCall(LocalMatrix::read(blocks.diagonal, false, diagonal_));
        if (has_off_diagonal_) {
            PetscCall(LocalMatrix::read(blocks.off_diagonal, false, off_diagonal_));
        }
        return PETSC_SUCCESS;
    }));
    PetscCall(scale_and_convert(blocks.diagonal, positive));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DistributedOperator::scale_and_convert(Mat block, bool& positive) {
    PetscFunctionBegin;
    PetscCall(compute_scaling(block, positive));
    if (!positive) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(guarded_on_all(comm_, [&]() -> PetscErrorCode {
        convert();
        return PETSC_SUCCESS;
    }));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/// The scaling of this rank's rows, and of its ghosts. All that can fail on one rank alone comes
/// before the first message.
PetscErrorCode DistributedOperator::compute_scaling(Mat block, bool& positive) {
    PetscFunctionBegin;
    int mine = 1, all = 1;
    PetscCall(guarded_on_all(comm_, [&]() -> PetscErrorCode {
        Vec diagonal;
        PetscReal least = 0;
        PetscCall(MatCreateVecs(block, &diagonal, nullptr));
        PetscCall(MatGetDiagonal(block, diagonal));
        PetscCall(VecMin(diagonal, nullptr, &least));
        mine = rows_ == 0 || least > 0;
        PetscCall(VecSqrtAbs(diagonal));
        PetscCall(VecReciprocal(diagonal));
        VectorAccess values(*context(), diagonal, VectorAccess::Mode::read);
        copy(*context(), values.input(), scaling_.view().first(std::size_t(rows_)));
        values.restore();
        // The Vec must not be destroyed before its values are read.
        if (context()->on_gpu()) context()->synchronize();
        PetscCall(VecDestroy(&diagonal));
        return PETSC_SUCCESS;
    }));
    PetscCallMPI(MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, comm_));
    positive = all == 1;
    PetscCall(guarded([&]() -> PetscErrorCode {
        begin_exchange(scaling());
        end_exchange(scaling());
        copy(*context(), std::as_const(ghost_values_).view(),
             scaling_.view().subspan(std::size_t(rows_)));
        return PETSC_SUCCESS;
    }));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/// The off-diagonal block times the scaling of its rows and of its columns.
void DistributedOperator::scale_off_diagonal(bool fresh) {
    const Context& where = *context();
    const CsrView<Scalar> block = off_diagonal_->view();
    const std::span<const Scalar> of_ghosts =
        std::as_const(scaling_).view().subspan(std::size_t(rows_));
    if (fresh) {
        row_scaling_ = diagonal_matrix(where, scaling());
        ghost_scaling_ = diagonal_matrix(where, of_ghosts);
        half_scaled_ = multiply<Scalar>(where, row_scaling_.view(), block);
        scaled_ = multiply<Scalar>(where, half_scaled_.view(), ghost_scaling_.view());
        return;
    }
    copy(where, scaling(), row_scaling_.values().view());
    copy(where, of_ghosts, ghost_scaling_.values().view());
    update_product<Scalar>(where, row_scaling_.view(), block, half_scaled_);
    update_product<Scalar>(where, half_scaled_.view(), ghost_scaling_.view(), scaled_);
}

void DistributedOperator::convert() {
    const Context& where = *context();
    const bool fresh = inner_ == nullptr;
    using Sliced = SlicedMatrix<Scalar>;
    if (fresh) {
        inner_ = std::make_unique<Sliced>(
            Sliced::from_csr(where, diagonal_->view(), format_, scaling()));
    } else {
        inner_->update(where, diagonal_->view(), scaling());
    }
    if (!has_off_diagonal_) return;
    scale_off_diagonal(fresh);
    if (fresh) {
        FormatOptions outer = format_;
        outer.block = 0;  // Ghosts need not come in whole blocks.
        outer_ = std::make_unique<Sliced>(Sliced::from_csr(where, scaled_.view(), outer));
    } else {
        outer_->update(where, scaled_.view());
    }
}

void DistributedOperator::begin_exchange(std::span<const Scalar> x) const {
    const PetscMemType memory = diagonal_->memory();
    throw_failure(PetscSFBcastWithMemTypeBegin(exchange_, MPIU_SCALAR, memory, x.data(), memory,
                                               ghost_values_.data(), MPI_REPLACE));
}

void DistributedOperator::end_exchange(std::span<const Scalar> x) const {
    throw_failure(
        PetscSFBcastEnd(exchange_, MPIU_SCALAR, x.data(), ghost_values_.data(), MPI_REPLACE));
}

void DistributedOperator::apply(const Context& where, std::span<const Scalar> x,
                                std::span<Scalar> y) const {
    apply_step(where, {1, 0, 0, 0}, x, x, x, y, y);
}

void DistributedOperator::apply_step(const Context& where, const RecurrenceStep<Scalar>& step,
                                     std::span<const Scalar> x, std::span<const Scalar> y,
                                     std::span<const Scalar> r, std::span<Scalar> next,
                                     std::span<Scalar> work) const {
    begin_exchange(x);
    throw_failure(PetscLogEventBegin(events.diagonal, 0, 0, 0, 0));
    if (step.beta == 0 && step.gamma == 0 && step.delta == 0) {
        multiply<Scalar>(where, *inner_, step.alpha, x, 0, next);
    } else {
        inner_->apply_step(where, step, x, y, r, next, work);
    }
    throw_failure(PetscLogEventEnd(events.diagonal, 0, 0, 0, 0));
    end_exchange(x);
    if (outer_ == nullptr) return;
    throw_failure(PetscLogEventBegin(events.off_diagonal, 0, 0, 0, 0));
    multiply<Scalar>(where, *outer_, step.alpha, std::as_const(ghost_values_).view(), 1, next);
    throw_failure(PetscLogEventEnd(events.off_diagonal, 0, 0, 0, 0));
}

Offset DistributedOperator::bytes() const {
    return inner_->statistics().bytes + (outer_ ? outer_->statistics().bytes : 0);
}

Offset DistributedOperator::nonzeros() const {
    return inner_->statistics().nonzeros + (outer_ ? outer_->statistics().nonzeros : 0);
}

}  // namespace tessera::petsc
