#pragma once

#include <random>
#include <vector>

#include "support/test.hpp"

/// Failures of the system on purpose: the linker sends the calls of the library and the command
/// line for memory, files, threads and CUDA through faults.cpp.
namespace tessera::test::faults {

enum class Kind { memory, file, thread, cuda };
inline constexpr Kind kinds[] = {Kind::memory, Kind::file, Kind::thread, Kind::cuda};
const char* to_string(Kind kind);

/// From now on the k-th call of this kind (from 1) of any thread fails; k = 0: none. `lasting`: and
/// all calls after it. Starts the counts anew.
void arm(Kind kind, long k, bool lasting = false);

/// Ends that.
void disarm();

/// The calls of a kind since arm() until disarm().
long calls(Kind kind);

/// Whether a call failed on purpose since arm().
bool failed();

/// The command line in this process: "KIND K COUNTS" in TESSERA_FAULT arms, a K that ends in +
/// lastingly; the numbers of calls of all kinds are written to the file COUNTS at the end.
int run_command_line(int argc, char** argv);

/// Calls to make fail, one at a time: all of 1..calls in a full run, else about `sample` of them.
inline std::vector<long> calls_to_try(std::mt19937_64& random, long calls, long sample) {
    std::vector<long> chosen;
    const double step = full_run() ? 1 : std::max(1.0, double(calls) / double(sample));
    std::uniform_real_distribution<double> within(0, step);
    for (double k = within(random); k < double(calls); k += step) chosen.push_back(1 + long(k));
    return chosen;
}

}  // namespace tessera::test::faults
