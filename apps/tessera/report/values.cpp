#include "report/values.hpp"

#include <cmath>

namespace tessera::cli {

namespace {

Json value_of(const ReportValue& value) {
    if (const auto* text = std::get_if<std::string>(&value.value)) return *text;
    if (const auto* whole = std::get_if<Offset>(&value.value)) return *whole;
    if (const auto* real = std::get_if<double>(&value.value)) return number(*real);
    return to_json(std::get<ReportValues>(value.value));
}

}  // namespace

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json to_json(const ReportValues& values) {
    Json named = Json::object(), list = Json::array();
    for (const ReportValue& value : values) {
        if (value.name.empty()) {
            list.push_back(value_of(value));
        } else {
            named[value.name] = value_of(value);
        }
    }
    return named.empty() && !values.empty() ? list : named;
}

}  // namespace tessera::cli
