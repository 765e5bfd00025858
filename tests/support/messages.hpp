#pragma once

#include "support/test.hpp"

namespace tessera::test {

/// The message of the Failure that f() throws; "accepted" if it throws nothing.
template <class Failure = InvalidArgument, class F>
std::string message_of(F&& f) {
    try {
        f();
    } catch (const Failure& failure) {
        return failure.what();
    }
    return "accepted";
}

inline void expect_contains(const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' is missing in\n" << text;
}

}  // namespace tessera::test
