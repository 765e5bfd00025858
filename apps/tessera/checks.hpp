#pragma once

#include <string>

#include "commands.hpp"
#include "system.hpp"

namespace tessera::cli {

/// Throws what can be known to be wrong before anything large is read.
void check_arguments(const SolveArguments& arguments);

/// The Context of --device; says on stderr why auto fell back to the CPU. Throws DeviceUnavailable.
Context open_context(const std::string& device, int threads, bool quiet);

/// Refuses what no solver can do, and warns about what a solver can hardly do.
template <class T>
void check_system(const System<T>& system, bool allow_singular, bool quiet);

}  // namespace tessera::cli
