#pragma once

#include <optional>

#include "commands/commands.hpp"
#include "report/report.hpp"
#include "tessera/device_group.hpp"

namespace tessera::cli {

/// The devices of --devices, where they are several: --device is then the host, which reads the
/// system. If they are one, --device becomes that. Throws DeviceUnavailable, and InvalidArgument
/// for what several devices cannot do.
std::optional<DeviceGroup> open_devices(SolveArguments& arguments, const MethodConfig& method);

/// With --explain prints what auto is over several devices.
void note_method_of_group(const MethodConfig& method, const SolveArguments& arguments);

/// Adds all but the reports of the right-hand sides.
void add_group_report(const DeviceGroupReport& found, RunReport& report);

}  // namespace tessera::cli
