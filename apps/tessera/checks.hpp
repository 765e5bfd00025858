#pragma once

#include <string>

#include "commands.hpp"
#include "system.hpp"

namespace tessera::cli {

/// Throws what can be known to be wrong before anything large is read.
void check_arguments(const SolveArguments& arguments);

/// The Context of --device, and why auto fell back to the CPU, where it did. Throws
/// DeviceUnavailable.
Context open_context(const std::string& device, int threads, std::string& why_not_cuda);

/// Tells that on stderr: once all arguments and files are in order, so that an error stands alone.
void note_fallback(const std::string& why_not_cuda, bool quiet);

/// Refuses what no solver can do, and warns about what a solver can hardly do.
template <class T>
void check_system(const System<T>& system, bool allow_singular, bool quiet);

}  // namespace tessera::cli
