#include "product.hpp"

#include <memory>

#include "composed.hpp"
#include "device.hpp"
#include "local_matrix.hpp"

namespace tessera::petsc {

namespace {

constexpr const char* key = "tessera_product";

/// What replace_products keeps with a Mat.
struct Product {
    FormatOptions format;
    std::shared_ptr<LocalMatrix> matrix;
    std::unique_ptr<SlicedMatrix<Scalar>> sliced;
    PetscMemType memory = PETSC_MEMTYPE_HOST;
    PetscObjectState state = -1, pattern = -1;  ///< States of the Mat when its values were read.
};

/// The Product of a Mat; null where there is none.
PetscErrorCode find_product(Mat matrix, Product*& product) {
    PetscFunctionBegin;
    PetscCall(find_composed(PetscObject(matrix), key, product));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/// Converts the values, unless they are those of the last time.
PetscErrorCode refresh(Mat matrix, Product& product) {
    PetscObjectState state, pattern;

    PetscFunctionBegin;
    PetscCall(PetscObjectStateGet(PetscObject(matrix), &state));
    PetscCall(MatGetNonzeroState(matrix, &pattern));
    if (product.sliced && state == product.state && pattern == product.pattern) {
        PetscCall(follow_stream(product.matrix->context()));
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCall(PetscLogEventBegin(events.convert, matrix, 0, 0, 0));
    PetscCall(guarded([&]() -> PetscErrorCode {
        if (pattern != product.pattern) product.sliced.reset();
        PetscCall(LocalMatrix::read(matrix, !product.sliced, product.matrix));
        const Context& context = *product.matrix->context();
        if (product.sliced && product.memory == product.matrix->memory()) {
            product.sliced->update(context, product.matrix->view());
            return PETSC_SUCCESS;
        }
        product.memory = product.matrix->memory();
        product.sliced = std::make_unique<SlicedMatrix<Scalar>>(
            SlicedMatrix<Scalar>::from_csr(context, product.matrix->view(), product.format));
        const FormatStatistics& facts = product.sliced->statistics();
        PetscCall(PetscInfo(matrix, "Tessera multiplies: %s, %g stored values an entry, %g MB\n",
                            to_string(product.sliced->options()).c_str(), facts.padding(),
                            1e-6 * double(facts.bytes)));
        return PETSC_SUCCESS;
    }));
    // Reading may have counted as a change.
    PetscCall(PetscObjectStateGet(PetscObject(matrix), &product.state));
    product.pattern = pattern;
    PetscCall(PetscLogEventEnd(events.convert, matrix, 0, 0, 0));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/// output = A x, or output += A x.
PetscErrorCode multiply_into(Product& product, Vec x, Vec output, bool add) {
    PetscFunctionBegin;
    const Context& context = *product.matrix->context();
    PetscCall(begin_device_time(context));
    PetscCall(guarded([&]() -> PetscErrorCode {
        using Mode = VectorAccess::Mode;
        VectorAccess from(context, x, Mode::read),
            to(context, output, add ? Mode::read_write : Mode::write);
        multiply<Scalar>(context, *product.sliced, 1, from.input(), add ? 1 : 0, to.output());
        from.restore();
        to.restore();
        return PETSC_SUCCESS;
    }));
    PetscCall(end_device_time(context));
    const PetscLogDouble rows = PetscLogDouble(product.sliced->rows());
    PetscCall(log_flops(
        context, 2. * PetscLogDouble(product.sliced->statistics().nonzeros) - (add ? 0 : rows)));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mult(Mat matrix, Vec x, Vec y) {
    Product* product;

    PetscFunctionBegin;
    PetscCall(find_product(matrix, product));
    if (!product) {  // PETSc copied the operations of another matrix, not what it had composed.
        PetscCall(replace_products(matrix, nullptr));
        PetscCall(find_product(matrix, product));
    }
    PetscCall(refresh(matrix, *product));
    PetscCall(PetscLogEventBegin(events.diagonal, matrix, x, y, 0));
    PetscCall(multiply_into(*product, x, y, false));
    PetscCall(PetscLogEventEnd(events.diagonal, matrix, x, y, 0));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mult_add(Mat matrix, Vec x, Vec y, Vec z) {
    Product* product;

    PetscFunctionBegin;
    PetscCall(find_product(matrix, product));
    if (!product) {
        PetscCall(replace_products(matrix, nullptr));
        PetscCall(find_product(matrix, product));
    }
    PetscCall(refresh(matrix, *product));
    if (y != z) PetscCall(VecCopy(y, z));
    PetscCall(PetscLogEventBegin(events.off_diagonal, matrix, x, y, z));
    PetscCall(multiply_into(*product, x, z, true));
    PetscCall(PetscLogEventEnd(events.off_diagonal, matrix, x, y, z));
    PetscFunctionReturn(PETSC_SUCCESS);
}

using Operation = void (*)(void);

}  // namespace

PetscErrorCode replace_products(Mat matrix, const char* format) {
    Product* product;
    char text[256] = "sbell";

    PetscFunctionBegin;
    PetscCall(find_product(matrix, product));
    if (!format) {
        if (product) PetscFunctionReturn(PETSC_SUCCESS);
        PetscCall(PetscOptionsGetString(nullptr, nullptr, "-mat_tessera_format", text, sizeof text,
                                        nullptr));
        format = text;
    }
    PetscCall(guarded([&]() -> PetscErrorCode {
        FormatOptions options = parse_format(Spec(format));
        if (options.format == MatrixFormat::csr) {
            throw InvalidArgument(
                "the format csr is that of PETSc's own products: leave the "
                "option out, or name ell, sell, bell, bcsr or sbell");
        }
        if (product) {
            if (to_string(product->format) != to_string(options)) product->sliced.reset();
            product->format = options;
            return PETSC_SUCCESS;
        }
        auto created = std::make_unique<Product>();
        created->format = options;
        PetscCall(compose(PetscObject(matrix), key, std::move(created)));
        return PETSC_SUCCESS;
    }));
    PetscCall(MatSetOperation(matrix, MATOP_MULT, Operation(mult)));
    PetscCall(MatSetOperation(matrix, MATOP_MULT_ADD, Operation(mult_add)));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode local_blocks(Mat matrix, LocalBlocks& blocks) {
    PetscBool aij, baij, sbaij, sequential;
    MatType type;
    PetscMPIInt size;

    PetscFunctionBegin;
    blocks = {};
    const PetscObject object = PetscObject(matrix);
    PetscCall(PetscObjectBaseTypeCompare(object, MATMPIAIJ, &aij));
    PetscCall(PetscObjectBaseTypeCompare(object, MATMPIBAIJ, &baij));
    PetscCall(PetscObjectBaseTypeCompare(object, MATMPISBAIJ, &sbaij));
    PetscCall(
        PetscObjectBaseTypeCompareAny(object, &sequential, MATSEQAIJ, MATSEQBAIJ, MATSEQSBAIJ, ""));
    if (aij) {
        PetscCall(
            MatMPIAIJGetSeqAIJ(matrix, &blocks.diagonal, &blocks.off_diagonal, &blocks.ghosts));
    } else if (baij) {
        PetscCall(
            MatMPIBAIJGetSeqBAIJ(matrix, &blocks.diagonal, &blocks.off_diagonal, &blocks.ghosts));
    } else if (sbaij) {
        PetscCall(MatGetDiagonalBlock(matrix, &blocks.diagonal));
    } else {
        PetscCallMPI(MPI_Comm_size(PetscObjectComm(object), &size));
        PetscCall(MatGetType(matrix, &type));
        PetscCheck(sequential && size == 1, PetscObjectComm(object), PETSC_ERR_SUP,
                   "Tessera takes matrices of the types aij, baij and sbaij, and this one is %s: "
                   "convert it with MatConvert(A, MATAIJ, ...)",
                   type);
        blocks.diagonal = matrix;
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode replace_local_products(Mat matrix, const char* format) {
    LocalBlocks blocks;

    PetscFunctionBegin;
    PetscCall(local_blocks(matrix, blocks));
    PetscCall(guarded_on_all(PetscObjectComm(PetscObject(matrix)), [&]() -> PetscErrorCode {
        for (const Mat block : {blocks.diagonal, blocks.off_diagonal}) {
            Product* product;
            if (!block) continue;
            PetscCall(replace_products(block, format));
            PetscCall(find_product(block, product));
            PetscCall(refresh(block, *product));
        }
        return PETSC_SUCCESS;
    }));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode use_own_products(Mat matrix, MatType, MatReuse reuse, Mat* result) {
    PetscFunctionBegin;
    if (reuse == MAT_INITIAL_MATRIX) PetscCall(MatDuplicate(matrix, MAT_COPY_VALUES, result));
    PetscCall(replace_products(*result, nullptr));
    PetscFunctionReturn(PETSC_SUCCESS);
}

}  // namespace tessera::petsc
