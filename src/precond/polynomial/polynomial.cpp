#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "base/dispatch.hpp"
#include "base/phases.hpp"
#include "precond/polynomial/scaling.hpp"
#include "tessera/polynomial.hpp"
#include "tessera/spectrum.hpp"
#include "tessera/vector_ops.hpp"

namespace tessera {

namespace {

/// What the upper end is multiplied by when it was too low.
constexpr double mending = 1.25;

/// A matrix, with the values a_ij (s_i s_j) where there is a scaling.
template <class S>
struct Source {
    CsrView<S> matrix;
    std::span<const S> scaling;
};

template <class C, class S>
std::unique_ptr<Operator<C>> operator_of(const Context& context, const Source<S>& from,
                                         const FormatOptions& format) {
    if constexpr (std::is_same_v<C, S>) {
        if (from.scaling.empty()) return make_operator<C>(context, from.matrix, format);
    }
    return std::make_unique<SlicedOperator<C>>(
        SlicedMatrix<C>::from_csr(context, from.matrix, format, from.scaling));
}

/// The polynomial of a matrix in the type that it is applied in. With csr the source must stay.
template <class C>
class Inner {
  public:
    template <class S>
    Inner(const Context& context, const Source<S>& from, const FormatOptions& format)
        : operator_(operator_of<C>(context, from, format)),
          polynomial_(context, *operator_, std::vector<PolynomialTerm>(2)) {}

    /// Takes the values that the matrix has now.
    template <class S>
    void refresh(const Context& context, const Source<S>& from) {
        auto* sliced = dynamic_cast<SlicedOperator<C>*>(operator_.get());
        if (sliced != nullptr) sliced->matrix().update(context, from.matrix, from.scaling);
    }

    /// Sets the ends and the terms; waits.
    template <class S>
    void prepare(const Context& context, const Source<S>& from, const PolynomialOptions& options,
                 PolynomialReport& report) {
        const Phase phase(context, "bounds", 0);
        most_ = gershgorin_bound(context, from.matrix, from.scaling);
        std::optional<RitzValues> ritz;
        if (options.upper == UpperEnd::lanczos || reads_ritz(options)) {
            ritz = lanczos<C>(context, *operator_, options.lanczos_steps, 1, polynomial_.work());
        }
        double upper = options.upper_value;
        if (options.upper == UpperEnd::gershgorin) upper = most_;
        if (options.upper == UpperEnd::lanczos) upper = std::min(ritz->upper, most_);
        smallest_ritz_ = ritz ? ritz->smallest : 0;
        set_upper(options, upper, report);
    }

    /// A larger upper end, where that may help.
    bool mend(const PolynomialOptions& options, PolynomialReport& report) {
        if (!(report.upper < most_)) return false;
        set_upper(options, std::min(mending * report.upper, most_), report);
        ++report.mends;
        return true;
    }

    const MatrixPolynomial<C>& polynomial() const { return polynomial_; }

  private:
    static bool reads_ritz(const PolynomialOptions& options) {
        return options.uses_lower && options.lower == LowerEnd::ritz;
    }

    void set_upper(const PolynomialOptions& options, double upper, PolynomialReport& report) {
        if (operator_->rows() == 0) upper = 1;
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

    double most_ = 0;  ///< Gershgorin's bound.
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
        : options(given), rows(matrix.rows), nonzeros(matrix.nonzeros) {
        options.uses_lower = options.uses_lower || options.kind == PolynomialKind::chebyshev;
        check(options);
        if (options.format.values != ValueFormat::working &&
            options.format.format == MatrixFormat::csr) {
            options.format.format = MatrixFormat::sbell;
        }
        require(matrix.rows == matrix.columns, "polynomial: the matrix must be square");
        single = options.single_precision && std::is_same_v<T, double>;
        const bool sliced = options.format.format != MatrixFormat::csr;
        if (options.scaling == PolynomialScaling::jacobi) {
            scaling.emplace(where, matrix, !sliced);
        } else if (options.scaling == PolynomialScaling::block_jacobi) {
            scaling.emplace(where, matrix,
                            find_blocks(where, matrix, options.block_bound, Blocking::natural));
        } else if (!sliced && !single) {
            own = copy_of(where, matrix);
        }
        const Source<T> from = source(matrix);
        if (!single) {
            inner = std::make_unique<Inner<T>>(where, from, options.format);
        } else {
            square = Buffer<T>(where, 1);
            narrow_in = Buffer<float>(where, rows);
            if (sliced) {
                inner_single = std::make_unique<Inner<float>>(where, from, options.format);
            } else {
                rounded = CsrMatrix<float>(where, rows, rows, matrix.nonzeros);
                copy(where, matrix.row_offsets_span(), rounded.row_offsets().view());
                copy(where, matrix.column_indices_span(), rounded.column_indices().view());
                round(where, from.matrix);
                inner_single = std::make_unique<Inner<float>>(
                    where, Source<float>{rounded.view(), {}}, options.format);
            }
        }
        const bool blocks = options.scaling == PolynomialScaling::block_jacobi;
        if (scaling && (blocks || !single)) scaled = Buffer<T>(where, rows);
        if (blocks) result = Buffer<T>(where, rows);
        prepare(where, from);
    }

    /// What the polynomial is one of. A sliced format is made from the matrix that is given, csr
    /// from a copy, which it keeps.
    Source<T> source(const CsrView<T>& matrix) const {
        if (options.scaling == PolynomialScaling::block_jacobi) return {scaling->matrix(), {}};
        if (options.format.format != MatrixFormat::csr) return {matrix, point_scaling()};
        return {scaling ? scaling->matrix() : single ? matrix : own.view(), {}};
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

    void prepare(const Context& where, const Source<T>& from) {
        report.degree = options.degree;
        if (scaling) {
            report.not_positive = scaling->not_positive();
            report.first_not_positive = scaling->first_not_positive();
        }
        if (single) {
            inner_single->prepare(where, from, options, report);
        } else {
            inner->prepare(where, from, options, report);
        }
    }

    void update(const Context& where, const CsrView<T>& matrix) {
        require(matrix.nonzeros == nonzeros,
                "polynomial: update needs a matrix of the pattern that it was set up with");
        if (scaling) {
            scaling->update(where, matrix);
        } else if (own.rows() > 0) {
            copy(where, matrix.values_span(), own.values().view());
        }
        const Source<T> from = source(matrix);
        if (!single) {
            inner->refresh(where, from);
        } else if (rounded.rows() > 0) {
            round(where, from.matrix);
        } else {
            inner_single->refresh(where, from);
        }
        prepare(where, from);
    }

    /// x = S r in the type of the polynomial, where r itself will not do.
    std::span<const T> scale(const Context& where, std::span<const T> r) {
        if (!scaling) return r;
        scaling->apply(where, r, scaled.view());
        return std::as_const(scaled).view();
    }
    std::span<const float> scale_and_round(const Context& where, std::span<const T> r) {
        if constexpr (std::is_same_v<T, double>) {
            std::span<const T> diagonal = point_scaling(), x = r;
            if (diagonal.empty()) {
                x = scale(where, r);
                dot<T>(where, x, x, square.data());
            } else {
                scaled_square<T>(where, diagonal, r, square.data());
            }
            narrow<T, float>(where, diagonal, x, square.data(), narrow_in.view());
        }
        return std::as_const(narrow_in).view();
    }
    std::span<const T> point_scaling() const {
        return scaling ? scaling->diagonal() : std::span<const T>();
    }

    /// `rz` may be null.
    void apply(const Context& where, std::span<const T> r, std::span<T> z, T* rz) {
        const bool blocks = options.scaling == PolynomialScaling::block_jacobi;
        const std::span<T> to = blocks ? result.view() : z;
        if constexpr (std::is_same_v<T, double>) {
            const ScaledResult bring{to, point_scaling(), single ? square.data() : nullptr, r,
                                     blocks ? nullptr : rz};
            if (single) {
                inner_single->polynomial().apply_scaled(where, scale_and_round(where, r), bring);
            } else {
                inner->polynomial().apply_scaled(where, scale(where, r), bring);
            }
            if (!blocks) return;
        } else {
            inner->polynomial().apply(where, scale(where, r), to);
        }
        if (scaling) scaling->apply_transposed(where, to, z);
        if (rz != nullptr) dot<T>(where, r, std::span<const T>(z), rz);
    }

    PolynomialOptions options;
    Index rows;
    Offset nonzeros;
    bool single = false;
    std::optional<SymmetricScaling<T>> scaling;
    CsrMatrix<T> own;
    CsrMatrix<float> rounded;
    std::unique_ptr<Inner<T>> inner;
    std::unique_ptr<Inner<float>> inner_single;
    Buffer<T> scaled, result, square;
    Buffer<float> narrow_in;
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
    state_->apply(context, r, z, nullptr);
}

template <class T>
void PolynomialPreconditioner<T>::apply_dot(const Context& context, std::span<const T> r,
                                            std::span<T> z, T* rz) const {
    require(r.size() == std::size_t(rows()) && z.size() == r.size(),
            "polynomial: r and z must have as many elements as the matrix has rows");
    state_->apply(context, r, z, rz);
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
bool PolynomialPreconditioner<T>::mend(const Context&) const {
    return state_->single ? state_->inner_single->mend(state_->options, state_->report)
                          : state_->inner->mend(state_->options, state_->report);
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
