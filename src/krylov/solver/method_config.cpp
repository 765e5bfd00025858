#include <algorithm>

#include "tessera/solver.hpp"

namespace tessera {

namespace {

/// The options that a text names; null for auto. Throws InvalidArgument with all names and auto for
/// an unknown one.
template <class Parse>
auto parse_unless_auto(const char* what, const Spec& text, std::vector<std::string> (*all_names)(),
                       Parse parse) {
    using Config = decltype(parse(text));
    if (text.name() == "auto") {
        text.finish();
        return Config();
    }
    std::vector<std::string> names = all_names();
    if (std::ranges::find(names, text.name()) == names.end()) {
        names.emplace_back("auto");
        throw InvalidArgument(unknown_word_message(what, text.name(), names), what);
    }
    return parse(text);
}

std::optional<FormatOptions> parse_optional_format(const Spec& text) { return parse_format(text); }

/// Bytes of the copy of a matrix in a format other than csr, without indices and fill.
Offset converted_bytes(Offset nonzeros, Offset bytes_per_value, const FormatOptions& format) {
    if (format.format == MatrixFormat::csr) return 0;
    switch (format.values) {
        case ValueFormat::working:
            return nonzeros * bytes_per_value;
        case ValueFormat::f32:
            return nonzeros * 4;
        default:
            return nonzeros * 2;
    }
}

}  // namespace

MethodConfig::MethodConfig(const Spec& solver_spec, const Spec& preconditioner_spec,
                           const Spec& format_spec)
    : solver_text(solver_spec.normalised()),
      preconditioner_text(preconditioner_spec.normalised()),
      format_text(format_spec.normalised()),
      solver(parse_unless_auto("solver", solver_spec, solver_names, parse_solver)),
      preconditioner(parse_unless_auto("preconditioner", preconditioner_spec, preconditioner_names,
                                       parse_preconditioner)),
      format(parse_unless_auto("format", format_spec, format_names, parse_optional_format)) {}

MethodConfig MethodConfig::completed(const Attempt& attempt) const {
    MethodConfig method = *this;
    if (!solver) {
        method.solver_text = attempt.solver;
        method.solver = parse_solver(attempt.solver);
    }
    if (!preconditioner) {
        method.preconditioner_text = attempt.preconditioner;
        method.preconditioner = parse_preconditioner(attempt.preconditioner);
    }
    if (!format) {
        method.format_text = attempt.format;
        method.format = parse_format(attempt.format);
    }
    return method;
}

MemoryEstimate estimate_memory(Index rows, Offset nonzeros, Offset bytes_per_value,
                               const SolverConfig& solver,
                               const PreconditionerConfig& preconditioner,
                               const FormatOptions& format) {
    return {converted_bytes(nonzeros, bytes_per_value, format),
            preconditioner.bytes(rows, nonzeros, bytes_per_value),
            solver.numbers(rows) * bytes_per_value};
}

}  // namespace tessera
