#pragma once

#include <nlohmann/json.hpp>

#include "tessera/operator.hpp"

namespace tessera::cli {

using Json = nlohmann::ordered_json;

/// JSON has no NaN and no infinity.
Json number(double value);

/// Values of a report by their names.
Json to_json(const ReportValues& values);

}  // namespace tessera::cli
