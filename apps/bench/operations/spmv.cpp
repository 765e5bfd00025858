#include <algorithm>
#include <cmath>

#include "harness/bench.hpp"
#include "peers/spmv_peers.hpp"

namespace tessera::bench {

namespace {

/// One of each kind, and the paper's slices and threads for its figures 6 to 8.
const std::vector<std::string> default_formats = {
    "csr,lanes=1", "csr,lanes=2", "csr,lanes=4", "csr,lanes=8", "csr,lanes=16", "csr,lanes=32",
    "ell",         "ellr",        "sell:32",     "bell:{b}",    "bcsr:{b}",     "sbell:{b}"};

/// A format of the library, or a configuration of the papers to multiply: csr,lanes=N (N threads
/// per row), and on a GPU the kernels of paper_product: ell, bcsr, threads=N (sell, sbell). ellr:
/// the library's ell, which skips pads.
struct Configuration {
    FormatOptions options;
    int lanes = 0;
    bool paper = false;
    int threads = 0;
};

Configuration parse_configuration(const Context& context, std::string text) {
    const bool skips_pads = text.starts_with("ellr");
    if (skips_pads) text.erase(3, 1);
    Spec spec = Spec(text);
    Configuration configuration;
    if (spec.name() == "csr") configuration.lanes = int(spec.integer("lanes", 0, 1, 32));
    configuration.threads = int(spec.integer("threads", 0, 32, 1024));
    configuration.options = parse_format(spec);
    configuration.paper = context.on_gpu() &&
                          configuration.options.values == ValueFormat::working &&
                          (configuration.threads > 0 || spec.name() == "bcsr" ||
                           (spec.name() == "ell" && !skips_pads));
    if (configuration.threads > 0) configuration.options.index_bits = 32;
    return configuration;
}

std::string with_block(std::string text, Index block) {
    const auto at = text.find("{b}");
    return at == std::string::npos ? text : text.replace(at, 3, std::to_string(block));
}

/// The largest row sum of absolute values, and the largest number of entries of a row.
std::pair<double, Offset> row_sum_and_length(const CsrView<double>& a) {
    double largest = 0;
    Offset longest = 0;
    for (Index i = 0; i < a.rows; ++i) {
        double sum = 0;
        for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
            sum += std::abs(a.values[k]);
        }
        largest = std::max(largest, sum);
        longest = std::max(longest, a.row_offsets[i + 1] - a.row_offsets[i]);
    }
    return {largest, longest};
}

double rounding(ValueFormat format, bool f64) {
    if (format == ValueFormat::f16) return 0x1p-11;
    if (format == ValueFormat::bf16) return 0x1p-8;
    return format == ValueFormat::f32 || !f64 ? 0x1p-24 : 0;
}

/// The rows of one matrix with vectors of T.
template <class T>
class MatrixRows {
  public:
    MatrixRows(const Context& context, const NamedMatrix& named, const CsrMatrix<T>& host,
               const SpmvBench& bench)
        : context_(context),
          named_(named),
          bench_(bench),
          matrix_(copy_to(context, host.view())),
          x_(context, host.columns()),
          y_(context, host.rows()),
          expected_(context, host.rows()),
          blocks_(format_statistics(context, matrix_.view(), {})),
          row_(row_sum_and_length(named.matrix.view())) {
        fill_uniform(context, 1, x_.view());
        const CsrView<T> a = matrix_.view();
        multiply(context, a, plan_spmv(context, a), T(1), x(), T(0), expected_.view());
    }

    void add_formats(Json& result) {
        const auto& formats = bench_.formats.empty() ? default_formats : bench_.formats;
        for (const std::string& format : formats) {
            const std::string text = with_block(format, blocks_.block);
            const Configuration configuration = parse_configuration(context_, text);
            add_format(result, text, configuration);
            if (bench_.conversions && configuration.options.format != MatrixFormat::csr) {
                add_conversions(result, text, configuration.options);
            }
        }
    }

    void add_peers([[maybe_unused]] Json& result) {
#if TESSERA_WITH_CUDA
        for (const SpmvPeer& peer :
             cusparse_products<T>(context_, matrix_.view(), blocks_.block, x_.data(), y_.data())) {
            fill_with_nan();
            Json line = header(peer.name);
            add_timing(line, context_, measure(context_, peer.run, bench_.seconds),
                       roofline(sizeof(T), 32));
            finish(result, line, ValueFormat::working, 32);
        }
#endif
    }

  private:
    std::span<const T> x() const { return x_.view(); }
    void fill_with_nan() { fill(context_, std::numeric_limits<T>::quiet_NaN(), y_.view()); }

    /// Bytes of the values, one index per block, x and y, each once.
    double roofline(double value_bytes, int index_bits) const {
        const double block = blocks_.block;
        return double(blocks_.blocks) * (block * block * value_bytes + index_bits / 8) +
               vector_bytes();
    }
    double vector_bytes() const {
        return double(sizeof(T)) * (double(matrix_.rows()) + double(matrix_.columns()));
    }

    Json header(const std::string& implementation) const {
        return {{"op", "spmv"},
                {"implementation", implementation},
                {"matrix", named_.name},
                {"rows", matrix_.rows()},
                {"nonzeros", matrix_.nonzeros()},
                {"type", sizeof(T) == 8 ? "f64" : "f32"}};
    }

    /// The product for `configuration`.
    std::function<void()> product_of(const Configuration& configuration) {
        const CsrView<T> a = matrix_.view();
        if (configuration.options.format == MatrixFormat::csr) {
            const auto plan = std::make_shared<SpmvPlan>(plan_spmv(context_, a));
            if (configuration.lanes > 0) plan->lanes_per_row = configuration.lanes;
            return [=, this] { multiply(context_, a, *plan, T(1), x(), T(0), y_.view()); };
        }
        const auto sliced = std::make_shared<SlicedMatrix<T>>(
            SlicedMatrix<T>::from_csr(context_, a, configuration.options));
#if TESSERA_WITH_CUDA
        if (configuration.paper) {
            return [=, this] {
                paper_product(context_, *sliced, configuration.threads, x_.data(), y_.data());
            };
        }
#endif
        return [=, this] { multiply(context_, *sliced, T(1), x(), T(0), y_.view()); };
    }

    void add_format(Json& result, const std::string& text, const Configuration& configuration) {
        if (!context_.on_gpu() && (configuration.lanes > 1 || configuration.threads > 0)) return;
        const CsrView<T> a = matrix_.view();
        const FormatOptions& options = configuration.options;
        const auto product = product_of(configuration);
        const FormatStatistics statistics = format_statistics(context_, a, options);
        fill_with_nan();
        Json line = header(text);
        line["padding"] = statistics.padding();
        line["index_bits"] = statistics.index_bits;
        if (options.format == MatrixFormat::csr) {
            line["implementation"] = "csr";
            line["lanes"] = configuration.lanes;
            line["chosen"] = configuration.lanes == plan_spmv(context_, a).lanes_per_row;
        }
        add_timing(line, context_, measure(context_, product, bench_.seconds),
                   double(statistics.matrix_bytes_per_product) + vector_bytes());
        finish(result, line, options.values, statistics.index_bits);
    }

    /// Times the conversion from CSR, and an update of values; bytes are those of both sides, each
    /// once.
    void add_conversions(Json& result, const std::string& text, const FormatOptions& options) {
        const CsrView<T> a = matrix_.view();
        auto sliced = SlicedMatrix<T>::from_csr(context_, a, options);
        const double bytes = double(sliced.statistics().bytes) +
                             double(format_statistics(context_, a, {MatrixFormat::csr}).bytes);
        const auto add = [&](const char* op, const std::function<void()>& work) {
            Json line = header(text);
            line["op"] = op;
            add_timing(line, context_, measure(context_, work, bench_.seconds), bytes);
            result["rows"].push_back(line);
        };
        add("from_csr", [&] { SlicedMatrix<T>::from_csr(context_, a, options); });
        add("update", [&] { sliced.update(context_, a); });
    }

    static double value_size(ValueFormat format) {
        return format == ValueFormat::working ? sizeof(T) : format == ValueFormat::f32 ? 4 : 2;
    }

    /// The result is compared with the product of the CSR matrix.
    void finish(Json& result, Json& line, ValueFormat values, int index_bits) {
        const auto computed = copy_to_host(context_, y_);
        const auto expected = copy_to_host(context_, expected_);
        double error = 0;
        for (std::size_t i = 0; i < computed.size(); ++i) {
            const double difference = std::abs(double(computed[i]) - double(expected[i]));
            error = difference <= error ? error : difference;  // NaN propagates.
        }
        const double bound =
            row_.first * (rounding(values, sizeof(T) == 8) +
                          2 * double(row_.second + 2) * double(std::numeric_limits<T>::epsilon()));
        line["fraction_of_roofline"] = roofline(value_size(values), index_bits) /
                                       context_.copy_bandwidth() /
                                       (1e-3 * double(line["milliseconds"]));
        if (result.contains("triad_gbps")) {  // Compares the fastest times of both.
            line["fraction_of_triad"] = 1e-6 * double(line["bytes"]) /
                                        double(line["fastest_milliseconds"]) /
                                        double(result["triad_gbps"]);
        }
        line["gflops"] = 2e-6 * double(matrix_.nonzeros()) / double(line["milliseconds"]);
        line["error"] = error / bound;
        if (!(error <= bound)) {
            result["failed_checks"] = result.value("failed_checks", 0) + 1;
            line["failed"] = true;
        }
        result["rows"].push_back(line);
    }

    const Context& context_;
    const NamedMatrix& named_;
    const SpmvBench& bench_;
    CsrMatrix<T> matrix_;
    Buffer<T> x_, y_, expected_;
    FormatStatistics blocks_;
    std::pair<double, Offset> row_;
};

template <class T>
void add_rows(Json& result, const Context& context, const NamedMatrix& named,
              const CsrMatrix<T>& host, const SpmvBench& bench) {
    MatrixRows<T> rows(context, named, host, bench);
    rows.add_formats(result);
    if (bench.peers) rows.add_peers(result);
}

}  // namespace

Json spmv(const Context& context, const Context& cpu, const std::string& folder,
          const std::vector<std::string>& matrices, const SpmvBench& bench) {
    Json result = document(context, "spmv");
    if (!context.on_gpu()) result["triad_gbps"] = triad_rate(context) / 1e9;
    for (const std::string& name : matrices) {
        const NamedMatrix named = load(cpu, name, folder);
        for (const std::string& type : bench.types) {
            if (type == "f32") {
                add_rows<float>(result, context, named, rounded_to_float(cpu, named.matrix.view()),
                                bench);
            } else {
                add_rows<double>(result, context, named, named.matrix, bench);
            }
        }
    }
    return result;
}

}  // namespace tessera::bench
