#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "base/dispatch.hpp"
#include "base/phases.hpp"
#include "tessera/polynomial.hpp"
#include "tessera/scaling.hpp"
#include "tessera/spectrum.hpp"
#include "tessera/vector_ops.hpp"

namespace tessera {

namespace {

/// What the upper end is multiplied by when it was too low.
constexpr double mending = 1.25;

/// The polynomial of a matrix in the type that it is applied in.
template <class C>
class Inner {
  public:
    Inner(const Context& context, const CsrView<C>& matrix, const FormatOptions& format)
        : matrix_(matrix),
          operator_(make_operator<C>(context, matrix, format)),
          polynomial_(context, *operator_, std::vector<PolynomialTerm>(2)) {}

    /// Takes the values that the matrix has now.
    void refresh(const Context& context) {
        auto* sliced = dynamic_cast<SlicedOperator<C>*>(operator_.get());
        if (sliced != nullptr) sliced->matrix().update(context, matrix_);
    }

    /// Sets the ends and the terms; waits.
    void prepare(const Context& context, const PolynomialOptions& options,
                 PolynomialReport& report) {
        const Phase phase(context, "bounds", 0);
        std::optional<RitzValues> ritz;
        if (options.upper == UpperEnd::lanczos || reads_ritz(options)) {
            ritz = lanczos<C>(context, *operator_, options.lanczos_steps, 1, polynomial_.work());
        }
        double upper = options.upper_value;
        if (options.upper == UpperEnd::gershgorin) upper = gershgorin_bound(context, matrix_);
        if (options.upper == UpperEnd::lanczos) {
            upper = std::min(ritz->upper, gershgorin_bound(context, matrix_));
        }
        smallest_ritz_ = ritz ? ritz->smallest : 0;
        set_upper(options, upper, report);
    }

    /// A larger upper end, where that may help.
    bool mend(const Context& context, const PolynomialOptions& options, PolynomialReport& report) {
        const double most = gershgorin_bound(context, matrix_);
        if (!(report.upper < most)) return false;
        set_upper(options, std::min(mending * report.upper, most), report);
        ++report.mends;
        return true;
    }

    const MatrixPolynomial<C>& polynomial() const { return polynomial_; }

  private:
    static bool reads_ritz(const PolynomialOptions& options) {
        return options.uses_lower && options.lower == LowerEnd::ritz;
    }

    void set_upper(const PolynomialOptions& options, double upper, PolynomialReport& report) {
        if (matrix_.rows == 0) upper = 1;
        // A matrix that is not finite shows in the result.
        if (std::isinf(upper)) upper = std::numeric_limits<double>::quiet_NaN();
        report.upper = upper;
        report.lower = 0;
        if (options.uses_lower) {
            report.lower = options.lower == LowerEnd::ratio  ? upper / options.lower_value
                           : options.lower == LowerEnd::ritz ? smallest_ritz_
                                                             : options.lower_value;
            // A Ritz value may be the largest eigenvalue, too, or 0.
            if (options.lower == LowerEnd::ritz) {
                report.lower = std::clamp(report.lower, 1e-8 * upper, (1 - 1e-3) * upper);
            }
        }
        polynomial_.set_terms(polynomial_terms(options.kind, options.degree, report.lower, upper,
                                               options.alpha, options.beta));
    }

    CsrView<C> matrix_;
    std::unique_ptr<Operator<C>> operator_;
    MatrixPolynomial<C> polynomial_;
    double smallest_ritz_ = 0;
};

void check(const PolynomialOptions& options) {
    // Throws for the degree and the weights.
    polynomial_terms(options.kind, options.degree, 0.5, 1, options.alpha, options.beta);
    require(options.upper != UpperEnd::given ||
                (options.upper_value > 0 && std::isfinite(options.upper_value)),
            "polynomial: the upper end (bound) must be positive and finite");
    require(options.lanczos_steps >= 1 && options.lanczos_steps <= 1000,
            "polynomial: Lanczos takes 1..1000 steps");
    if (!options.uses_lower) return;
    require(options.lower != LowerEnd::ratio ||
                (options.lower_value > 1 && std::isfinite(options.lower_value)),
            "polynomial: the ratio of the ends (lower=ratio:R) must be above 1");
    require(options.lower != LowerEnd::given || options.lower_value > 0,
            "polynomial: the lower end (lower) must be positive");
    require(options.lower != LowerEnd::given || options.upper != UpperEnd::given ||
                options.lower_value < options.upper_value,
            "polynomial: the lower end must be below the upper one");
}

}  // namespace

template <class T>
struct PolynomialPreconditioner<T>::State {
    State(const Context& where, const CsrView<T>& matrix, const PolynomialOptions& given)
        : options(given), rows(matrix.rows) {
        options.uses_lower = options.uses_lower || options.kind == PolynomialKind::chebyshev;
        check(options);
        if (options.format.values != ValueFormat::working &&
            options.format.format == MatrixFormat::csr) {
            options.format.format = MatrixFormat::sbell;
        }
        require(matrix.rows == matrix.columns, "polynomial: the matrix must be square");
        if (options.scaling == PolynomialScaling::jacobi) {
            scaling.emplace(where, matrix);
        } else if (options.scaling == PolynomialScaling::block_jacobi) {
            scaling.emplace(where, matrix,
                            find_blocks(where, matrix, options.block_bound, Blocking::natural));
        }
        single = options.single_precision && std::is_same_v<T, double>;
        if (single) {
            const CsrView<T> from = scaling ? scaling->matrix() : matrix;
            rounded = CsrMatrix<float>(where, from.rows, from.columns, from.nonzeros);
            copy(where, from.row_offsets_span(), rounded.row_offsets().view());
            copy(where, from.column_indices_span(), rounded.column_indices().view());
            square = Buffer<T>(where, 1);
            round(where, from);
            inner_single = std::make_unique<Inner<float>>(where, rounded.view(), options.format);
            narrow_in = Buffer<float>(where, rows);
            narrow_out = Buffer<float>(where, rows);
        } else {
            if (!scaling) own = copy_of(where, matrix);
            inner = std::make_unique<Inner<T>>(where, scaling ? scaling->matrix() : own.view(),
                                               options.format);
        }
        scaled = Buffer<T>(where, rows);
        if (options.scaling == PolynomialScaling::block_jacobi) result = Buffer<T>(where, rows);
        prepare(where);
    }

    void round(const Context& where, const CsrView<T>& from) {
        if constexpr (std::is_same_v<T, double>) {
            convert<double, float>(where, from.values_span(), rounded.values().view());
        }
    }

    static CsrMatrix<T> copy_of(const Context& where, const CsrView<T>& from) {
        CsrMatrix<T> to(where, from.rows, from.columns, from.nonzeros);
        copy(where, from.row_offsets_span(), to.row_offsets().view());
        copy(where, from.column_indices_span(), to.column_indices().view());
        copy(where, from.values_span(), to.values().view());
        return to;
    }

    void prepare(const Context& where) {
        report.degree = options.degree;
        if (scaling) {
            report.not_positive = scaling->not_positive();
            report.first_not_positive = scaling->first_not_positive();
        }
        if (single) {
            inner_single->prepare(where, options, report);
        } else {
            inner->prepare(where, options, report);
        }
    }

    void update(const Context& where, const CsrView<T>& matrix) {
        if (scaling) {
            scaling->update(where, matrix);
        } else if (!single) {
            require(matrix.nonzeros == own.nonzeros(),
                    "polynomial: update needs a matrix of the pattern that it was set up with");
            copy(where, matrix.values_span(), own.values().view());
        }
        if (single) {
            round(where, scaling ? scaling->matrix() : matrix);
            inner_single->refresh(where);
        } else {
            inner->refresh(where);
        }
        prepare(where);
    }

    void apply_single(const Context& where, std::span<const T> r, std::span<T> z) {
        if constexpr (std::is_same_v<T, double>) {
            const bool point = options.scaling == PolynomialScaling::jacobi;
            std::span<const T> x = r;
            if (options.scaling == PolynomialScaling::block_jacobi) {
                scaling->apply(where, r, scaled.view());
                x = scaled.view();
            }
            const std::span<const T> diagonal = point ? scaling->diagonal() : std::span<const T>();
            if (point) {
                multiply_elementwise<T>(where, diagonal, r, scaled.view());
                x = scaled.view();
            }
            dot<T>(where, x, x, square.data());
            narrow<T, float>(where, {}, x, square.data(), narrow_in.view());
            inner_single->polynomial().apply(where, std::as_const(narrow_in).view(),
                                             narrow_out.view());
            const bool blocks = !point && scaling.has_value();
            widen<float, T>(where, diagonal, std::as_const(narrow_out).view(), square.data(),
                            blocks ? result.view() : z);
            if (blocks) scaling->apply_transposed(where, std::as_const(result).view(), z);
        }
    }

    void apply(const Context& where, std::span<const T> r, std::span<T> z) {
        if (single) return apply_single(where, r, z);
        const MatrixPolynomial<T>& polynomial = inner->polynomial();
        if (!scaling) return polynomial.apply(where, r, z);
        const bool blocks = options.scaling == PolynomialScaling::block_jacobi;
        scaling->apply(where, r, scaled.view());
        polynomial.apply(where, std::as_const(scaled).view(), blocks ? result.view() : z);
        scaling->apply_transposed(where, blocks ? std::as_const(result).view() : z, z);
    }

    PolynomialOptions options;
    Index rows;
    bool single = false;
    std::optional<SymmetricScaling<T>> scaling;
    CsrMatrix<T> own;
    CsrMatrix<float> rounded;
    std::unique_ptr<Inner<T>> inner;
    std::unique_ptr<Inner<float>> inner_single;
    Buffer<T> scaled, result, square;
    Buffer<float> narrow_in, narrow_out;
    PolynomialReport report;
};

template <class T>
PolynomialPreconditioner<T>::PolynomialPreconditioner(const Context& context,
                                                      const CsrView<T>& matrix,
                                                      const PolynomialOptions& options)
    : state_(std::make_unique<State>(context, matrix, options)) {}

template <class T>
PolynomialPreconditioner<T>::~PolynomialPreconditioner() = default;

template <class T>
Index PolynomialPreconditioner<T>::rows() const {
    return state_->rows;
}

template <class T>
void PolynomialPreconditioner<T>::apply(const Context& context, std::span<const T> r,
                                        std::span<T> z) const {
    require(r.size() == std::size_t(rows()) && z.size() == r.size(),
            "polynomial: r and z must have as many elements as the matrix has rows");
    state_->apply(context, r, z);
}

template <class T>
void PolynomialPreconditioner<T>::update(const Context& context, const CsrView<T>& matrix) {
    require(matrix.rows == rows() && matrix.columns == rows(),
            "polynomial: update needs a matrix of the size that it was set up with");
    state_->update(context, matrix);
}

template <class T>
Index PolynomialPreconditioner<T>::singular_blocks() const {
    return state_->report.not_positive;
}

template <class T>
bool PolynomialPreconditioner<T>::mend(const Context& context) const {
    return state_->single ? state_->inner_single->mend(context, state_->options, state_->report)
                          : state_->inner->mend(context, state_->options, state_->report);
}

template <class T>
PolynomialReport PolynomialPreconditioner<T>::report() const {
    return state_->report;
}

template <class T>
const PolynomialOptions& PolynomialPreconditioner<T>::options() const {
    return state_->options;
}

template class PolynomialPreconditioner<float>;
template class PolynomialPreconditioner<double>;

}  // namespace tessera
