#include <algorithm>
#include <functional>
#include <map>
#include <memory>

#include "harness/bench.hpp"
#include "harness/cuda_kernels.hpp"

namespace tessera::bench {

namespace {

double csr_bytes(const CsrView<double>& matrix) {
    return double(matrix.nonzeros) * 12 + double(matrix.rows) * 8;
}

/// Entries of the diagonal blocks, read from CSR.
double entries_in_blocks(const CsrMatrix<double>& host, const std::vector<Index>& offsets) {
    const CsrView<double> a = host.view();
    double count = 0;
    for (std::size_t b = 0; b + 1 < offsets.size(); ++b) {
        for (Index i = offsets[b]; i < offsets[b + 1]; ++i) {
            for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
                count += a.column_indices[k] >= offsets[b] && a.column_indices[k] < offsets[b + 1];
            }
        }
    }
    return count;
}

/// Common data of the rows of one matrix and bound.
struct Measured {
    const Context& context;
    const NamedMatrix& named;
    int bound = 0;
    bool uniform = false;
    std::string type;

    template <class T>
    void add(Json& rows, const char* op, const std::string& implementation, const Json& more,
             Timing timing, double bytes, const BlockPartition& blocks) const {
        const CsrView<double> a = named.matrix.view();
        Json line = {{"op", op},
                     {"implementation", implementation},
                     {"matrix", named.name},
                     {"rows", a.rows},
                     {"nonzeros", a.nonzeros},
                     {"type", type},
                     {"n", bound},
                     {"layout", uniform ? "uniform" : "variable"},
                     {"batch", blocks.count},
                     {"largest", blocks.largest}};
        line.update(more);
        add_timing(line, context, timing, bytes);
        rows.push_back(line);
    }
};

BlockPrecision precision_of(const std::string& word) {
    for (const BlockPrecision precision :
         {BlockPrecision::working, BlockPrecision::adaptive, BlockPrecision::f64,
          BlockPrecision::f32, BlockPrecision::bf16, BlockPrecision::f16}) {
        if (word == to_string(precision)) return precision;
    }
    throw InvalidArgument("there is no precision '" + word + "'");
}

template <class T>
BlockPartition partition_of(const Context& context, const CsrView<T>& a, int bound, bool uniform) {
    return uniform ? uniform_partition(context, a.rows, Index(bound))
                   : find_blocks(context, a, Index(bound));
}

/// The preconditioner as a sparse matrix with one entry per value of an inverse.
template <class T>
CsrMatrix<T> sparse_inverses(const Context& context, const BlockJacobi<T>& jacobi) {
    const std::vector<Index> rows = copy_to_host(context, jacobi.blocks().block_offsets);
    const std::vector<T> inverses = copy_to_host(context, jacobi.copy_inverses(context));
    std::vector<Offset> row_offsets{0};
    std::vector<Index> columns;
    std::vector<T> values;
    for (std::size_t b = 0; b + 1 < rows.size(); ++b) {
        const std::size_t first = values.size(), n = std::size_t(rows[b + 1] - rows[b]);
        for (std::size_t i = 0; i < n; ++i) {
            for (std::size_t j = 0; j < n; ++j) {
                columns.push_back(rows[b] + Index(j));
                values.push_back(inverses[first + i + j * n]);
            }
            row_offsets.push_back(Offset(columns.size()));
        }
    }
    const CsrView<T> view{jacobi.rows(),      jacobi.rows(),  Offset(values.size()),
                          row_offsets.data(), columns.data(), values.data()};
    return copy_to(context, view);
}

/// Applications of the inverses: to several vectors, and as a sparse matrix.
template <class T>
void add_applications(Json& rows, const Measured& measured, const BlockJacobi<T>& jacobi,
                      const std::string& precision, const BlockJacobiBench& bench) {
    const Context& context = measured.context;
    const Offset n = jacobi.rows();
    const double stored = double(jacobi.report().stored_bytes);
    const BlockPartition& blocks = jacobi.blocks();
    for (const int vectors : bench.vectors) {
        Buffer<T> r(context, n * vectors), z(context, n * vectors);
        fill(context, T(1), r.view());
        const auto apply = [&] {
            jacobi.apply_vectors(context, Vectors<const T>(r.data(), n, vectors, n),
                                 Vectors<T>(z.data(), n, vectors, n));
        };
        measured.add<T>(rows, "apply", "tessera", {{"precision", precision}, {"vectors", vectors}},
                        measure(context, apply, bench.seconds),
                        stored + 2.0 * vectors * double(n) * sizeof(T), blocks);
    }
    if (!bench.as_sparse_matrix || precision != "working") return;
    const CsrMatrix<T> sparse = sparse_inverses(context, jacobi);
    const SpmvPlan plan = plan_spmv(context, sparse.view());
    Buffer<T> r(context, n), z(context, n);
    fill(context, T(1), r.view());
    const auto apply = [&] {
        multiply(context, sparse.view(), plan, T(1), std::as_const(r).view(), T(0), z.view());
    };
    measured.add<T>(rows, "apply", "generic_spmv", {{"precision", precision}, {"vectors", 1}},
                    measure(context, apply, bench.seconds), stored + 2.0 * double(n) * sizeof(T),
                    blocks);
}

/// One setup: by the library (automatic; the paper's shared_multiple), or with one of the paper's
/// other extractions.
template <class T>
std::function<void()> setup_by(const Context& context, const std::string& extraction,
                               const CsrView<T>& a, BlockJacobi<T>& jacobi) {
    if (extraction == "automatic" || extraction == "shared_multiple") {
        return [&context, &jacobi, a] { jacobi.update(context, a); };
    }
#if TESSERA_WITH_CUDA
    static const std::map<std::string, PaperExtraction> configurations = {
        {"cached", PaperExtraction::cached},
        {"shared_full", PaperExtraction::shared_full},
        {"shared", PaperExtraction::shared}};
    if (configurations.contains(extraction) && context.on_gpu()) {
        auto inverses = std::make_shared<Buffer<T>>(context, jacobi.blocks().entries);
        return [&context, &jacobi, a, inverses, configuration = configurations.at(extraction)] {
            paper_block_jacobi_setup(context, configuration, a, jacobi.blocks(),
                                     jacobi.details().offsets, inverses->data());
        };
    }
#endif
    throw InvalidArgument("there is no extraction '" + extraction + "' on this device");
}

template <class T>
void add_rows(Json& rows, const Context& context, const NamedMatrix& named, const CsrView<T>& a,
              int bound, const BlockJacobiBench& bench) {
    const Measured measured{context, named, bound, bench.uniform, sizeof(T) == 8 ? "f64" : "f32"};
    BlockPartition blocks = partition_of(context, a, bound, bench.uniform);
    if (!bench.uniform) {
        measured.add<T>(rows, "find_blocks", "tessera", Json::object(),
                        measure(
                            context, [&] { find_blocks(context, a, Index(bound)); }, bench.seconds),
                        double(a.nonzeros) * 4 + double(a.rows) * 8, blocks);
    }
    const double inside =
        entries_in_blocks(named.matrix, copy_to_host(context, blocks.block_offsets));
    const double once = double(a.rows) * 8 + double(a.nonzeros) * 4 + inside * sizeof(T) +
                        double(blocks.entries) * sizeof(T);
    for (const std::string& precision : bench.precisions) {
        BlockJacobiOptions options;
        options.singular = SingularPolicy::identity;
        options.precision = precision_of(precision);
        BlockJacobi<T> jacobi(context, a, partition_of(context, a, bound, bench.uniform), options);
        for (const std::string& extraction : bench.extractions) {
            const auto setup = setup_by(context, extraction, a, jacobi);
            measured.add<T>(rows, "setup", extraction,
                            {{"precision", precision}, {"singular", jacobi.singular_blocks()}},
                            measure(context, setup, bench.seconds), once, jacobi.blocks());
        }
        add_applications(rows, measured, jacobi, precision, bench);
    }
}

#if TESSERA_WITH_CUDA
/// Reference for the setup: the paper's inversion kernel alone on an equal number of blocks of
/// `bound`, and one pass over the CSR arrays.
void add_paper_rows(Json& rows, const Context& context, const NamedMatrix& named,
                    const CsrMatrix<double>& matrix, int bound) {
    const CsrView<double> a = matrix.view();
    if (bound < 1 || bound > 32) return;
    const BlockPartition blocks = find_blocks(context, a, Index(bound));
    const Offset entries = Offset(bound) * bound * blocks.count;
    Buffer<double> in(context, entries), out(context, entries);
    fill_uniform(context, 1, in.view());
    Json line = {{"op", "invert"},
                 {"implementation", "paper_multiple"},
                 {"matrix", named.name},
                 {"rows", a.rows},
                 {"nonzeros", a.nonzeros},
                 {"type", "f64"},
                 {"n", bound},
                 {"batch", blocks.count},
                 {"layout", "uniform"}};
    add_timing(
        line, context,
        measure(context,
                [&] { paper_multiple(context, bound, blocks.count, in.data(), out.data()); }),
        16.0 * double(entries));
    rows.push_back(line);
    line["op"] = "read_csr";
    line["implementation"] = "one_pass";
    Buffer<double> sink(context, 1);
    add_timing(line, context, measure(context, [&] { read_csr(context, a, sink.data()); }),
               csr_bytes(a));
    rows.push_back(line);
}
#endif

/// The rows of one matrix.
void add_matrix(Json& rows, const Context& context, const NamedMatrix& named, const Context& cpu,
                const std::vector<int>& bounds, const BlockJacobiBench& bench) {
    const CsrMatrix<double> matrix = copy_to(context, named.matrix.view());
    CsrMatrix<float> narrow;
    if (std::ranges::count(bench.types, "f32") > 0) {
        narrow = copy_to(context, rounded_to_float(cpu, named.matrix.view()).view());
    }
    for (const int bound : bounds) {
        for (const std::string& type : bench.types) {
            if (type == "f32") {
                add_rows<float>(rows, context, named, narrow.view(), bound, bench);
            } else {
                add_rows<double>(rows, context, named, matrix.view(), bound, bench);
            }
        }
#if TESSERA_WITH_CUDA
        if (context.on_gpu() && bench.paper_rows) {
            add_paper_rows(rows, context, named, matrix, bound);
        }
#endif
    }
}

}  // namespace

Json block_jacobi(const Context& context, const Context& cpu, const std::string& folder,
                  const std::vector<std::string>& matrices, const BlockJacobiBench& bench) {
    static constexpr std::string_view place = "{n}";
    Json result = document(context, "block_jacobi");
    for (const std::string& name : matrices) {
        const auto position = name.find(place);
        if (position == std::string::npos) {
            add_matrix(result["rows"], context, load(cpu, name, folder), cpu, bench.bounds, bench);
            continue;
        }
        for (const int bound : bench.bounds) {
            NamedMatrix named =
                load(cpu, std::string(name).replace(position, place.size(), std::to_string(bound)),
                     folder);
            named.name = name;
            add_matrix(result["rows"], context, named, cpu, {bound}, bench);
        }
    }
    return result;
}

}  // namespace tessera::bench
