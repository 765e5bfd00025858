#pragma once

#include <algorithm>
#include <initializer_list>

#include "tessera/spec.hpp"

namespace tessera {

/// The one of `choices`, the first of which is the default, whose to_string is the value of `key`.
template <class Choice>
Choice choose(Spec& spec, const std::string& key, std::initializer_list<Choice> choices) {
    std::vector<std::string> words;
    for (const Choice choice : choices) words.emplace_back(to_string(choice));
    const std::string word = spec.word(key, words.front(), words);
    return *(choices.begin() + (std::ranges::find(words, word) - words.begin()));
}

}  // namespace tessera
