#pragma once

#include <cmath>

#include "tessera/krylov.hpp"

// Reports as JSON, for any class Json with the interface of nlohmann::json.
namespace tessera::detail {

/// JSON has no NaN and no infinity: null.
template <class Json>
Json json_number(double value) {
    return std::isfinite(value) ? Json(value) : Json(nullptr);
}

/// Values of a report by their names; a list if they have none.
template <class Json>
Json json_of(const ReportValues& values) {
    Json named = Json::object(), list = Json::array();
    for (const ReportValue& each : values) {
        Json value;
        if (const auto* text = std::get_if<std::string>(&each.value)) value = *text;
        if (const auto* whole = std::get_if<Offset>(&each.value)) value = *whole;
        if (const auto* real = std::get_if<double>(&each.value)) value = json_number<Json>(*real);
        if (const auto* more = std::get_if<ReportValues>(&each.value)) value = json_of<Json>(*more);
        if (each.name.empty()) {
            list.push_back(std::move(value));
        } else {
            named[each.name] = std::move(value);
        }
    }
    return named.empty() && !values.empty() ? list : named;
}

/// Adds the fields of a solve, and the warnings and values of the setup of its preconditioner.
template <class Json>
void add_fields(Json& json, const SolveReport& solve, const PreconditionerReport& setup) {
    for_each_field(solve, [&]<class Value>(const char* name, const Value& value) {
        if constexpr (std::is_same_v<Value, double>) {
            json[name] = json_number<Json>(value);
        } else if constexpr (std::is_same_v<Value, std::vector<double>>) {
            json[name] = Json::array();
            for (const double each : value) json[name].push_back(json_number<Json>(each));
        } else {
            json[name] = value;
        }
    });
    if (!setup.warnings.empty()) json["warnings"] = setup.warnings;
    const Json groups = json_of<Json>(setup.values);
    for (const auto& [group, values] : groups.items()) json[group].update(values);
}

}  // namespace tessera::detail
