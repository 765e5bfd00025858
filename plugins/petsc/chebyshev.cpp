// The PC type tesserachebyshev: a polynomial of the matrix over all ranks.

#include <cmath>
#include <numbers>

#include "device.hpp"
#include "distributed.hpp"
#include "pc.hpp"

namespace tessera::petsc {

namespace {

/// A number in (0, 1) for each (row, stream): the same on every number of ranks.
double uniform(std::uint64_t row, std::uint64_t stream) {
    // The finaliser of SplitMix64 on a Weyl sequence.
    std::uint64_t z = (2 * row + stream + 1) * 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    z ^= z >> 31;
    return (double(z >> 11) + 0.5) / 9007199254740992.;
}

/// Normal numbers (Box-Muller) for the rows from `first` on.
std::vector<Scalar> start_vector(PetscInt first, Index rows) {
    std::vector<Scalar> values(static_cast<std::size_t>(rows));
    for (std::size_t i = 0; i < values.size(); ++i) {
        const std::uint64_t row = std::uint64_t(first) + i;
        values[i] = Scalar(std::sqrt(-2 * std::log(uniform(row, 0))) *
                           std::cos(2 * std::numbers::pi * uniform(row, 1)));
    }
    return values;
}

/// x^T y over all ranks. Waits.
double dot_of_all(const Context& context, MPI_Comm comm, const Buffer<Scalar>& x,
                  const Buffer<Scalar>& y, Buffer<Scalar>& result) {
    dot<Scalar>(context, x.view(), y.view(), result.data());
    double mine = double(copy_to_host(context, result).front()), all = mine;
    if (MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, comm) != MPI_SUCCESS) {
        throw Failure{PETSC_ERR_MPI};
    }
    return all;
}

/// Lanczos steps of an operator over all ranks, without reorthogonalisation. Waits.
RitzValues lanczos_of_all(const Context& context, const DistributedOperator& a, int steps) {
    const Index rows = a.rows();
    Buffer<Scalar> v, before, w, number;
    throw_failure(guarded_on_all(a.comm(), [&]() -> PetscErrorCode {
        for (Buffer<Scalar>* vector : {&v, &before, &w}) *vector = Buffer<Scalar>(context, rows);
        number = Buffer<Scalar>(context, 1);
        copy_from_host(context, start_vector(a.first_row(), rows), w.view());
        return PETSC_SUCCESS;
    }));
    std::vector<double> diagonal, off_diagonal;
    double beta = std::sqrt(dot_of_all(context, a.comm(), w, w, number));
    for (int j = 0; j < steps && PetscInt(j) < a.all_rows() && beta > 0; ++j) {
        std::swap(before, v);
        axpby<Scalar>(context, Scalar(1 / beta), w.view(), Scalar(0), v.view());
        a.apply(context, std::as_const(v).view(), w.view());
        if (j > 0) axpby<Scalar>(context, Scalar(-beta), before.view(), Scalar(1), w.view());
        const double alpha = dot_of_all(context, a.comm(), v, w, number);
        axpby<Scalar>(context, Scalar(-alpha), v.view(), Scalar(1), w.view());
        beta = std::sqrt(dot_of_all(context, a.comm(), w, w, number));
        diagonal.push_back(alpha);
        off_diagonal.push_back(beta);
    }
    if (diagonal.empty()) return {1, 1, 1, 0};
    return ritz_values(diagonal, off_diagonal, Offset(a.all_rows()),
                       double(std::numeric_limits<Scalar>::epsilon()));
}

class ChebyshevMethod final : public Method {
  public:
    PetscErrorCode set_from_options(PC pc, OptionItems PetscOptionsObject) override;
    PetscErrorCode set_up(PC pc, bool fresh) override;
    void reset() override {
        polynomial_.reset();
        matrix_.reset();
    }
    PetscErrorCode view(PC pc, PetscViewer viewer) override;
    void set_coordinates(int, std::vector<double>) override {}
    const Operator<Scalar>* map() const override { return matrix_ ? &scaled_ : nullptr; }
    bool apply_transpose(PC pc, std::span<const Scalar> r, std::span<Scalar> z) override {
        if (!known_symmetric(pc)) return false;
        scaled_.apply(*context, r, z);
        return true;
    }

  private:
    /// z = S p(S A S) S r; NaN where the matrix is not positive definite, as PETSc may apply a PC
    /// that it knows to have failed.
    class Scaled final : public Operator<Scalar> {
      public:
        explicit Scaled(const ChebyshevMethod& method) : method_(method) {}
        Index rows() const override { return method_.matrix_->rows(); }
        Index columns() const override { return rows(); }
        void apply(const Context& where, std::span<const Scalar> r,
                   std::span<Scalar> z) const override {
            if (!method_.usable_) {
                fill(where, std::numeric_limits<Scalar>::quiet_NaN(), z);
                return;
            }
            const std::span<const Scalar> s = method_.matrix_->scaling();
            const std::span<Scalar> scaled = method_.work_.view();
            multiply_elementwise<Scalar>(where, s, r, scaled);
            method_.polynomial_->apply(where, scaled, z);
            multiply_elementwise<Scalar>(where, s, z, z);
        }
        bool can_be_captured() const override { return false; }

      private:
        const ChebyshevMethod& method_;
    };

    FormatOptions format(PC pc) const;
    PetscErrorCode find_ends();

    PetscInt degree_ = 6, lanczos_steps_ = 20;
    PetscReal ratio_ = 30, upper_ = 0;
    PolynomialKind kind_ = PolynomialKind::chebyshev;
    char format_[256] = "sbell";
    ValueFormat values_ = ValueFormat::working;
    double lower_end_ = 0, upper_end_ = 0;
    bool usable_ = false;  ///< Whether the ends are those of a positive definite matrix.

    std::unique_ptr<DistributedOperator> matrix_;
    std::unique_ptr<MatrixPolynomial<Scalar>> polynomial_;
    mutable Buffer<Scalar> work_;
    Scaled scaled_{*this};
};

PetscErrorCode ChebyshevMethod::set_from_options(PC, OptionItems PetscOptionsObject) {
    using enum PolynomialKind;
    constexpr PolynomialKind kinds[] = {chebyshev, chebyshev4, chebyshev4_optimal, least_squares,
                                        neumann};
    constexpr ValueFormat values[] = {ValueFormat::working, ValueFormat::f32, ValueFormat::f16,
                                      ValueFormat::bf16};

    PetscFunctionBegin;
    PetscOptionsHeadBegin(PetscOptionsObject, "Tessera polynomial options");
    PetscCall(PetscOptionsInt("-pc_tesserachebyshev_degree",
                              "Products with the matrix in one application, 1 to 16",
                              "PCSetFromOptions", degree_, &degree_, nullptr));
    PetscCall(
        choice_option(PetscOptionsObject, "-pc_tesserachebyshev_kind", "Polynomial", kinds, kind_));
    PetscCall(choice_option(PetscOptionsObject, "-pc_tesserachebyshev_values",
                            "Stored values of the matrix; f16 costs hardly any iterations", values,
                            values_));
    PetscCall(PetscOptionsString("-pc_tesserachebyshev_format",
                                 "Format of the matrix (sbell: blocks of the matrix's block size)",
                                 "PCSetFromOptions", format_, format_, sizeof format_, nullptr));
    PetscCall(PetscOptionsReal("-pc_tesserachebyshev_ratio",
                               "Upper end of the spectrum over the lower one (chebyshev, neumann)",
                               "PCSetFromOptions", ratio_, &ratio_, nullptr));
    PetscCall(PetscOptionsReal("-pc_tesserachebyshev_upper",
                               "Upper end of the spectrum of the scaled matrix; 0: by Lanczos",
                               "PCSetFromOptions", upper_, &upper_, nullptr));
    PetscCall(PetscOptionsInt("-pc_tesserachebyshev_lanczos_steps",
                              "Lanczos steps for the upper end, 1 to 1000", "PCSetFromOptions",
                              lanczos_steps_, &lanczos_steps_, nullptr));
    PetscCall(product_option(PetscOptionsObject, "-pc_tesserachebyshev_product", *this));
    PetscOptionsHeadEnd();
    PetscCheck(degree_ >= 1 && degree_ <= 16, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "-pc_tesserachebyshev_degree %" PetscInt_FMT ": give 1 to 16 products", degree_);
    PetscCheck(ratio_ > 1, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "-pc_tesserachebyshev_ratio %g: give a number above 1", double(ratio_));
    PetscCheck(upper_ >= 0, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "-pc_tesserachebyshev_upper %g: give a positive number, or 0", double(upper_));
    PetscCheck(lanczos_steps_ >= 1 && lanczos_steps_ <= 1000, PETSC_COMM_SELF,
               PETSC_ERR_ARG_OUTOFRANGE,
               "-pc_tesserachebyshev_lanczos_steps %" PetscInt_FMT ": give 1 to 1000 steps",
               lanczos_steps_);
    PetscCall(guarded([&]() -> PetscErrorCode {
        if (parse_format(Spec(format_)).format == MatrixFormat::csr) {
            throw InvalidArgument(
                "-pc_tesserachebyshev_format csr: name ell, sell, bell, bcsr or sbell");
        }
        return PETSC_SUCCESS;
    }));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/// The format of the options, with blocks of the size that the matrix names.
FormatOptions ChebyshevMethod::format(PC pc) const {
    FormatOptions options = parse_format(Spec(format_));
    if (values_ != ValueFormat::working) options.values = values_;
    const Index block = block_size(pc);
    const bool blocked = options.format == MatrixFormat::sbell ||
                         options.format == MatrixFormat::bell ||
                         options.format == MatrixFormat::bcsr;
    if (blocked && options.block == 0 && (block == 2 || block == 3 || block == 4 || block == 6)) {
        options.block = block;
    }
    return options;
}

/// The ends of the spectrum, and the polynomial. Collective.
PetscErrorCode ChebyshevMethod::find_ends() {
    PetscFunctionBegin;
    upper_end_ =
        upper_ > 0 ? double(upper_) : lanczos_of_all(*context, *matrix_, int(lanczos_steps_)).upper;
    lower_end_ = upper_end_ / double(ratio_);
    usable_ = std::isfinite(upper_end_) && upper_end_ > 0;
    if (!usable_) PetscFunctionReturn(PETSC_SUCCESS);
    const auto terms = polynomial_terms(kind_, int(degree_), lower_end_, upper_end_);
    if (polynomial_) {
        polynomial_->set_terms(terms);
    } else {
        polynomial_ = std::make_unique<MatrixPolynomial<Scalar>>(*matrix_, terms);
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ChebyshevMethod::set_up(PC pc, bool fresh) {
    bool positive = true;

    PetscFunctionBegin;
    usable_ = false;
    PetscCall(guarded([&]() -> PetscErrorCode {
        if (fresh) {
            reset();
            matrix_ = std::make_unique<DistributedOperator>();
            PetscCall(matrix_->set(pc->pmat, format(pc), positive));
            PetscCall(guarded_on_all(matrix_->comm(), [&]() -> PetscErrorCode {
                work_ = Buffer<Scalar>(*matrix_->context(), matrix_->rows());
                return PETSC_SUCCESS;
            }));
        } else {
            PetscCall(matrix_->update(pc->pmat, positive));
        }
        context = matrix_->context();
        if (positive) PetscCall(find_ends());
        return PETSC_SUCCESS;
    }));
    PetscCall(report_singular(pc, !positive  ? "a diagonal entry is not positive, so the matrix is "
                                               "not positive definite"
                                  : !usable_ ? "the spectrum of the scaled matrix is not finite"
                                             : ""));
    if (!usable_) PetscFunctionReturn(PETSC_SUCCESS);
    flops = 2. * PetscLogDouble(degree_) * PetscLogDouble(matrix_->nonzeros()) +
            (6. * PetscLogDouble(degree_) + 2.) * matrix_->rows();
    PetscCall(PetscInfo(pc, "Tessera: %s of degree %d on [%g, %g], %s, %g MB\n",
                        tessera::to_string(kind_), int(degree_), lower_end_, upper_end_,
                        tessera::to_string(matrix_->format()).c_str(),
                        1e-6 * double(matrix_->bytes())));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ChebyshevMethod::view(PC, PetscViewer viewer) {
    PetscFunctionBegin;
    PetscCall(PetscViewerASCIIPrintf(
        viewer, "  Tessera %s: %s of degree %" PetscInt_FMT " over all ranks on %s\n", version(),
        tessera::to_string(kind_), degree_, context->description().c_str()));
    if (!usable_) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(PetscViewerASCIIPrintf(viewer, "  spectrum of the scaled matrix: [%g, %g]\n",
                                     lower_end_, upper_end_));
    PetscCall(PetscViewerASCIIPrintf(viewer, "  matrix: %s\n",
                                     tessera::to_string(matrix_->format()).c_str()));
    PetscFunctionReturn(PETSC_SUCCESS);
}

}  // namespace

PetscErrorCode create_chebyshev(PC pc) { return create(pc, std::make_unique<ChebyshevMethod>()); }

}  // namespace tessera::petsc
