#include "pc.hpp"

#include "device.hpp"
#include "product.hpp"

namespace tessera::petsc {

namespace {

using Mode = VectorAccess::Mode;

Method& method_of(PC pc) { return *static_cast<Method*>(pc->data); }

PetscErrorCode set_up(PC pc) {
    PetscFunctionBegin;
    Method& method = method_of(pc);
    const bool fresh = method.map() == nullptr || pc->flag != SAME_NONZERO_PATTERN;
    const PetscLogEvent event = fresh ? events.setup : events.update;
    PetscCall(PetscLogEventBegin(event, pc, 0, 0, 0));
    PetscCall(method.set_up(pc, fresh));
    if (method.product[0]) PetscCall(replace_local_products(pc->mat, method.product));
    PetscCall(PetscLogEventEnd(event, pc, 0, 0, 0));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode apply_any(PC pc, Vec x, Vec y, bool transpose) {
    PetscFunctionBegin;
    Method& method = method_of(pc);
    PetscCall(follow_stream(method.context));
    PetscCall(PetscLogEventBegin(events.apply, pc, x, y, 0));
    PetscCall(begin_device_time(*method.context));
    bool applied = true;
    PetscCall(guarded([&]() -> PetscErrorCode {
        method.run([&] {
            VectorAccess from(*method.context, x, Mode::read), to(*method.context, y, Mode::write);
            if (transpose) {
                applied = method.apply_transpose(pc, from.input(), to.output());
            } else {
                method.map()->apply(*method.context, from.input(), to.output());
            }
            from.restore();
            to.restore();
        });
        return PETSC_SUCCESS;
    }));
    PetscCheck(applied, PetscObjectComm(PetscObject(pc)), PETSC_ERR_SUP,
               "This preconditioner has a transpose for symmetric matrices only: tell PETSc that "
               "this one is, with MatSetOption(A, MAT_SYMMETRIC, PETSC_TRUE)");
    PetscCall(end_device_time(*method.context));
    PetscCall(log_flops(*method.context, method.flops));
    PetscCall(PetscLogEventEnd(events.apply, pc, x, y, 0));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode apply(PC pc, Vec x, Vec y) { return apply_any(pc, x, y, false); }

PetscErrorCode apply_transpose(PC pc, Vec x, Vec y) { return apply_any(pc, x, y, true); }

/// The columns of a dense matrix in the memory of the Context.
PetscErrorCode get_columns(const Context& context, Mat x, const Scalar** read, Scalar** write) {
    PetscMemType memory = PETSC_MEMTYPE_HOST;

    PetscFunctionBegin;
    if (!context.on_gpu()) {
        PetscCall(read ? MatDenseGetArrayRead(x, read) : MatDenseGetArrayWrite(x, write));
        PetscFunctionReturn(PETSC_SUCCESS);
    }
#if PETSC_VERSION_GE(3, 19, 0)
    PetscCall(read ? MatDenseGetArrayReadAndMemType(x, read, &memory)
                   : MatDenseGetArrayWriteAndMemType(x, write, &memory));
#endif
    PetscCheck(PetscMemTypeCUDA(memory), PETSC_COMM_SELF, PETSC_ERR_SUP,
               "Tessera: the matrix is on a GPU, and a block of vectors is in host memory: use a "
               "dense matrix of type densecuda");
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode restore_columns(const Context& context, Mat x, const Scalar** read, Scalar** write) {
    PetscFunctionBegin;
    if (!context.on_gpu()) {
        PetscCall(read ? MatDenseRestoreArrayRead(x, read) : MatDenseRestoreArrayWrite(x, write));
        PetscFunctionReturn(PETSC_SUCCESS);
    }
#if PETSC_VERSION_GE(3, 19, 0)
    PetscCall(read ? MatDenseRestoreArrayReadAndMemType(x, read)
                   : MatDenseRestoreArrayWriteAndMemType(x, write));
#endif
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode apply_matrix(PC pc, Mat x, Mat y) {
    PetscInt columns, rows, x_leading, y_leading;
    const Scalar* from;
    Scalar* to;

    PetscFunctionBegin;
    Method& method = method_of(pc);
    PetscCall(follow_stream(method.context));
    PetscCall(MatGetSize(x, nullptr, &columns));
    PetscCall(MatGetLocalSize(x, &rows, nullptr));
    PetscCall(MatDenseGetLDA(x, &x_leading));
    PetscCall(MatDenseGetLDA(y, &y_leading));
    PetscCall(get_columns(*method.context, x, &from, nullptr));
    PetscCall(get_columns(*method.context, y, nullptr, &to));
    PetscCall(PetscLogEventBegin(events.apply, pc, x, y, 0));
    PetscCall(begin_device_time(*method.context));
    PetscCall(guarded([&]() -> PetscErrorCode {
        method.run([&] {
            method.map()->apply_vectors(*method.context,
                                        Vectors<const Scalar>(from, rows, int(columns), x_leading),
                                        Vectors<Scalar>(to, rows, int(columns), y_leading));
        });
        return PETSC_SUCCESS;
    }));
    PetscCall(end_device_time(*method.context));
    PetscCall(log_flops(*method.context, method.flops * PetscLogDouble(columns)));
    PetscCall(PetscLogEventEnd(events.apply, pc, x, y, 0));
    PetscCall(restore_columns(*method.context, x, &from, nullptr));
    PetscCall(restore_columns(*method.context, y, nullptr, &to));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode set_from_options(PC pc, OptionItems items) {
    return method_of(pc).set_from_options(pc, items);
}

PetscErrorCode view(PC pc, PetscViewer viewer) {
    PetscBool ascii;

    PetscFunctionBegin;
    PetscCall(PetscObjectTypeCompare(PetscObject(viewer), PETSCVIEWERASCII, &ascii));
    if (!ascii || method_of(pc).map() == nullptr) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(method_of(pc).view(pc, viewer));
    if (method_of(pc).product[0]) {
        PetscCall(PetscViewerASCIIPrintf(viewer, "  products with the operator: %s\n",
                                         method_of(pc).product));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode set_coordinates(PC pc, PetscInt dimensions, PetscInt nodes, PetscReal* values) {
    PetscFunctionBegin;
    PetscCall(guarded([&]() -> PetscErrorCode {
        method_of(pc).set_coordinates(int(dimensions),
                                      std::vector<double>(values, values + nodes * dimensions));
        return PETSC_SUCCESS;
    }));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode reset(PC pc) {
    PetscFunctionBegin;
    method_of(pc).reset();
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode destroy(PC pc) {
    PetscFunctionBegin;
    PetscCall(PetscObjectComposeFunction(PetscObject(pc), "PCSetCoordinates_C", nullptr));
    delete static_cast<Method*>(pc->data);
    pc->data = nullptr;
    PetscFunctionReturn(PETSC_SUCCESS);
}

}  // namespace

PetscErrorCode create(PC pc, std::unique_ptr<Method> method) {
    PetscFunctionBegin;
    pc->data = method.release();
    pc->ops->setup = set_up;
    pc->ops->apply = apply;
    pc->ops->applytranspose = apply_transpose;
    pc->ops->matapply = apply_matrix;
    pc->ops->setfromoptions = set_from_options;
    pc->ops->view = view;
    pc->ops->reset = reset;
    pc->ops->destroy = destroy;
    PetscCall(PetscObjectComposeFunction(PetscObject(pc), "PCSetCoordinates_C", set_coordinates));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode near_null_space(PC pc, Index rows, NearNullSpace& space) {
    MatNullSpace given;
    PetscBool constant;
    PetscInt count;
    const Vec* vectors;

    PetscFunctionBegin;
    space = {};
    PetscCall(MatGetNearNullSpace(pc->pmat, &given));
    if (!given) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(MatNullSpaceGetVecs(given, &constant, &count, &vectors));
    const std::size_t columns = std::size_t(count) + (constant ? 1 : 0);
    if (columns == 0) PetscFunctionReturn(PETSC_SUCCESS);
    space.columns = int(columns);
    space.values.assign(std::size_t(rows) * columns, 1.);
    for (std::size_t c = 0; c < std::size_t(count); ++c) {
        const Scalar* values;
        PetscCall(VecGetArrayRead(vectors[c], &values));
        for (std::size_t i = 0; i < std::size_t(rows); ++i) {
            space.values[i * columns + c] = values[i];
        }
        PetscCall(VecRestoreArrayRead(vectors[c], &values));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode product_option(OptionItems PetscOptionsObject, const char* name, Method& method) {
    PetscFunctionBegin;
    PetscCall(PetscOptionsString(name,
                                 "Format of Tessera for products with the operator (sbell); none: "
                                 "PETSc multiplies",
                                 "PCSetFromOptions", method.product, method.product,
                                 sizeof method.product, nullptr));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode report_singular(PC pc, const std::string& reason) {
    PetscFunctionBegin;
    if (!reason.empty()) PetscCall(PetscInfo(pc, "Tessera: %s\n", reason.c_str()));
    if (pc->erroriffailure) {
        PetscCall(agree(PetscObjectComm(PetscObject(pc)),
                        {reason.empty() ? PETSC_SUCCESS : PETSC_ERR_MAT_LU_ZRPVT, reason}));
    }
    PetscCall(PCSetFailedReason(pc, reason.empty() ? PC_NOERROR : PC_FACTOR_NUMERIC_ZEROPIVOT));
    PetscFunctionReturn(PETSC_SUCCESS);
}

bool known_symmetric(PC pc) {
    PetscBool known = PETSC_FALSE, symmetric = PETSC_FALSE;
    throw_failure(MatIsSymmetricKnown(pc->pmat, &known, &symmetric));
    return known && symmetric;
}

Index block_size(PC pc) {
    PetscInt block = 1;
    throw_failure(MatGetBlockSize(pc->pmat, &block));
    return block > 1 ? Index(block) : 1;
}

}  // namespace tessera::petsc
