#include "distributed.hpp"

#include <numeric>
#include <vector>

#include "device.hpp"

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

DistributedOperator::~DistributedOperator() { static_cast<void>(PetscSFDestroy(&exchange_)); }

PetscErrorCode DistributedOperator::set_up_exchange() {
    PetscLayout columns;

    PetscFunctionBegin;
    const std::vector<PetscInt>& ghosts = parts_.columns_of_others();
    PetscCall(PetscSFDestroy(&exchange_));
    PetscCall(PetscSFCreate(comm_, &exchange_));
    PetscCall(MatGetLayouts(parts_.matrix(), nullptr, &columns));
    PetscCall(PetscSFSetGraphLayout(exchange_, columns, PetscInt(ghosts.size()), nullptr,
                                    PETSC_OWN_POINTER, ghosts.data()));
    PetscCall(PetscSFSetFromOptions(exchange_));
    PetscCall(PetscSFSetUp(exchange_));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DistributedOperator::set(Mat matrix, const FormatOptions& format, bool& positive) {
    PetscInt rows;

    PetscFunctionBegin;
    format_ = format;
    comm_ = PetscObjectComm(PetscObject(matrix));
    PetscCall(parts_.read(matrix, true));
    PetscCall(MatGetSize(matrix, &all_rows_, nullptr));
    PetscCall(MatGetLocalSize(matrix, &rows, nullptr));
    PetscCall(MatGetOwnershipRange(matrix, &first_row_, nullptr));
    PetscCall(guarded_on_all(comm_, [&]() -> PetscErrorCode {
        rows_ = local_size(rows);
        const Offset ghosts = Offset(parts_.columns_of_others().size());
        scaling_ = Buffer<Scalar>(*context(), rows + ghosts);
        ghost_values_ = Buffer<Scalar>(*context(), ghosts);
        return PETSC_SUCCESS;
    }));
    PetscCall(set_up_exchange());
    PetscCall(scale_and_convert(positive));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DistributedOperator::update(Mat matrix, bool& positive) {
    PetscFunctionBegin;
    PetscCall(parts_.read(matrix, false));
    PetscCall(scale_and_convert(positive));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DistributedOperator::scale_and_convert(bool& positive) {
    PetscFunctionBegin;
    PetscCall(compute_scaling(positive));
    if (!positive) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(guarded_on_all(comm_, [&]() -> PetscErrorCode {
        convert();
        return PETSC_SUCCESS;
    }));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/// The scaling of this rank's rows, and of its ghosts. All that can fail on one rank alone comes
/// before the first message.
PetscErrorCode DistributedOperator::compute_scaling(bool& positive) {
    PetscFunctionBegin;
    int mine = 1, all = 1;
    PetscCall(guarded_on_all(comm_, [&]() -> PetscErrorCode {
        Vec diagonal;
        PetscReal least = 0;
        PetscCall(MatCreateVecs(parts_.own_block(), &diagonal, nullptr));
        PetscCall(MatGetDiagonal(parts_.own_block(), diagonal));
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
    const CsrView<Scalar> block = parts_.others()->view();
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
            Sliced::from_csr(where, parts_.own().view(), format_, scaling()));
    } else {
        inner_->update(where, parts_.own().view(), scaling());
    }
    if (parts_.others() == nullptr) return;
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
    const PetscMemType memory = parts_.own().memory();
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
