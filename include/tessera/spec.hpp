#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/types.hpp"

namespace tessera {

/// The parts of an option text such as "block_jacobi:32,singular=shift":
///   spec := name [":" value] { "," (key "=" value | value | flag) }
/// A bare item that starts with a digit, a sign or a dot is a further value ("block_diagonal:9,4"
/// has two), any other bare item is a flag and means key=true. Values contain no comma. Reading a
/// value marks it as known; `finish` rejects items that were never read.
class TESSERA_API Spec {
  public:
    /// Throws InvalidArgument on an empty name, an empty key, or a key given twice.
    Spec(const std::string& text);  // NOLINT(google-explicit-constructor)
    // NOLINTNEXTLINE(google-explicit-constructor)
    Spec(const char* text) : Spec(std::string(text != nullptr ? text : "")) {}
    Spec() = default;

    const std::string& name() const { return name_; }
    /// Number of values, those after ":" and the bare ones.
    std::size_t value_count() const { return values_.size(); }

    /// Value k as text, or as a number in [low, high]; the fallback if it is not given.
    std::string word(int k, std::string_view fallback);
    Offset integer(int k, Offset fallback, Offset low, Offset high);

    /// The value of a key likewise. `choices`, when not empty, lists the words that are valid.
    std::string word(std::string_view key, std::string_view fallback,
                     const std::vector<std::string>& choices = {});
    Offset integer(std::string_view key, Offset fallback, Offset low, Offset high);
    double real(std::string_view key, double fallback, double low, double high);
    bool flag(std::string_view key, bool fallback = false);

    /// Throws InvalidArgument that names the items never read, and the nearest valid key.
    void finish() const;

    /// The text again, keys sorted: "name:value,key=value".
    std::string normalised() const;

  private:
    std::string name_;
    std::vector<std::string> values_;
    std::map<std::string, std::string, std::less<>> options_;
    std::vector<std::string> keys_read_;
    std::size_t values_read_ = 0;
};

/// The candidate nearest to `word` (edit distance at most a third of its length, at least 1);
/// empty if none is near, or if `word` has more than 100 characters.
TESSERA_API std::string nearest_word(std::string_view word,
                                     const std::vector<std::string>& candidates);

/// "unknown WHAT 'word'; did you mean 'x'? Valid: a, b, c"
TESSERA_API std::string unknown_word_message(std::string_view what, std::string_view word,
                                             const std::vector<std::string>& candidates);

/// Reads a whole token as a finite number; a leading '+' and Fortran exponents (1.0D+00, 1.0d0,
/// 1.0+05) are accepted. Returns an empty text, or the reason ("not a number", "out of range", "not
/// finite").
TESSERA_API std::string parse_real(std::string_view token, double& number);
TESSERA_API std::string parse_integer(std::string_view token, std::int64_t& number);

}  // namespace tessera
