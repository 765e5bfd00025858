#include "tessera/context.hpp"

#include <unistd.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "base/context_state.hpp"
#include "base/dispatch.hpp"
#include "base/phases.hpp"
#include "base/runtime_cuda.hpp"

namespace tessera {

using cuda::with_cuda;

const char* to_string(Backend backend) { return backend == Backend::cpu ? "cpu" : "cuda"; }

const char* to_string(InstructionSet set) {
    return set == InstructionSet::sse4 ? "sse4" : set == InstructionSet::avx2 ? "avx2" : "avx512";
}

void throw_cuda_not_built() {
    throw NotBuilt(
        "this build of Tessera has no CUDA backend: install the CUDA toolkit (nvcc), then build "
        "again");
}

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

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

namespace {

/// More than any machine has cores; tens of thousands crash the OpenMP runtime.
constexpr int most_threads = 1024;

InstructionSet choose_instruction_set() {
    const auto sets = instruction_sets();
    if (sets.empty()) {
        throw InvalidArgument("this CPU lacks SSE4.2 and POPCNT (x86-64-v2), which Tessera needs");
    }
    const char* wish = std::getenv("TESSERA_ISA");
    if (wish == nullptr || *wish == '\0') return sets.back();
    for (const InstructionSet set : sets) {
        if (std::strcmp(wish, to_string(set)) == 0) return set;
    }
    std::string message = std::string("TESSERA_ISA=") + wish + ": this CPU has";
    for (const InstructionSet set : sets) message += std::string(" ") + to_string(set);
    throw InvalidArgument(message);
}

/// Builds without OpenMP (the fuzz targets) run on one thread.
int available_threads() {
#ifdef _OPENMP
    return std::clamp(omp_get_max_threads(), 1, most_threads);
#else
    return 1;
#endif
}

std::shared_ptr<ContextState> make_state(int threads) {
    require(threads >= 0 && threads <= most_threads, "threads must be within 0 (all) and 1024");
    auto state = std::make_shared<ContextState>();
    state->threads = threads > 0 ? threads : available_threads();
    state->instruction_set = choose_instruction_set();
    const char* poison = std::getenv("TESSERA_POISON");
    state->poison = poison != nullptr && std::strcmp(poison, "1") == 0;
    return state;
}

}  // namespace

Context Context::cpu(int threads) {
    auto state = make_state(threads);
    static const char* const names[] = {"SSE4", "AVX2", "AVX-512"};
    state->description = "CPU, " + std::to_string(state->threads) +
                         (state->threads == 1 ? " thread, " : " threads, ") +
                         names[int(state->instruction_set)];
    return Context(std::move(state));
}

Context Context::cuda(int device, int threads) {
    if constexpr (with_cuda) {
        std::string reason;
        const auto found = cuda::devices(&reason);
        if (found.empty()) throw DeviceError("CUDA cannot be used: " + reason);
        if (device < 0 || device >= int(found.size())) {
            throw DeviceError("there is no CUDA device " + std::to_string(device) + ", only 0.." +
                              std::to_string(found.size() - 1));
        }
        const DeviceDescription& chosen = found[std::size_t(device)];
        if (chosen.compute_capability < 80) {
            throw DeviceError(chosen.name + " has compute capability " +
                              std::to_string(chosen.compute_capability / 10) + "." +
                              std::to_string(chosen.compute_capability % 10) +
                              "; Tessera needs 8.0 or newer");
        }
        auto state = make_state(threads);
        state->stream = cuda::create_stream(device);
        state->backend = Backend::cuda;
        state->device = device;
        state->pool = cuda::create_pool(device);
        state->description = chosen.name;
        return Context(std::move(state));
    } else {
        throw_cuda_not_built();
    }
}

Context Context::from_name(std::string_view device, int threads, std::string* why_not_cuda) {
    if (device == "cpu") return cpu(threads);
    if (device == "cuda") return cuda(0, threads);
    if (device.starts_with("cuda:")) {
        const std::string number(device.substr(5));
        char* end = nullptr;
        const long k = std::strtol(number.c_str(), &end, 10);
        if (!number.empty() && *end == '\0' && k >= 0 && k < 1024) return cuda(int(k), threads);
    }
    if (device != "auto") {
        throw InvalidArgument("device '" + std::string(device) +
                              "' is none of auto, cpu, cuda, cuda:K");
    }
    std::string reason;
    if (!cuda_devices(&reason).empty()) {
        try {
            return cuda(0, threads);
        } catch (const Error& error) {
            reason = error.what();
        }
    }
    if (why_not_cuda != nullptr) *why_not_cuda = reason;
    return cpu(threads);
}

std::vector<DeviceDescription> cuda_devices(std::string* reason) {
    if constexpr (with_cuda) {
        return cuda::devices(reason);
    } else {
        if (reason != nullptr)
            *reason = "this build has no CUDA backend; TESSERA_CUDA=ON ./tessera builds one";
        return {};
    }
}

Backend Context::backend() const { return state_->backend; }
int Context::device() const { return state_->device; }
int Context::threads() const { return state_->threads; }
InstructionSet Context::instruction_set() const { return state_->instruction_set; }
void* Context::stream() const { return state_->stream; }
std::string Context::description() const { return state_->description; }
MemoryUse Context::memory() const { return state_->memory; }

void Context::synchronize() const {
    if constexpr (with_cuda) {
        if (on_gpu()) cuda::synchronize(state_->device, state_->stream);
    }
}

namespace {
/// Bytes to be had without swapping. The page cache counts (it gives way); pages that are free
/// outright are few right after a large file was read.
Offset available_host_memory() {
    std::ifstream file("/proc/meminfo");
    std::string key, unit;
    for (Offset kibibytes = 0; file >> key >> kibibytes >> unit;) {
        if (key == "MemAvailable:") return kibibytes * 1024;
    }
    return Offset(sysconf(_SC_AVPHYS_PAGES)) * Offset(sysconf(_SC_PAGESIZE));
}
}  // namespace

Offset Context::free_memory() const {
    if constexpr (with_cuda) {
        if (on_gpu()) {
            return cuda::free_memory(state_->device, state_->pool, state_->stream);
        }
    }
    return available_host_memory();
}

double Context::copy_rate() const {
    ContextState& state = *state_;
    if (state.copy_rate > 0) return state.copy_rate;
    const Offset bytes =
        std::min(on_gpu() ? Offset(1) << 30 : Offset(1) << 26, free_memory() / 8 / 4096 * 4096);
    if (bytes == 0) return 0;
    const Buffer<char> from(*this, bytes);
    Buffer<char> to(*this, bytes);
    double best = 0;
    for (int repetition = 0; repetition < 5; ++repetition) {
        synchronize();
        const double start = now();
        detail::copy_bytes(*this, from.data(), to.data(), bytes);
        synchronize();
        best = std::max(best, 2.0 * double(bytes) / (now() - start));
    }
    state.copy_rate = best;
    return best;
}

struct Graph::State {
    std::shared_ptr<ContextState> context;
    std::function<void()> work;
    void* graph = nullptr;
    ~State() {
        if constexpr (with_cuda) {
            if (graph != nullptr) cuda::destroy_graph(graph);
        }
    }
};

Graph Context::capture(std::function<void()> work) const {
    auto recorded = std::make_shared<Graph::State>();
    recorded->context = state_;
    if constexpr (with_cuda) {
        if (on_gpu()) {
            state_->capturing = true;
            try {
                recorded->graph = cuda::capture(state_->device, state_->stream, work);
            } catch (...) {
                state_->capturing = false;
                throw;
            }
            state_->capturing = false;
        }
    }
    recorded->work = std::move(work);
    return Graph(std::move(recorded));
}

void Graph::launch() const {
    require(state_ != nullptr, "Graph::launch: nothing was captured");
    if constexpr (with_cuda) {
        if (state_->graph != nullptr) {
            state_->context->replayed = true;
            cuda::launch_graph(state_->context->device, state_->graph, state_->context->stream);
            return;
        }
    }
    state_->work();
}

ContextState::~ContextState() {
    if (backend == Backend::cpu) {
        for (const Scratch& scratch : reductions) std::free(scratch.memory);
        return;
    }
    if constexpr (with_cuda) {
        for (const PendingPhase& phase : pending) {
            cuda::destroy_event(phase.begin);
            cuda::destroy_event(phase.end);
        }
        for (void* event : free_events) cuda::destroy_event(event);
        if (host_scratch != nullptr) cuda::release_on_host(host_scratch);
        for (const Scratch& scratch : reductions) cuda::release(device, stream, scratch.memory);
        cuda::destroy_stream(device, stream);
        if (pool != nullptr) cuda::destroy_pool(device, pool);
    }
}

void* reduction_scratch(const Context& context, Offset bytes) {
    ContextState& state = context.state();
    if (!state.reductions.empty() && state.reductions.back().bytes >= bytes) {
        return state.reductions.back().memory;
    }
    require(!state.capturing, "reduction_scratch: must not grow inside a capture");
    bytes = std::max<Offset>(2 * bytes, 65536);
    void* memory = nullptr;
    if (context.on_gpu()) {
        if constexpr (with_cuda) {
            memory = cuda::allocate(state.device, state.pool, state.stream, bytes);
            cuda::fill_bytes(state.device, state.stream, memory, 0, bytes);
        }
    } else {
        memory = std::aligned_alloc(64, std::size_t(bytes + 63) / 64 * 64);
        if (memory == nullptr) throw OutOfMemory("out of memory for partial sums");
        std::memset(memory, 0, std::size_t(bytes));
    }
    ++state.allocations;
    state.reductions.push_back({memory, bytes});
    return memory;
}

void* host_scratch(const Context& context) {
    ContextState& state = context.state();
    if constexpr (with_cuda) {
        if (state.host_scratch == nullptr) {
            state.host_scratch = cuda::allocate_on_host(state.device, host_scratch_bytes);
        }
    }
    return state.host_scratch;
}

}  // namespace tessera
