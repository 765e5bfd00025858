#include "tessera/context.hpp"

#include TESSERA_COMMIT_FILE

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/context_state.hpp"
#include "base/dispatch.hpp"
#include "base/phases.hpp"
#include "base/threads/thread_team.hpp"

namespace tessera {

const char* version() { return TESSERA_VERSION; }
const char* commit() { return TESSERA_COMMIT; }

const char* to_string(InstructionSet set) {
    static const char* const names[] = {"sse4", "avx2", "avx512", "neon"};
    return names[int(set)];
}

#if defined(__x86_64__)

std::vector<InstructionSet> instruction_sets() {
    __builtin_cpu_init();
    std::vector<InstructionSet> sets;
    if (__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt")) {
        sets.push_back(InstructionSet::sse4);
        if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
            __builtin_cpu_supports("bmi2")) {
            sets.push_back(InstructionSet::avx2);
            if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
                __builtin_cpu_supports("avx512cd")) {
                sets.push_back(InstructionSet::avx512);
            }
        }
    }
    return sets;
}

#else  // AArch64, of which NEON is a part.

std::vector<InstructionSet> instruction_sets() { return {InstructionSet::neon}; }

#endif

void throw_cuda_not_built() {
    throw DeviceError(
        "this build of Tessera has no CUDA backend: install the CUDA toolkit (nvcc), then build "
        "again");
}

Context Context::cpu(int threads) {
    auto state = std::make_shared<ContextState>(threads);
    static const char* const names[] = {"SSE4", "AVX2", "AVX-512", "NEON"};
    const int wanted = std::exchange(state->threads, start_threads(state->threads));
    state->description =
        "CPU, " + std::to_string(state->threads) + (state->threads == 1 ? " thread" : " threads") +
        (state->threads == wanted ? std::string()
                                  : " (the system refused " + std::to_string(wanted) + ")") +
        ", " + names[int(state->instruction_set)];
    return Context(std::move(state));
}

namespace {

std::shared_ptr<ContextState> cuda_state(int device, int threads, const CallerStream* caller) {
    if constexpr (TESSERA_WITH_CUDA) {
        std::string reason;
        const auto devices = cuda::devices(&reason);
        if (devices.empty()) throw DeviceError("CUDA cannot be used: " + reason);
        if (device < 0 || device >= int(devices.size())) {
            throw DeviceError("there is no CUDA device " + std::to_string(device) + ", only 0.." +
                              std::to_string(devices.size() - 1));
        }
        const DeviceDescription& chosen = devices[std::size_t(device)];
        if (chosen.compute_capability < 80) {
            throw DeviceError(chosen.name + " has compute capability " +
                              std::to_string(chosen.compute_capability / 10) + "." +
                              std::to_string(chosen.compute_capability % 10) +
                              "; Tessera needs 8.0 or newer");
        }
        auto state = cuda::make_state(device, threads, caller);
        state->description = chosen.name;
        state->device_memory_bytes = chosen.memory_bytes;
        return state;
    } else {
        throw_cuda_not_built();
    }
}

}  // namespace

Context Context::cuda(int device) { return Context(cuda_state(device, 0, nullptr)); }

Context Context::cuda(int device, CUstream_st* stream, const DeviceAllocator& allocator,
                      int threads, std::shared_ptr<void> owner) {
    require((allocator.allocate == nullptr) == (allocator.release == nullptr),
            "Context::cuda: the allocator has one of its two functions only");
    const CallerStream caller{stream, allocator, std::move(owner)};
    return Context(cuda_state(device, threads, &caller));
}

Context Context::from_name(std::string_view device, int threads, std::string* why_not_cuda) {
    if (device == "cpu") return cpu(threads);
    if (device == "cuda") return Context(cuda_state(0, threads, nullptr));
    if (device.starts_with("cuda:")) {
        const char* const end = device.data() + device.size();
        int k = -1;
        const auto parsed = std::from_chars(device.data() + 5, end, k);
        if (parsed.ec == std::errc{} && parsed.ptr == end && k >= 0) {
            return Context(cuda_state(k, threads, nullptr));
        }
    }
    if (device != "auto") {
        throw InvalidArgument("unknown device '" + std::string(device) +
                              "'; use auto, cpu, cuda or cuda:K");
    }
    std::string reason;
    if (!cuda_devices(&reason).empty()) {
        try {
            return Context(cuda_state(0, threads, nullptr));
        } catch (const Error& error) {
            reason = error.what();
        }
    }
    if (why_not_cuda != nullptr) *why_not_cuda = reason;
    return cpu(threads);
}

std::vector<DeviceDescription> cuda_devices(std::string* reason) {
    if constexpr (TESSERA_WITH_CUDA) return cuda::devices(reason);
    if (reason != nullptr) {
        *reason = "this build has no CUDA backend; TESSERA_CUDA=ON ./tessera builds one";
    }
    return {};
}

bool Context::on_gpu() const { return state_->device >= 0; }
int Context::device() const { return state_->device; }
int Context::threads() const { return state_->threads; }
InstructionSet Context::instruction_set() const { return state_->instruction_set; }
void* Context::stream() const { return state_->stream; }
std::string Context::description() const { return state_->description; }
Offset Context::memory_bytes() const { return state_->memory_bytes; }
Offset Context::peak_memory_bytes() const { return state_->peak_memory_bytes; }
Offset Context::free_memory() const { return state_->free_memory(); }
void Context::synchronize() const { state_->synchronize(); }
void Context::time_phases(bool timed) const { state_->timed = timed; }

std::function<void()> Context::capture(std::function<void()> work) const {
    require(work != nullptr, "capture: the function is empty");
    return state_->capture(std::move(work));
}

std::vector<PhaseRecord> Context::phases() const {
    state_->finish_phases();
    std::vector<PhaseRecord> records = state_->phases;
    for (PhaseRecord& record : records) record.sampled = state_->replayed;
    return records;
}

void Context::reset_phases() const {
    state_->finish_phases();
    state_->phases.clear();
    state_->replayed = false;
}

double Context::copy_bandwidth() const {
    double& best = state_->copy_bandwidth;
    if (best > 0) return best;
    const Offset bytes =
        std::min(on_gpu() ? Offset(1) << 30 : Offset(1) << 26, free_memory() / 8 / 4096 * 4096);
    if (bytes == 0) return 0;
    const Buffer<char> from(*this, bytes);
    Buffer<char> to(*this, bytes);
    for (int repetition = 0; repetition < 5; ++repetition) {
        synchronize();
        const double start = now();
        state_->copy_bytes(from.data(), to.data(), bytes);
        synchronize();
        best = std::max(best, 2.0 * double(bytes) / (now() - start));
    }
    return best;
}

}  // namespace tessera
