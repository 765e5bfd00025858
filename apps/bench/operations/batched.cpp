#include "operations/batched.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <tuple>

#include "harness/cuda_kernels.hpp"
#include "operations/implementations.hpp"
#include "operations/residuals.hpp"

namespace tessera::bench {

namespace {

/// Number of matrices whose results are checked before a row is timed.
constexpr Index samples = 64;

Json number_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

/// "1-32" or "4,8,20-24".
std::string sizes_text(const std::vector<int>& sizes) {
    std::string text;
    for (std::size_t first = 0; first < sizes.size();) {
        std::size_t last = first;
        while (last + 1 < sizes.size() && sizes[last + 1] == sizes[last] + 1) ++last;
        text += (text.empty() ? "" : ",") + std::to_string(sizes[first]);
        if (last > first) text += "-" + std::to_string(sizes[last]);
        first = last + 1;
    }
    return text;
}

/// The worst error of some results, including the first that the operation reports as failed.
template <class T>
double worst_error(Workload<T>& work, const Implementation<T>& implementation) {
    const Index batch = work.shape().batch;
    work.fill_outputs_with_nan();
    implementation.run(0);
    work.context().synchronize();
    if (implementation.overwrites) work.restore_inputs();
    std::vector<Index> looked_at;
    const Index count = std::min(batch, samples);
    for (Index k = 0; k < count; ++k) {
        looked_at.push_back(Index(Offset(batch - 1) * k / std::max(1, count - 1)));
    }
    if (implementation.writes_info) {
        std::vector<Index> info(static_cast<std::size_t>(batch));
        copy_to_host(work.context(), {work.info(0), info.size()}, std::span(info));
        const auto failed = std::ranges::find_if(info, [](Index k) { return k != 0; });
        if (failed != info.end()) looked_at.push_back(Index(failed - info.begin()));
    }
    double worst = 0;
    for (const Index b : looked_at) {
        if (implementation.writes_info &&
            invert_exactly(work.shape().size(b), work.host_a(b)).singular) {
            continue;
        }
        worst = larger(worst, implementation.error(b));
    }
    return worst;
}

template <class T>
Timing time(Workload<T>& work, const Implementation<T>& implementation, double seconds) {
    Offset set = 0;
    const auto next = [&] {
        implementation.run(set);
        set = (set + 1) % work.sets();
    };
    if (!implementation.overwrites) return measure(work.context(), next, seconds);
    const auto restore = [&] {
        work.restore_inputs();
        set = 0;
    };
    return measure(work.context(), next, seconds, restore, work.sets());
}

template <class T>
class Study {
  public:
    Study(const Context& context, const BatchedOptions& options, Json& document)
        : context_(context), options_(options), document_(document) {}

    void run() {
        for (const int batch : options_.batches) {
            for (const std::string& layout : options_.layouts) {
                if (layout == "variable") {
                    variable(Index(batch));
                    continue;
                }
                for (const int n : options_.sizes) {
                    measure_shape(uniform_shape(Index(batch), Index(n), layout), options_.peers);
                }
            }
        }
    }

  private:
    /// Operation, implementation, rows, matrices.
    using Key = std::tuple<std::string, std::string, Index, Index>;

    void measure_shape(const Shape& shape, bool peers) {
        Workload<T> work(context_, shape);
        for (const std::string& op : options_.ops) {
            Implementations<T> implementations = library(op, work);
            for (Implementation<T>& implementation : bandwidth(op, work))
                implementations.push_back(implementation);
            if (peers) {
                for (const auto& find : {paper_peers<T>, lapack_peers<T>, eigen_peers<T>}) {
                    for (Implementation<T>& implementation : find(op, work))
                        implementations.push_back(implementation);
                }
#if TESSERA_WITH_CUDA
                for (Implementation<T>& implementation : cublas_peers(op, work))
                    implementations.push_back(implementation);
#endif
            }
            for (const Implementation<T>& implementation : implementations)
                add(work, implementation);
        }
    }

    Json new_row(const Shape& shape, const Implementation<T>& implementation) const {
        Json row = {{"op", implementation.op},
                    {"implementation", implementation.name},
                    {"type", sizeof(T) == 4 ? "f32" : "f64"},
                    {"n", shape.has_varying_sizes() ? Json(nullptr) : Json(shape.n)},
                    {"batch", shape.batch},
                    {"layout", shape.layout}};
        if (shape.has_varying_sizes()) row["sizes"] = sizes_text(options_.sizes);
        return row;
    }

    void add(Workload<T>& work, const Implementation<T>& implementation) {
        const Shape& shape = work.shape();
        Json row = new_row(shape, implementation);
        const double error = worst_error(work, implementation);
        if (!(error < implementation.bound)) {
            std::fprintf(stderr, "tessera-bench: wrong results, so not timed: %s, error %g of %g\n",
                         json_text(row).c_str(), error, implementation.bound);
            document_["failed_checks"] = document_["failed_checks"].template get<int>() + 1;
            row["milliseconds"] = nullptr;
            row["residual_ratio"] = number_or_null(error);
            document_["rows"].push_back(row);
            return;
        }
        const Timing timing = time(work, implementation, options_.seconds);
        add_timing(row, context_, timing, implementation.bytes);
        row["gflops"] = implementation.operations / (1e6 * timing.milliseconds);
        row["residual_ratio"] = error;
        if (!implementation.variant.empty()) row["variant"] = implementation.variant;
        if (shape.has_varying_sizes())
            row["predicted_milliseconds"] = predict_from_uniform(shape, implementation);
        Json& rows = document_["rows"];
        // Another variant of one implementation: the faster one is reported.
        if (!implementation.variant.empty() && !rows.empty() && same_row(rows.back(), row)) {
            if (rows.back()["milliseconds"] > row["milliseconds"]) rows.back() = row;
            return;
        }
        if (shape.layout == "uniform") {
            uniform_[{implementation.op, implementation.name, shape.n, shape.batch}] =
                timing.milliseconds / shape.batch;
        }
        rows.push_back(row);
    }

    static bool same_row(const Json& one, const Json& other) {
        for (const char* key : {"op", "implementation", "type", "n", "batch", "layout"}) {
            if (one[key] != other[key]) return false;
        }
        return one["milliseconds"].is_number();
    }

    /// The time of a batch of different sizes predicted from the times of each size alone.
    void variable(Index batch) {
        for (const int n : options_.sizes) {
            const Key key{library_name(options_.ops.front()).first,
                          library_name(options_.ops.front()).second, Index(n), batch};
            if (!uniform_.contains(key)) measure_shape(uniform_shape(batch, n, "uniform"), false);
        }
        measure_shape(variable_shape(batch, options_.sizes), options_.peers);
    }

    static std::pair<std::string, std::string> library_name(const std::string& op) {
        return {op, op == "condition" ? "fused" : "tessera"};
    }

    Json predict_from_uniform(const Shape& shape, const Implementation<T>& implementation) const {
        double total = 0;
        for (const Index size : shape.sizes) {
            const auto entry =
                uniform_.find({implementation.op, implementation.name, size, shape.batch});
            if (entry == uniform_.end()) return nullptr;
            total += entry->second;
        }
        return total;
    }

    Context context_;
    const BatchedOptions& options_;
    Json& document_;
    std::map<Key, double> uniform_;  ///< Milliseconds per matrix.
};

/// Errors of condition numbers against long double: Fig. 3 of the paper on condition numbers.
template <class T>
void add_accuracy(const Context& context, const std::vector<int>& sizes, Json& rows) {
    constexpr Index batch = 100;
    for (const int n : sizes) {
        Workload<T> work(context, uniform_shape(batch, Index(n), "uniform"), false);
        batched::ConditionResults<T> results;
        results.reciprocal_condition = work.numbers(0, 0);
        batched::condition<T>(context, work.a(0), results);
        long double sum = 0, largest = 0, conditions = 0, worst = 0;
        for (Index b = 0; b < batch; ++b) {
            const long double exact = invert_exactly(Index(n), work.host_a(b)).condition;
            const long double error = std::abs(1 / (long double)work.host_number(0, b) / exact - 1);
            sum += error;
            largest = larger(largest, error);
            conditions = std::max(conditions, exact);
            worst = larger(worst, error / (10 * n * std::numeric_limits<T>::epsilon() * exact));
        }
        rows.push_back({{"op", "accuracy"},
                        {"implementation", "condition_only"},
                        {"type", sizeof(T) == 4 ? "f32" : "f64"},
                        {"n", n},
                        {"batch", batch},
                        {"layout", "uniform"},
                        {"mean_relative_error", number_or_null(double(sum / batch))},
                        {"largest_relative_error", number_or_null(double(largest))},
                        {"largest_condition", double(conditions)},
                        {"residual_ratio", number_or_null(double(worst))}});
    }
}

#if TESSERA_WITH_CUDA
/// Resources of the papers' kernels on a multiprocessor.
template <class T>
void add_registers(const std::vector<int>& sizes, Json& rows) {
    for (const int n : sizes) {
        for (const bool multiple : {false, true}) {
            if (n > 32) continue;
            const KernelResources use = multiple ? paper_multiple_use<T>(n) : paper_single_use<T>();
            rows.push_back({{"op", "registers"},
                            {"implementation", multiple ? "paper_multiple" : "paper_single"},
                            {"type", sizeof(T) == 4 ? "f32" : "f64"},
                            {"n", n},
                            {"registers", use.registers},
                            {"local_bytes", use.local_bytes},
                            {"threads_per_block", use.threads},
                            {"blocks_per_multiprocessor", use.blocks}});
        }
    }
}
#endif

template <class T>
void run(const Context& context, BatchedOptions options, Json& document) {
    const auto take = [&](const char* op) { return std::erase(options.ops, op) > 0; };
    if (take("accuracy")) add_accuracy<T>(context, options.sizes, document["rows"]);
    if (take("registers")) {
        if (!context.on_gpu()) throw InvalidArgument("--op registers needs --device cuda");
#if TESSERA_WITH_CUDA
        add_registers<T>(options.sizes, document["rows"]);
#endif
    }
    if (!options.ops.empty()) Study<T>(context, options, document).run();
}

}  // namespace

std::vector<int> parse_sizes(const std::string& text) {
    std::vector<int> sizes;
    const auto fail = [&]() -> InvalidArgument {
        return InvalidArgument("'" + text +
                               "' is not a list of sizes; write 4,8,16-32 with sizes of 1.." +
                               std::to_string(batched::largest_size));
    };
    std::size_t position = 0;
    const auto number = [&] {
        int value = 0;
        const std::size_t start = position;
        while (position < text.size() && text[position] >= '0' && text[position] <= '9' &&
               value < 1000) {
            value = 10 * value + (text[position++] - '0');
        }
        if (position == start || value < 1 || value > batched::largest_size) throw fail();
        return value;
    };
    while (true) {
        const int first = number();
        int last = first;
        if (position < text.size() && text[position] == '-') {
            ++position;
            last = number();
        }
        if (last < first) throw fail();
        for (int n = first; n <= last; ++n) sizes.push_back(n);
        if (position == text.size()) break;
        if (text[position++] != ',') throw fail();
    }
    std::sort(sizes.begin(), sizes.end());
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    return sizes;
}

Json batched(const Context& context, const BatchedOptions& options) {
    Json result = document(context, "batched");
    if (const double rate = measure_read_bandwidth(context); rate > 0)
        result["read_gbps"] = rate / 1e9;
    result["failed_checks"] = 0;
    for (const std::string& type : options.types) {
        if (type == "f32")
            run<float>(context, options, result);
        else
            run<double>(context, options, result);
    }
    return result;
}

}  // namespace tessera::bench
