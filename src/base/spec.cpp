#include "tessera/spec.hpp"

#include <algorithm>
#include <cctype>
#include <sstream>

namespace tessera {

namespace {

std::string quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
    return text;
}

/// Fewest insertions, deletions, replacements and swaps of neighbours that turn a into b.
std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
    for (std::size_t i = 0; i <= a.size(); ++i) {
        for (std::size_t j = 0; j <= b.size(); ++j) {
            if (i == 0 || j == 0) {
                d[i][j] = i + j;
                continue;
            }
            d[i][j] = std::min(
                {d[i - 1][j - 1] + (a[i - 1] != b[j - 1]), d[i - 1][j] + 1, d[i][j - 1] + 1});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
            }
        }
    }
    return d[a.size()][b.size()];
}

bool is_value(std::string_view item) {
    const unsigned char c = static_cast<unsigned char>(item[0]);
    return std::isdigit(c) || c == '+' || c == '-' || c == '.';
}

Offset to_integer(std::string_view what, std::string_view text, Offset low, Offset high) {
    std::int64_t number = 0;
    const std::string reason = parse_integer(text, number);
    if (!reason.empty())
        throw InvalidArgument(std::string(what) + ": " + quoted(text) + " is " + reason);
    if (number < low || number > high) {
        throw InvalidArgument(std::string(what) + ": " + std::string(text) + " is not within " +
                              std::to_string(low) + ".." + std::to_string(high));
    }
    return number;
}

double to_real(std::string_view what, std::string_view text, double low, double high) {
    double number = 0;
    const std::string reason = parse_real(text, number);
    if (!reason.empty())
        throw InvalidArgument(std::string(what) + ": " + quoted(text) + " is " + reason);
    if (number < low || number > high) {
        std::ostringstream range;
        range << low << ".." << high;
        throw InvalidArgument(std::string(what) + ": " + std::string(text) + " is not within " +
                              range.str());
    }
    return number;
}

}  // namespace

std::string nearest_word(std::string_view word, const std::vector<std::string>& candidates) {
    std::string nearest;
    constexpr std::size_t longest = 100;  // The table of distances grows with both lengths.
    if (word.size() > longest) return nearest;
    std::size_t best = std::max<std::size_t>(1, word.size() / 3) + 1;
    for (const std::string& candidate : candidates) {
        const std::size_t distance = edit_distance(word, candidate);
        if (distance < best) {
            best = distance;
            nearest = candidate;
        }
    }
    return nearest;
}

std::string unknown_word_message(std::string_view what, std::string_view word,
                                 const std::vector<std::string>& candidates) {
    const std::string nearest = nearest_word(word, candidates);
    return "unknown " + std::string(what) + " " + quoted(word) +
           (nearest.empty() ? (candidates.empty() ? "; there are none" : ".")
                            : "; did you mean " + quoted(nearest) + "?") +
           (candidates.empty() ? "" : " Valid: " + joined(candidates));
}

Spec::Spec(const std::string& all) {
    const std::string_view text = all;
    const std::size_t colon = std::min(text.find(':'), text.find(','));
    name_ = text.substr(0, colon);
    if (name_.empty()) throw InvalidArgument("an option text needs a name: " + quoted(text));
    bool first = colon < text.size() && text[colon] == ':';
    std::string_view rest = colon < text.size() ? text.substr(colon + 1) : std::string_view{};
    bool more = colon < text.size();
    while (more) {
        const std::size_t comma = rest.find(',');
        const std::string_view item = rest.substr(0, comma);
        more = comma != std::string_view::npos;
        rest = more ? rest.substr(comma + 1) : std::string_view{};
        const std::size_t equals = item.find('=');
        if (item.empty() || equals == 0) {
            throw InvalidArgument("something is missing in " + quoted(text) +
                                  "; write NAME[:VALUE][,OPTION=VALUE]");
        }
        if (equals == std::string_view::npos && (first || is_value(item))) {
            values_.emplace_back(item);
        } else {
            const std::string key(item.substr(0, equals));
            const std::string value(equals == std::string_view::npos ? "true"
                                                                     : item.substr(equals + 1));
            if (!options_.emplace(key, value).second) {
                throw InvalidArgument(quoted(key) + " stands twice in " + quoted(text));
            }
        }
        first = false;
    }
}

std::string Spec::word(std::size_t k, std::string_view otherwise) {
    values_asked_ = std::max(values_asked_, k + 1);
    return k < values_.size() ? values_[k] : std::string(otherwise);
}

Offset Spec::integer(std::size_t k, Offset otherwise, Offset low, Offset high) {
    const std::string text = word(k, "");
    return text.empty() ? otherwise : to_integer(name_, text, low, high);
}

double Spec::real(std::size_t k, double otherwise, double low, double high) {
    const std::string text = word(k, "");
    return text.empty() ? otherwise : to_real(name_, text, low, high);
}

std::string Spec::word(std::string_view key, std::string_view otherwise,
                       const std::vector<std::string>& choices) {
    asked_.emplace_back(key);
    const auto found = options_.find(key);
    if (found == options_.end()) return std::string(otherwise);
    if (!choices.empty() &&
        std::find(choices.begin(), choices.end(), found->second) == choices.end()) {
        throw InvalidArgument(
            name_ + ": " +
            unknown_word_message("value of " + std::string(key), found->second, choices));
    }
    return found->second;
}

Offset Spec::integer(std::string_view key, Offset otherwise, Offset low, Offset high) {
    const std::string text = word(key, "");
    if (options_.find(key) == options_.end()) return otherwise;
    return to_integer(name_ + ", " + std::string(key), text, low, high);
}

double Spec::real(std::string_view key, double otherwise, double low, double high) {
    const std::string text = word(key, "");
    if (options_.find(key) == options_.end()) return otherwise;
    return to_real(name_ + ", " + std::string(key), text, low, high);
}

bool Spec::flag(std::string_view key, bool otherwise) {
    const std::string text =
        word(key, otherwise ? "true" : "false", {"true", "false", "on", "off"});
    return text == "true" || text == "on";
}

void Spec::finish() const {
    if (values_.size() > values_asked_) {
        throw InvalidArgument(name_ + " takes " +
                              (values_asked_ == 0   ? "no value"
                               : values_asked_ == 1 ? "one value"
                                                    : std::to_string(values_asked_) + " values") +
                              ", not " + quoted(values_[values_asked_]));
    }
    for (const auto& [key, value] : options_) {
        if (std::find(asked_.begin(), asked_.end(), key) == asked_.end()) {
            throw InvalidArgument(name_ + ": " + unknown_word_message("option", key, asked_));
        }
    }
}

std::string Spec::normalised() const {
    std::string text = name_;
    char separator = ':';
    for (const std::string& value : values_) {
        text += separator + value;
        separator = ',';
    }
    for (const auto& [key, value] : options_) {
        text += "," + key;
        if (value != "true") text += "=" + value;
    }
    return text;
}

}  // namespace tessera
