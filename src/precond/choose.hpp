#pragma once

#include <algorithm>
#include <initializer_list>

#include "tessera/spec.hpp"

namespace tessera {

/// The one of `choices`, the first of which is the default, whose name is the value of `key`.
template <class Choice, class Name>
Choice choose(Spec& spec, const std::string& key, std::initializer_list<Choice> choices,
              Name&& name) {
    std::vector<std::string> words;
    for (const Choice& choice : choices) words.emplace_back(name(choice));
    const std::string word = spec.word(key, words.front(), words);
    return *(choices.begin() + (std::ranges::find(words, word) - words.begin()));
}
/// The names are those of to_string.
template <class Choice>
Choice choose(Spec& spec, const std::string& key, std::initializer_list<Choice> choices) {
    return choose(spec, key, choices, [](const Choice& choice) { return to_string(choice); });
}

}  // namespace tessera
