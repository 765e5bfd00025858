#include <array>
#include <limits>
#include <sstream>
#include <utility>

#include "tessera/block_ldlt.hpp"

namespace tessera {

namespace {

using batched::Pivoting;

constexpr std::array<std::pair<Pivoting, const char*>, 4> pivotings{
    {{Pivoting::full, "complete"},
     {Pivoting::rook, "rook"},
     {Pivoting::bunch_kaufman, "bunch_kaufman"},
     {Pivoting::fixed, "static"}}};

constexpr OrderingMethod orderings[] = {OrderingMethod::amd, OrderingMethod::metis,
                                        OrderingMethod::rcm, OrderingMethod::natural};

/// The choice of `spec` among `choices`, the first of which is the default.
template <class Choice, std::size_t count>
Choice choose(Spec& spec, const char* key, const std::array<Choice, count>& choices) {
    std::vector<std::string> words;
    for (const Choice choice : choices) words.emplace_back(to_string(choice));
    const std::string word = spec.word(key, words.front(), words);
    for (std::size_t c = 0; c < count; ++c) {
        if (words[c] == word) return choices[c];
    }
    return choices[0];
}

const char* on_or_off(bool value) { return value ? "on" : "off"; }

bool on(Spec& spec, const char* key, bool otherwise) {
    const std::string word = spec.word(key, on_or_off(otherwise), {"on", "off", "true", "false"});
    return word == "on" || word == "true";
}

}  // namespace

const char* to_string(BlockLdltMethod method) {
    return method == BlockLdltMethod::jacobi ? "jacobi" : "level";
}

const char* to_string(EpsilonUnit unit) {
    static constexpr const char* names[] = {"max", "norm1", "block"};
    return names[int(unit)];
}

const char* to_string(BlockLdltStage stage) {
    static constexpr const char* names[] = {"jacobi", "level", "block_jacobi", "none"};
    return names[int(stage)];
}

BlockLdltOptions parse_block_ldlt(Spec spec) {
    BlockLdltOptions options;
    options.block = Index(spec.integer(0, options.block, 1, 32));
    options.fill = int(spec.integer("fill", options.fill, 0, 1000));
    options.method = choose<BlockLdltMethod, 2>(spec, "method",
                                                {BlockLdltMethod::jacobi, BlockLdltMethod::level});
    options.sweeps = int(spec.integer("sweeps", options.sweeps, 1, 1000));
    options.epsilon = spec.real("epsilon", options.epsilon, 0, 1e6);
    options.delta = spec.real("delta", options.delta, 0, 1);
    options.epsilon_unit = choose<EpsilonUnit, 3>(
        spec, "epsilon_unit", {EpsilonUnit::max, EpsilonUnit::norm1, EpsilonUnit::block});
    std::vector<std::string> words;
    for (const auto& [pivoting, word] : pivotings) words.emplace_back(word);
    const std::string pivoting = spec.word("pivoting", words.front(), words);
    for (const auto& [choice, word] : pivotings) {
        if (pivoting == word) options.pivoting = choice;
    }
    options.matching = on(spec, "matching", options.matching);
    words = {"auto"};
    for (const OrderingMethod ordering : orderings) words.emplace_back(to_string(ordering));
    const std::string ordering = spec.word("ordering", words.front(), words);
    for (const OrderingMethod choice : orderings) {
        if (ordering == to_string(choice)) options.ordering = choice;
    }
    options.outer = on(spec, "outer", options.outer);
    options.outer_threshold = spec.real("outer_threshold", options.outer_threshold, 0, 1);
    options.safeguard = on(spec, "safeguard", options.safeguard);
    options.solve_sweeps = int(spec.integer("solve_sweeps", options.solve_sweeps, 0, 1000));
    options.absolute = spec.flag("absolute", options.absolute);
    spec.finish();
    return options;
}

template <class T>
std::string BlockLdlt<T>::describe() const {
    const BlockLdltOptions& o = options();
    std::ostringstream text;
    text << "block_ldlt:" << o.block << ",fill=" << o.fill << ",method=" << to_string(o.method);
    if (o.method == BlockLdltMethod::jacobi) text << ",sweeps=" << o.sweeps;
    if (o.epsilon >= 0) text << ",epsilon=" << o.epsilon;
    if (o.method == BlockLdltMethod::jacobi) text << ",delta=" << o.delta;
    text << ",epsilon_unit=" << to_string(o.epsilon_unit);
    for (const auto& [pivoting, word] : pivotings) {
        if (pivoting == o.pivoting) text << ",pivoting=" << word;
    }
    text << ",matching=" << on_or_off(o.matching) << ",ordering=" << to_string(report().ordering);
    if (o.outer) text << ",outer=on,outer_threshold=" << o.outer_threshold;
    if (!o.safeguard) text << ",safeguard=off";
    if (o.solve_sweeps > 0) text << ",solve_sweeps=" << o.solve_sweeps;
    if (o.absolute) text << ",absolute";
    return text.str();
}

template std::string BlockLdlt<float>::describe() const;
template std::string BlockLdlt<double>::describe() const;

}  // namespace tessera
