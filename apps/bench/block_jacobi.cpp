#include "bench.hpp"
#include "cuda_kernels.hpp"

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

void add_rows(Json& rows, const Context& context, const NamedMatrix& named,
              const CsrMatrix<double>& matrix, int bound) {
    const CsrView<double> a = matrix.view();
    Json common = {{"matrix", named.name}, {"rows", a.rows}, {"nonzeros", a.nonzeros},
                   {"type", "f64"},        {"n", bound},     {"layout", "variable"}};
    const auto row = [&](const char* op, const char* implementation, Timing timing, double bytes,
                         const BlockPartition* blocks) {
        Json line = {{"op", op}, {"implementation", implementation}};
        line.update(common);
        if (blocks != nullptr) line["batch"] = blocks->count;
        add_timing(line, context, timing, bytes);
        rows.push_back(line);
    };
    const double pattern_bytes = double(a.nonzeros) * 4 + double(a.rows) * 8;
    const Timing finding = measure(
        context, [&] { find_blocks(context, a, Index(bound)); }, 0.1);
    BlockPartition blocks = find_blocks(context, a, Index(bound));
    row("find_blocks", "tessera", finding, pattern_bytes, &blocks);

    const std::vector<Index> offsets = copy_to_host(context, blocks.block_offsets);
    const double inside = entries_in_blocks(named.matrix, offsets);
    const double stored = double(blocks.entries) * 8;
    BlockJacobi<double> preconditioner(context, a, std::move(blocks),
                                       {.singular = SingularPolicy::shift});
    const double once = double(a.rows) * 8 + double(a.nonzeros) * 4 + inside * 8 + stored;
    common["singular"] = preconditioner.singular_blocks();
    common["largest"] = preconditioner.blocks().largest;
    row("setup", "tessera", measure(context, [&] { preconditioner.update(context, a); }), once,
        &preconditioner.blocks());

    Buffer<double> r(context, a.rows), z(context, a.rows);
    fill(context, 1.0, r.view());
    const auto apply = [&] { preconditioner.apply(context, std::as_const(r).view(), z.view()); };
    row("apply", "tessera", measure(context, apply), stored + 16.0 * a.rows,
        &preconditioner.blocks());
}

#if TESSERA_WITH_CUDA
/// What the bar of the setup is made of: the paper's inversion kernel alone on as many blocks of
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

}  // namespace

Json block_jacobi(const Context& context, const Context& cpu, const std::string& folder,
                  const std::vector<std::string>& matrices, const std::vector<int>& bounds) {
    Json result = document(context, "block_jacobi");
    for (const std::string& name : matrices) {
        const NamedMatrix named = load(cpu, name, folder);
        const CsrMatrix<double> matrix = copy_to(context, named.matrix.view());
        for (const int bound : bounds) {
            add_rows(result["rows"], context, named, matrix, bound);
#if TESSERA_WITH_CUDA
            if (context.on_gpu()) add_paper_rows(result["rows"], context, named, matrix, bound);
#endif
        }
    }
    return result;
}

Json spmv(const Context& context, const Context& cpu, const std::string& folder,
          const std::vector<std::string>& matrices) {
    Json result = document(context, "spmv");
    for (const std::string& name : matrices) {
        const NamedMatrix named = load(cpu, name, folder);
        const CsrMatrix<double> matrix = copy_to(context, named.matrix.view());
        const CsrView<double> a = matrix.view();
        Buffer<double> x(context, a.columns), y(context, a.rows);
        fill(context, 1.0, x.view());
        SpmvPlan plan = plan_spmv(context, a);
        const int chosen = plan.lanes_per_row;
        for (const int lanes : {1, 2, 4, 8, 16, 32}) {
            if (!context.on_gpu() && lanes != chosen) continue;
            plan.lanes_per_row = lanes;
            Json line = {{"op", "spmv"},   {"implementation", "csr"},  {"matrix", named.name},
                         {"rows", a.rows}, {"nonzeros", a.nonzeros},   {"type", "f64"},
                         {"lanes", lanes}, {"chosen", lanes == chosen}};
            const auto work = [&] {
                multiply(context, a, plan, 1.0, std::as_const(x).view(), 0.0, y.view());
            };
            add_timing(line, context, measure(context, work), csr_bytes(a) + 16.0 * a.rows);
            result["rows"].push_back(line);
        }
    }
    return result;
}

}  // namespace tessera::bench
