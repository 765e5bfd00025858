#pragma once

#include <string>
#include <vector>

#include "tessera/context.hpp"

namespace tessera::cli {

/// One item of the self-test of a device.
struct TestItem {
    std::string name;
    bool passed = false;
    std::string detail;  ///< What was measured, or the error.
};

/// Solves and inverts something small on `context`; under a second.
std::vector<TestItem> self_test(const Context& context);

}  // namespace tessera::cli
