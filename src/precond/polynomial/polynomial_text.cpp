#include <array>
#include <cmath>
#include <cstdio>

#include "base/dispatch.hpp"
#include "tessera/polynomial.hpp"

namespace tessera {

namespace {

constexpr std::array kinds = {PolynomialKind::neumann, PolynomialKind::least_squares,
                              PolynomialKind::chebyshev, PolynomialKind::chebyshev4,
                              PolynomialKind::chebyshev4_optimal};

std::string text_of(double number) {
    char text[32];
    std::snprintf(text, sizeof text, "%.10g", number);
    return text;
}

double positive(const std::string& key, const std::string& text) {
    double number = 0;
    const std::string reason = parse_real(text, number);
    if (reason.empty() && number > 0) return number;
    throw InvalidArgument(key + "='" + text +
                          "' is neither one of the words nor a positive number");
}

/// The text behind WORD:, the default where there is none; nothing for another word.
bool is_word(const std::string& text, const std::string& word, std::string& rest) {
    if (text != word && !text.starts_with(word + ":")) return false;
    if (text != word) rest = text.substr(word.size() + 1);
    return true;
}

int whole(const std::string& key, const std::string& text, int low, int high) {
    std::int64_t number = 0;
    const std::string reason = parse_integer(text, number);
    if (reason.empty() && number >= low && number <= high) return int(number);
    throw InvalidArgument(key + ": '" + text + "' is not an integer within " + std::to_string(low) +
                          ".." + std::to_string(high));
}

void read_ends(Spec& spec, PolynomialOptions& options) {
    const std::string bound = spec.word("bound", "lanczos:20");
    std::string rest = "10";
    if (is_word(bound, "lanczos", rest)) {
        options.lanczos_steps = whole("bound=lanczos:K", rest, 1, 1000);
    } else if (bound == "gershgorin") {
        options.upper = UpperEnd::gershgorin;
    } else {
        options.upper = UpperEnd::given;
        options.upper_value = positive("bound", bound);
    }
    const bool chebyshev = options.kind == PolynomialKind::chebyshev;
    if (!chebyshev && options.kind != PolynomialKind::neumann) return;
    const std::string lower = spec.word("lower", "");
    options.uses_lower = chebyshev || !lower.empty();
    if (lower.empty()) return;
    rest = "30";
    if (is_word(lower, "ratio", rest)) {
        options.lower_value = positive("lower=ratio", rest);
    } else if (lower == "ritz") {
        options.lower = LowerEnd::ritz;
    } else {
        options.lower = LowerEnd::given;
        options.lower_value = positive("lower", lower);
    }
}

constexpr std::array value_formats = {ValueFormat::working, ValueFormat::f32, ValueFormat::f16,
                                      ValueFormat::bf16};

void read_format(Spec& spec, FormatOptions& format) {
    const std::string name = spec.word("format", "");
    if (!name.empty()) format = parse_format(Spec::parse(name));
    std::vector<std::string> words;
    for (const ValueFormat values : value_formats) words.emplace_back(to_string(values));
    const std::string values = spec.word("values", words[0], words);
    for (const ValueFormat one : value_formats) {
        if (values == to_string(one)) format.values = one;
    }
    if (!name.empty() && format.format == MatrixFormat::csr && values != words[0]) {
        throw InvalidArgument("format=csr keeps values as they are; with values=" + values +
                              " leave format out, or name another, such as sbell");
    }
}

/// What read_format takes back.
std::string format_text(const FormatOptions& format) {
    std::string text;
    if (format.format != MatrixFormat::csr) {
        text += std::string(",format=") + to_string(format.format);
        const bool blocks = format.format == MatrixFormat::sbell ||
                            format.format == MatrixFormat::bell ||
                            format.format == MatrixFormat::bcsr;
        if (blocks && format.block > 0) text += ":" + std::to_string(format.block);
        if (format.format == MatrixFormat::sell && format.slice_height > 0) {
            text += ":" + std::to_string(format.slice_height);
        }
    }
    if (format.values != ValueFormat::working)
        text += std::string(",values=") + to_string(format.values);
    return text;
}

}  // namespace

PolynomialOptions parse_polynomial(Spec spec) {
    PolynomialOptions options;
    bool known = false;
    for (const PolynomialKind kind : kinds) {
        if (spec.name() != to_string(kind)) continue;
        options.kind = kind;
        known = true;
    }
    require(known, "parse_polynomial: not the name of a polynomial");
    options.degree = int(spec.integer(std::size_t(0), options.degree, 1, 16));
    read_ends(spec, options);
    std::string rest = std::to_string(default_block_bound);
    const std::string scaling = spec.word("scaling", "jacobi");
    if (is_word(scaling, "block_jacobi", rest)) {
        options.scaling = PolynomialScaling::block_jacobi;
        options.block_bound = whole("scaling=block_jacobi:B", rest, 1, largest_block_bound);
    } else if (scaling == "none") {
        options.scaling = PolynomialScaling::none;
    } else if (scaling != "jacobi") {
        throw InvalidArgument(
            unknown_word_message("scaling", scaling, {"jacobi", "block_jacobi:B", "none"}));
    }
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
    if (given.alpha != usual.alpha) text += ",alpha=" + text_of(given.alpha);
    if (given.beta != usual.beta) text += ",beta=" + text_of(given.beta);
    text += ",bound=";
    text += given.upper == UpperEnd::lanczos      ? "lanczos:" + std::to_string(given.lanczos_steps)
            : given.upper == UpperEnd::gershgorin ? std::string("gershgorin")
                                                  : text_of(given.upper_value);
    if (given.uses_lower) {
        text += ",lower=";
        text += given.lower == LowerEnd::ratio  ? "ratio:" + text_of(given.lower_value)
                : given.lower == LowerEnd::ritz ? std::string("ritz")
                                                : text_of(given.lower_value);
    }
    text += format_text(given.format);
    if (given.single_precision) text += ",precision=f32";
    text += ",scaling=";
    return text + (given.scaling == PolynomialScaling::jacobi ? "jacobi"
                   : given.scaling == PolynomialScaling::none
                       ? "none"
                       : "block_jacobi:" + std::to_string(given.block_bound));
}

template std::string PolynomialPreconditioner<float>::describe() const;
template std::string PolynomialPreconditioner<double>::describe() const;

}  // namespace tessera
