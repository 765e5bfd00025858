#include <algorithm>
#include <chrono>
#include <filesystem>

#include "harness/bench.hpp"
#include "harness/cuda_kernels.hpp"

namespace tessera::bench {

std::string json_text(const Json& value, int indent) {
    return value.dump(indent, ' ', true, Json::error_handler_t::replace);
}

Json document(const Context& context, const std::string& bench) {
    return {{"schema", "tessera-bench/1"},  {"bench", bench},
            {"commit", commit()},           {"device", context.description()},
            {"threads", context.threads()}, {"copy_gbps", context.copy_bandwidth() / 1e9},
            {"rows", Json::array()}};
}

namespace {

double seconds_of([[maybe_unused]] const Context& context, int count,
                  const std::function<void()>& work) {
#if TESSERA_WITH_CUDA
    if (context.on_gpu()) return seconds_on_gpu(context, count, work);
#endif
    const auto start = std::chrono::steady_clock::now();
    for (int k = 0; k < count; ++k) work();
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    return elapsed.count() / count;
}

}  // namespace

Timing measure(const Context& context, const std::function<void()>& work, double seconds) {
    return measure(
        context, work, seconds, [] {}, 200);
}

Timing measure(const Context& context, const std::function<void()>& work, double seconds,
               const std::function<void()>& restore, Offset runs) {
    restore();
    double once = seconds_of(context, 1, work);
    if (once > 0.02) {  // Possibly only because the first use of a kernel loads it.
        restore();
        once = seconds_of(context, 1, work);
    }
    const bool slow = once > 0.02;  // Slow work has few samples, without another warm-up.
    const int warm_up = int(std::min<Offset>(3, runs));
    for (int k = 0; k < 2 && !slow; ++k) {
        restore();
        once = std::max(1e-7, seconds_of(context, warm_up, work));
    }
    const std::size_t min_samples = slow ? 3 : 9;
    // A sample is long enough for the events around it to be negligible.
    const int inside = int(std::clamp(1e-3 / once, 1.0, double(std::min<Offset>(runs, 200))));
    std::vector<double> samples;
    double total = 0;
    while (samples.size() < min_samples || (total < seconds && samples.size() < 200)) {
        restore();
        samples.push_back(seconds_of(context, inside, work));
        total += samples.back() * inside;
    }
    std::sort(samples.begin(), samples.end());
    const double median = samples[samples.size() / 2];
    const double range = samples[3 * samples.size() / 4] - samples[samples.size() / 4];
    return {1e3 * median, range / median, 1e3 * samples.front()};
}

double measure_read_bandwidth([[maybe_unused]] const Context& context) {
#if TESSERA_WITH_CUDA
    if (context.on_gpu()) {
        const Offset count = Offset(1) << 27;
        Buffer<double> values(context, count), sink(context, 1);
        fill(context, 1.0, values.view());
        const Timing timing = measure(
            context, [&] { read_values(context, values.data(), count, sink.data()); }, 0.05);
        return 8.0 * double(count) / (1e-3 * timing.milliseconds);
    }
#endif
    return 0;
}

void add_timing(Json& row, const Context& context, const Timing& timing, double bytes) {
    row["milliseconds"] = timing.milliseconds;
    row["spread"] = timing.spread;
    if (!context.on_gpu()) row["fastest_milliseconds"] = timing.fastest;
    row["bytes"] = bytes;
    row["fraction_of_copy"] = bytes / (1e-3 * timing.milliseconds) / context.copy_bandwidth();
}

NamedMatrix load(const Context& cpu, const std::string& name, const std::string& folder) {
    for (const char* ending : {"", ".mtx.gz", ".mtx", ".petsc"}) {
        const std::string path = (folder.empty() ? "" : folder + "/") + name + ending;
        if (std::filesystem::is_regular_file(path)) {
            return {name, io::read_matrix<double>(cpu, path), {}};
        }
    }
    auto problem = problems::generate<double>(cpu, Spec(name));
    return {name, std::move(problem.matrix), std::move(problem.load),
            std::move(problem.coordinates)};
}

}  // namespace tessera::bench
