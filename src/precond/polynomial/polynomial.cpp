#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <optional>

#include "base/checks.hpp"
#include "base/phases.hpp"
#include "base/scratch/scratch.hpp"
#include "precond/polynomial/config.hpp"
#include "precond/polynomial/scaling.hpp"
#include "tessera/polynomial.hpp"
#include "tessera/spectrum.hpp"
#include "tessera/vector_ops.hpp"

namespace tessera {

namespace {

/// Factor on the upper end when it was too low.
constexpr double recovery_factor = 1.25;

/// A matrix, with the values a_ij (s_i s_j) if there is a scaling.
template <class S>
struct ScaledMatrix {
    CsrView<S> matrix;
    std::span<const S> scaling;
};

/// The polynomial of a matrix in the type of its application. With csr the source must outlive it.
template <class C>
class TypedPolynomial {
  public:
    template <class S>
    TypedPolynomial(const Context& context, const ScaledMatrix<S>& from,
                    const FormatOptions& format)
        : operator_(make(context, from, format)),
          polynomial_(*operator_, std::vector<PolynomialTerm>(2)) {}

    /// Copies the current values of the matrix.
    template <class S>
    void refresh(const Context& context, const ScaledMatrix<S>& from) {
        if (sliced_ != nullptr) sliced_->update(context, from.matrix, from.scaling);
    }

    /// Computes the ends of the spectrum and the terms; waits.
    template <class S>
    void prepare(const Context& context, const ScaledMatrix<S>& from,
                 const PolynomialOptions& options, PolynomialReport& report) {
        const Phase phase(context, "bounds", 0, PhaseStep::setup);
        gershgorin_ = gershgorin_bound(context, from.matrix, from.scaling);
        RitzValues ritz;
        if (options.upper == UpperBound::lanczos ||
            (options.uses_lower && options.lower == LowerBound::ritz)) {
            ritz = lanczos<C>(context, *operator_, options.lanczos_steps);
        }
        smallest_ritz_ = ritz.smallest;
        set_upper(options,
                  options.upper == UpperBound::given        ? options.upper_value
                  : options.upper == UpperBound::gershgorin ? gershgorin_
                                                            : std::min(ritz.upper, gershgorin_),
                  report);
    }

    /// Raises the upper end, if it is below the Gershgorin bound.
    bool recover(const PolynomialOptions& options, PolynomialReport& report) {
        if (!(report.upper < gershgorin_)) return false;
        set_upper(options, std::min(recovery_factor * report.upper, gershgorin_), report);
        ++report.recoveries;
        return true;
    }

    void apply(const Context& context, Vectors<const C> r, Vectors<C> z) const {
        polynomial_.apply_vectors(context, r, z);
    }

  private:
    template <class S>
    std::unique_ptr<Operator<C>> make(const Context& context, const ScaledMatrix<S>& from,
                                      const FormatOptions& format) {
        if constexpr (std::is_same_v<C, S>) {
            if (format.format == MatrixFormat::csr) {
                return make_operator<C>(context, from.matrix, format);
            }
        }
        auto sliced = std::make_unique<SlicedMatrix<C>>(
            SlicedMatrix<C>::from_csr(context, from.matrix, format, from.scaling));
        sliced_ = sliced.get();
        return sliced;
    }

    void set_upper(const PolynomialOptions& options, double upper, PolynomialReport& report) {
        if (operator_->rows() == 0) upper = 1;
        // A matrix that is not finite leads to a result of NaN.
        if (std::isinf(upper)) upper = std::numeric_limits<double>::quiet_NaN();
        report.upper = upper;
        report.lower = 0;
        if (options.uses_lower) {
            // A Ritz value may also be the largest eigenvalue, or 0.
            report.lower = options.lower == LowerBound::ratio ? upper / options.lower_value
                           : options.lower == LowerBound::ritz
                               ? std::clamp(smallest_ritz_, 1e-8 * upper, (1 - 1e-3) * upper)
                               : options.lower_value;
        }
        polynomial_.set_terms(polynomial_terms(options.kind, options.degree, report.lower, upper,
                                               options.alpha, options.beta));
    }

    double gershgorin_ = 0;  ///< Gershgorin bound of the largest eigenvalue.
    double smallest_ritz_ = 0;
    SlicedMatrix<C>* sliced_ = nullptr;  ///< Null with csr.
    std::unique_ptr<Operator<C>> operator_;
    MatrixPolynomial<C> polynomial_;
};

}  // namespace

void check_options(const PolynomialOptions& options) {
    // Checks the degree and the weights.
    polynomial_terms(options.kind, options.degree, 0.5, 1, options.alpha, options.beta);
    require(options.upper != UpperBound::given ||
                (options.upper_value > 0 && std::isfinite(options.upper_value)),
            "polynomial: the upper end (bound) must be positive and finite");
    require(options.lanczos_steps >= 1 && options.lanczos_steps <= 1000,
            "polynomial: the number of Lanczos steps must be within 1..1000");
    if (!options.uses_lower) return;
    require(options.lower != LowerBound::ratio ||
                (options.lower_value > 1 && std::isfinite(options.lower_value)),
            "polynomial: the ratio of the ends (lower=ratio:R) must be above 1");
    require(options.lower != LowerBound::given || options.lower_value > 0,
            "polynomial: the lower end (lower) must be positive");
    require(options.lower != LowerBound::given || options.upper != UpperBound::given ||
                options.lower_value < options.upper_value,
            "polynomial: the lower end must be below the upper one");
}

template <class T>
struct PolynomialPreconditioner<T>::State {
    State(const Context& where, const CsrView<T>& matrix, const PolynomialOptions& given)
        : options(given), rows(matrix.rows), nonzeros(matrix.nonzeros) {
        options.uses_lower = options.uses_lower || options.kind == PolynomialKind::chebyshev;
        check_options(options);
        check_matrix("polynomial", matrix);
        check_memory(where, "polynomial", matrix);
        if (options.format.values != ValueFormat::working &&
            options.format.format == MatrixFormat::csr) {
            options.format.format = MatrixFormat::sbell;
        }
        check_square("polynomial", matrix.rows, matrix.columns);
        single = options.single_precision && std::is_same_v<T, double>;
        const bool csr = options.format.format == MatrixFormat::csr;
        if (options.is_scaled) {
            scaling.emplace(where, matrix, csr);
        } else if (csr && !single) {
            own = CsrMatrix<T>(where, rows, rows, nonzeros);
            copy(where, matrix.row_offsets_span(), own.row_offsets().view());
            copy(where, matrix.column_indices_span(), own.column_indices().view());
            copy(where, matrix.values_span(), own.values().view());
        }
        const ScaledMatrix<T> from = source(matrix);
        if constexpr (std::is_same_v<T, double>) {
            if (single && csr) rounded = rounded_to_float(where, from.matrix);
        }
        if (!single) {
            inner = std::make_unique<TypedPolynomial<T>>(where, from, options.format);
        } else if (csr) {
            const ScaledMatrix<float> single_source{std::as_const(rounded).view(), {}};
            inner_single =
                std::make_unique<TypedPolynomial<float>>(where, single_source, options.format);
        } else {
            inner_single = std::make_unique<TypedPolynomial<float>>(where, from, options.format);
        }
        reserve_work(where, 1);
        prepare(where, from);
    }

    /// The matrix of the polynomial. A sliced format is converted from the given matrix; csr refers
    /// to a copy that this State owns.
    ScaledMatrix<T> source(const CsrView<T>& matrix) const {
        if (options.format.format != MatrixFormat::csr) {
            return {matrix, scaling ? scaling->diagonal() : std::span<const T>()};
        }
        return {scaling ? scaling->matrix() : single ? matrix : own.view(), {}};
    }

    void prepare(const Context& where, const ScaledMatrix<T>& from) {
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
        const ScaledMatrix<T> from = source(matrix);
        if (!single) {
            inner->refresh(where, from);
        } else if (rounded.rows() > 0) {
            if constexpr (std::is_same_v<T, double>) {
                convert<T, float>(where, from.matrix.values_span(), rounded.values().view());
            }
        } else {
            inner_single->refresh(where, from);
        }
        prepare(where, from);
    }

    /// Reserves the work space of an application to some vectors, which then does not allocate.
    void reserve_work(const Context& where, int count) const {
        const Offset numbers = Offset(rows) * count, wide = numbers * Offset(sizeof(T)),
                     inner_size = single ? numbers * Offset(sizeof(float)) : wide,
                     narrow = single ? inner_size : 0;
        reserve_scratch(where, {scaling ? wide : 0, single ? count * Offset(sizeof(T)) : 0, narrow,
                                narrow, inner_size, inner_size, inner_size});
    }

    void apply(const Context& where, Vectors<const T> r, Vectors<T> z) const {
        const int count = r.count;
        const Offset numbers = Offset(rows) * count;
        reserve_work(where, count);
        const Scratch<T> scaled(where, scaling ? numbers : 0), squares(where, single ? count : 0);
        const Scratch<float> narrow_in(where, single ? numbers : 0),
            narrow_out(where, single ? numbers : 0);
        const auto vectors = [&]<class C>(const Scratch<C>& memory) {
            return Vectors<C>{memory.data(), rows, count, rows};
        };
        const Vectors<const T> x = scaling ? Vectors<const T>(vectors(scaled)) : r;
        if (scaling) {
            multiply_elementwise_each(where, scaling->diagonal(), r, vectors(scaled));
        }
        if (!single) {
            inner->apply(where, x, z);
        } else if constexpr (std::is_same_v<T, double>) {
            for (int j = 0; j < count; ++j) {
                dot<T>(where, x[j], x[j], squares.data() + j);
                convert<T, float>(where, x[j], vectors(narrow_in)[j], squares.data() + j);
            }
            inner_single->apply(where, vectors(narrow_in), vectors(narrow_out));
            for (int j = 0; j < count; ++j) {
                convert<float, T>(where, vectors(narrow_out)[j], z[j], squares.data() + j);
            }
        }
        if (scaling) {
            multiply_elementwise_each(where, scaling->diagonal(), Vectors<const T>(z), z);
        }
    }

    PolynomialOptions options;
    Index rows;
    Offset nonzeros;
    bool single = false;  ///< Applied in float to a matrix in double.
    std::optional<SymmetricScaling<T>> scaling;
    CsrMatrix<T> own;
    CsrMatrix<float> rounded;
    std::unique_ptr<TypedPolynomial<T>> inner;
    std::unique_ptr<TypedPolynomial<float>> inner_single;
    std::mutex mutex;  ///< Guards the report, which `recover` changes.
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
    apply_vectors(context, one_vector(r), one_vector(z));
}

template <class T>
void PolynomialPreconditioner<T>::apply_vectors(const Context& context, Vectors<const T> r,
                                                Vectors<T> z) const {
    check_vectors("polynomial", "r", r, rows());
    check_vectors("polynomial", "z", z, rows());
    require(r.count == z.count, "polynomial: r has ", r.count, " vectors, z has ", z.count);
    state_->apply(context, r, z);
}

template <class T>
void PolynomialPreconditioner<T>::update(const Context& context, const CsrView<T>& matrix) {
    check_matrix("polynomial", matrix);
    require(matrix.rows == rows() && matrix.columns == rows(),
            "polynomial: update needs a matrix of the size that it was set up with");
    state_->update(context, matrix);
}

template <class T>
Index PolynomialPreconditioner<T>::singular_blocks() const {
    return state_->report.not_positive;
}

template <class T>
bool PolynomialPreconditioner<T>::recover(const Context&, Offset known) const {
    const std::lock_guard lock(state_->mutex);
    if (state_->report.recoveries > known) return true;
    return state_->single ? state_->inner_single->recover(state_->options, state_->report)
                          : state_->inner->recover(state_->options, state_->report);
}

template <class T>
PolynomialReport PolynomialPreconditioner<T>::report() const {
    const std::lock_guard lock(state_->mutex);
    return state_->report;
}

template <class T>
PreconditionerReport PolynomialPreconditioner<T>::make_report() const {
    const PolynomialReport details = this->report();
    PreconditionerReport report;
    if (details.not_positive > 0) {
        report.unusable = "row " + std::to_string(details.first_not_positive) + " (the first of " +
                          std::to_string(details.not_positive) +
                          ") has no positive pivot, so the matrix is not positive definite";
    }
    report.values.push_back({"polynomial", ReportValues{{"degree", details.degree},
                                                        {"lower", details.lower},
                                                        {"upper", details.upper},
                                                        {"recoveries", details.recoveries}}});
    return report;
}

template <class T>
const PolynomialOptions& PolynomialPreconditioner<T>::options() const {
    return state_->options;
}

template class PolynomialPreconditioner<float>;
template class PolynomialPreconditioner<double>;

}  // namespace tessera
