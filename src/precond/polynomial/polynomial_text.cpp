#include <algorithm>
#include <array>
#include <cmath>

#include "base/concat.hpp"
#include "base/dispatch.hpp"
#include "precond/choose.hpp"
#include "precond/polynomial/polynomial.hpp"

namespace tessera {

namespace {

constexpr std::array kinds = {PolynomialKind::neumann, PolynomialKind::least_squares,
                              PolynomialKind::chebyshev, PolynomialKind::chebyshev4,
                              PolynomialKind::chebyshev4_optimal};

double positive(const std::string& key, const std::string& text) {
    double number = 0;
    const std::string reason = parse_real(text, number);
    if (reason.empty() && number > 0) return number;
    throw InvalidArgument(key + "='" + text +
                          "' is neither one of the words nor a positive number");
}

void read_interval(Spec& spec, PolynomialOptions& options) {
    Spec bound = spec.word("bound", "lanczos:20");
    if (bound.name() == "lanczos") {
        options.lanczos_steps = int(bound.integer(0, 10, 1, 1000));
    } else if (bound.name() == "gershgorin") {
        options.upper = UpperBound::gershgorin;
    } else {
        options.upper = UpperBound::given;
        options.upper_value = positive("bound", bound.name());
    }
    bound.finish();
    const bool chebyshev = options.kind == PolynomialKind::chebyshev;
    if (!chebyshev && options.kind != PolynomialKind::neumann) return;
    const std::string text = spec.word("lower", "");
    options.uses_lower = chebyshev || !text.empty();
    if (text.empty()) return;
    Spec lower = text;
    if (lower.name() == "ratio") {
        options.lower_value = positive("lower=ratio", lower.word(0, "30"));
    } else if (lower.name() == "ritz") {
        options.lower = LowerBound::ritz;
    } else {
        options.lower = LowerBound::given;
        options.lower_value = positive("lower", lower.name());
    }
    lower.finish();
}

void read_format(Spec& spec, FormatOptions& format) {
    const std::string name = spec.word("format", "");
    if (!name.empty()) format = parse_format(name);
    format.values =
        choose(spec, "values",
               {ValueFormat::working, ValueFormat::f32, ValueFormat::f16, ValueFormat::bf16});
    if (!name.empty() && format.format == MatrixFormat::csr &&
        format.values != ValueFormat::working) {
        throw InvalidArgument("format=csr does not round values; with values=" +
                              std::string(to_string(format.values)) +
                              " leave format out, or name another, such as sbell");
    }
}

/// Format text that read_format parses: without comma-separated options.
std::string format_text(const FormatOptions& format) {
    const std::string full = to_string(format);
    std::string text;
    if (format.format != MatrixFormat::csr) text = ",format=" + full.substr(0, full.find(','));
    if (format.values == ValueFormat::working) return text;
    return text + ",values=" + to_string(format.values);
}

}  // namespace

PolynomialOptions parse_polynomial(Spec spec) {
    PolynomialOptions options;
    const auto* const kind = std::ranges::find(
        kinds, spec.name(), [](PolynomialKind one) { return std::string(to_string(one)); });
    require(kind != kinds.end(), "parse_polynomial: not the name of a polynomial");
    options.kind = *kind;
    options.degree = int(spec.integer(0, options.degree, 1, 16));
    read_interval(spec, options);
    options.is_scaled = spec.word("scaling", "jacobi", {"jacobi", "none"}) == "jacobi";
    read_format(spec, options.format);
    options.single_precision = spec.word("precision", "working", {"working", "f32"}) == "f32";
    if (options.kind == PolynomialKind::least_squares) {
        options.alpha = spec.real("alpha", options.alpha, 1e-3, 100);
        options.beta = spec.real("beta", options.beta, -0.5, 100);
    }
    spec.finish();
    return options;
}

template <class T>
std::string PolynomialPreconditioner<T>::describe() const {
    const PolynomialOptions& given = options();
    const PolynomialOptions usual;
    std::string text = std::string(to_string(given.kind)) + ":" + std::to_string(given.degree);
    if (given.alpha != usual.alpha) text += ",alpha=" + number_text(given.alpha);
    if (given.beta != usual.beta) text += ",beta=" + number_text(given.beta);
    text += ",bound=";
    text += given.upper == UpperBound::lanczos ? "lanczos:" + std::to_string(given.lanczos_steps)
            : given.upper == UpperBound::gershgorin ? std::string("gershgorin")
                                                    : number_text(given.upper_value);
    if (given.uses_lower) {
        text += ",lower=";
        text += given.lower == LowerBound::ratio  ? "ratio:" + number_text(given.lower_value)
                : given.lower == LowerBound::ritz ? std::string("ritz")
                                                  : number_text(given.lower_value);
    }
    text += format_text(given.format);
    if (given.single_precision) text += ",precision=f32";
    return text + (given.is_scaled ? ",scaling=jacobi" : ",scaling=none");
}

template std::string PolynomialPreconditioner<float>::describe() const;
template std::string PolynomialPreconditioner<double>::describe() const;

}  // namespace tessera
