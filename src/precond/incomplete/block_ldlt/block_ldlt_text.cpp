#include <utility>

#include "base/concat.hpp"
#include "precond/choose.hpp"
#include "precond/incomplete/option_names.hpp"
#include "precond/incomplete/state.hpp"
#include "tessera/block_ldlt.hpp"

namespace tessera {

namespace {

using batched::Pivoting;
using incomplete::on;
using incomplete::on_or_off;
using incomplete::ordering_name;
using incomplete::pivoting_name;

}  // namespace

const char* to_string(BlockLdltStage stage) {
    static constexpr const char* names[] = {"jacobi", "level", "block_jacobi", "none"};
    return names[int(stage)];
}

BlockLdltOptions parse_block_ldlt(Spec spec) {
    BlockLdltOptions options;
    options.block = Index(spec.integer(0, options.block, 1, 32));
    options.fill = int(spec.integer("fill", options.fill, 0, 1000));
    options.method = choose(spec, "method", {BlockLdltStage::jacobi, BlockLdltStage::level});
    options.sweeps = int(spec.integer("sweeps", options.sweeps, 1, 1000));
    options.epsilon = spec.real("epsilon", options.epsilon, 0, 1e6);
    options.delta = spec.real("delta", options.delta, 0, 1);
    options.pivoting = choose(
        spec, "pivoting",
        {Pivoting::full, Pivoting::rook, Pivoting::bunch_kaufman, Pivoting::fixed}, pivoting_name);
    options.matching = on(spec, "matching", options.matching);
    options.ordering = choose<std::optional<OrderingMethod>>(
        spec, "ordering", {{}, OrderingMethod::amd, OrderingMethod::rcm, OrderingMethod::natural},
        ordering_name);
    options.outer = on(spec, "outer", options.outer);
    options.outer_threshold = spec.real("outer_threshold", options.outer_threshold, 0, 1);
    options.safeguard = on(spec, "safeguard", options.safeguard);
    options.solve_sweeps = int(spec.integer("solve_sweeps", options.solve_sweeps, 0, 1000));
    options.positive_definite = spec.flag("positive_definite", options.positive_definite);
    spec.finish();
    return options;
}

template <class T>
std::string BlockLdlt<T>::describe() const {
    const BlockLdltOptions& o = options();
    std::string text =
        concat("block_ldlt:", o.block, ",fill=", o.fill, ",method=", to_string(o.method));
    if (o.method == BlockLdltStage::jacobi) text += concat(",sweeps=", o.sweeps);
    if (o.epsilon >= 0) text += ",epsilon=" + number_text(o.epsilon);
    if (o.method == BlockLdltStage::jacobi) text += ",delta=" + number_text(o.delta);
    text += concat(",pivoting=", pivoting_name(o.pivoting), ",matching=", on_or_off(o.matching),
                   ",ordering=", to_string(report().ordering));
    if (o.outer) text += ",outer=on,outer_threshold=" + number_text(o.outer_threshold);
    if (!o.safeguard) text += ",safeguard=off";
    if (o.solve_sweeps > 0) text += concat(",solve_sweeps=", o.solve_sweeps);
    if (o.positive_definite) text += ",positive_definite";
    return text;
}

template <class T>
PreconditionerReport BlockLdlt<T>::make_report() const {
    PreconditionerReport details;
    details.values.push_back(incomplete::report_values("block_ldlt", report()));
    return details;
}

template std::string BlockLdlt<float>::describe() const;
template std::string BlockLdlt<double>::describe() const;
template PreconditionerReport BlockLdlt<float>::make_report() const;
template PreconditionerReport BlockLdlt<double>::make_report() const;

}  // namespace tessera
