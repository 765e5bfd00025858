#pragma once

#include <string>
#include <vector>

#include "tessera/context.hpp"

namespace tessera::cli {

/// One item of the self-test of a device.
struct TestItem {
    std::string name;
    bool passed = false;
    std::string detail;  ///< Measured value, or the error.
};

/// Small solves and inversions on `context`; under a second.
std::vector<TestItem> self_test(const Context& context);

}  // namespace tessera::cli
