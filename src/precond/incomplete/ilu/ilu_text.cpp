#include <limits>

#include "base/concat.hpp"
#include "precond/choose.hpp"
#include "precond/incomplete/option_names.hpp"
#include "precond/incomplete/state.hpp"
#include "tessera/ilu.hpp"

namespace tessera {

using incomplete::on_or_off;
using incomplete::ordering_name;

IluOptions parse_ilu(Spec spec) {
    IluOptions options;
    options.block = Index(spec.integer(0, options.block, 1, 32));
    options.fill = int(spec.integer("fill", options.fill, 0, 1000));
    options.method = choose(spec, "method", {IluStage::level, IluStage::jacobi});
    options.sweeps = int(spec.integer("sweeps", options.sweeps, 1, 1000));
    options.epsilon = spec.real("epsilon", options.epsilon, 0, 1e6);
    options.delta = spec.real("delta", options.delta, 0, 1);
    options.pivoting =
        choose(spec, "pivoting",
               {batched::Pivoting::full, batched::Pivoting::partial, batched::Pivoting::fixed},
               incomplete::pivoting_name);
    options.matching = choose<std::optional<bool>>(spec, "matching", {{}, true, false}, on_or_off);
    options.ordering = choose<std::optional<OrderingMethod>>(
        spec, "ordering", {{}, OrderingMethod::amd, OrderingMethod::rcm, OrderingMethod::natural},
        ordering_name);
    options.outer = incomplete::on(spec, "outer", options.outer);
    options.outer_threshold = spec.real("outer_threshold", options.outer_threshold, 0, 1);
    options.drop = spec.real("drop", options.drop, 0, 1);
    options.max_entries = spec.real("max", options.max_entries, 1e-6, 1e6);
    options.safeguard =
        choose<std::optional<bool>>(spec, "safeguard", {{}, true, false}, on_or_off);
    options.solve_sweeps = int(spec.integer("solve_sweeps", options.solve_sweeps, 0, 1000));
    options.single_precision = spec.word("precision", "working", {"working", "f32"}) == "f32";
    options.max_levels =
        Index(spec.integer("max_levels", options.max_levels, 0, std::numeric_limits<Index>::max()));
    spec.finish();
    return options;
}

template <class T>
std::string Ilu<T>::describe() const {
    const IluOptions& o = options();
    std::string text = concat("ilu:", o.block, ",fill=", o.fill, ",method=", to_string(o.method));
    if (o.method == IluStage::jacobi) text += concat(",sweeps=", o.sweeps);
    if (o.epsilon >= 0) text += ",epsilon=" + number_text(o.epsilon);
    if (o.method == IluStage::jacobi) text += ",delta=" + number_text(o.delta);
    if (o.pivoting != batched::Pivoting::full) {
        text += concat(",pivoting=", incomplete::pivoting_name(o.pivoting));
    }
    text += concat(",matching=", on_or_off(o.matching), ",ordering=", to_string(report().ordering));
    if (o.outer) text += ",outer=on,outer_threshold=" + number_text(o.outer_threshold);
    if (o.drop > 0) {
        text += concat(",drop=", number_text(o.drop), ",max=", number_text(o.max_entries));
    }
    if (o.safeguard) text += concat(",safeguard=", on_or_off(o.safeguard));
    if (o.solve_sweeps > 0) text += concat(",solve_sweeps=", o.solve_sweeps);
    if (o.single_precision) text += ",precision=f32";
    if (o.max_levels > 0) text += concat(",max_levels=", o.max_levels);
    return text;
}

template <class T>
PreconditionerReport Ilu<T>::make_report() const {
    PreconditionerReport details;
    details.values.push_back(incomplete::report_values("ilu", report()));
    if (*options().matching && report().structural_rank < rows()) {
        details.warnings.push_back(concat("ilu: the matrix is singular, whatever its values: only ",
                                          report().structural_rank, " of its ", rows(),
                                          " rows can be matched with columns"));
    }
    return details;
}

template std::string Ilu<float>::describe() const;
template std::string Ilu<double>::describe() const;
template PreconditionerReport Ilu<float>::make_report() const;
template PreconditionerReport Ilu<double>::make_report() const;

}  // namespace tessera
