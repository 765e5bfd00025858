#include "operations/factor.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <random>

#include "harness/cuda_kernels.hpp"

namespace tessera::bench {

namespace {

using batched::Factorisation;
using batched::Pivoting;

struct Variant {
    Pivoting pivoting;
    std::optional<Workspace> workspace;  ///< Not set: the library's choice.
};

Factorisation factorisation_of(const std::string& op) {
    return op == "ldu"   ? Factorisation::ldu
           : op == "llt" ? Factorisation::llt
                         : Factorisation::ldlt;
}

std::vector<Pivoting> pivotings_of(Factorisation factorisation) {
    switch (factorisation) {
        case Factorisation::ldu:
            return {Pivoting::fixed, Pivoting::partial, Pivoting::full};
        case Factorisation::llt:
            return {Pivoting::fixed, Pivoting::full};
        default:
            return {Pivoting::fixed, Pivoting::bunch_kaufman, Pivoting::rook, Pivoting::full};
    }
}

std::optional<Workspace> workspace_of(const std::string& name) {
    if (name == "registers") return Workspace::registers;
    if (name == "shared_memory") return Workspace::shared_memory;
    return std::nullopt;
}

/// Runs a kernel of the paper, which has a choice of workspace; false if there is none.
template <class T>
bool run_paper([[maybe_unused]] const Context& context,
               [[maybe_unused]] Factorisation factorisation, [[maybe_unused]] Pivoting pivoting,
               [[maybe_unused]] Workspace workspace,
               [[maybe_unused]] const FactorArguments<T>& arguments) {
#if TESSERA_WITH_CUDA
    if (!context.on_gpu()) return false;
    const auto run = [&](auto&& fixed, auto&& full) {
        return (pivoting == Pivoting::fixed ? fixed : full)(context, workspace, arguments);
    };
    switch (factorisation) {
        case Factorisation::ldu: {
            constexpr auto partial = &paper::ldu_in<Pivoting::partial, T>;
            if (pivoting == Pivoting::partial) return partial(context, workspace, arguments);
            return run(paper::ldu_in<Pivoting::fixed, T>, paper::ldu_in<Pivoting::full, T>);
        }
        case Factorisation::llt:
            return run(paper::llt_in<Pivoting::fixed, T>, paper::llt_in<Pivoting::full, T>);
        case Factorisation::ldlt:
            return false;  // In shared memory, always.
    }
#endif
    return false;
}

/// A random matrix; all matrices of a set are made from a few hundred of them.
template <class T>
std::vector<T> random_matrix(std::mt19937_64& random, Factorisation factorisation, Index n) {
    std::normal_distribution<double> normal;
    std::vector<T> a(std::size_t(n) * std::size_t(n));
    for (T& value : a) value = T(normal(random));
    if (factorisation == Factorisation::ldu) return a;
    const std::vector<T> b = a;
    for (Index j = 0; j < n; ++j) {
        for (Index i = 0; i < n; ++i) {
            a[std::size_t(i + j * n)] = b[std::size_t(i + j * n)] + b[std::size_t(j + i * n)];
        }
        if (factorisation == Factorisation::llt) a[std::size_t(j + j * n)] += T(8 * std::sqrt(n));
    }
    return a;
}

template <class T>
FactorWork<T> make_work(const Context& context, Factorisation factorisation, Index n, Index batch) {
    constexpr Offset cold_bytes = Offset(1) << 28;
    const Offset values = Offset(batch) * n * n;
    const Offset bytes = 2 * values * Offset(sizeof(T));
    FactorWork<T> work{context, n,  batch, std::max<Offset>(1, cold_bytes / bytes), {}, {},
                       {},      {}, {}};
    std::mt19937_64 random(1);
    const Index kinds = std::min<Index>(batch, 499);
    std::vector<T> few;
    for (Index k = 0; k < kinds; ++k) {
        const std::vector<T> a = random_matrix<T>(random, factorisation, n);
        few.insert(few.end(), a.begin(), a.end());
    }
    std::vector<T> set;
    set.reserve(static_cast<std::size_t>(values));
    while (set.size() < std::size_t(values)) {
        const auto more = std::min(few.size(), std::size_t(values) - set.size());
        set.insert(set.end(), few.begin(), few.begin() + std::ptrdiff_t(more));
    }
    work.a = Buffer<T>(context, work.sets * values);
    work.f = Buffer<T>(context, work.sets * values);
    for (Offset s = 0; s < work.sets; ++s) {
        copy_from_host(context, std::span<const T>(set),
                       work.a.view().subspan(std::size_t(s * values), std::size_t(values)));
    }
    work.rows = Buffer<Index>(context, Offset(batch) * n);
    work.columns = Buffer<Index>(context, Offset(batch) * n);
    work.info = Buffer<Index>(context, batch);
    return work;
}

template <class T>
void run_library(FactorWork<T>& work, Factorisation factorisation, const Variant& variant,
                 Offset set) {
    const auto a =
        batched::BatchView<const T>::uniform(work.batch, work.n, work.matrices_of_set(set));
    const auto f = batched::BatchView<T>::uniform(work.batch, work.n, work.factors_of_set(set));
    batched::PermutationsView<Index> permutations;
    permutations.stride = work.n;
    if (variant.pivoting != Pivoting::fixed) permutations.rows = work.rows.data();
    if (factorisation == Factorisation::ldu && variant.pivoting == Pivoting::full) {
        permutations.columns = work.columns.data();
    }
    batched::FactorResults<T> results;
    results.info = work.info.data();
    if (variant.workspace && run_paper<T>(work.context, factorisation, variant.pivoting,
                                          *variant.workspace, {a, f, permutations, results})) {
        return;
    }
    const auto factorise = factorisation == Factorisation::ldu   ? batched::ldu<T>
                           : factorisation == Factorisation::llt ? batched::llt<T>
                                                                 : batched::ldlt<T>;
    factorise(work.context, variant.pivoting, a, f, permutations, results, {}, nullptr);
}

/// ||A(p, q) - L D U|| over 10 n eps || |L| |D| |U| ||, and the rows in 2 x 2 pivots.
template <class T>
double residual_ratio(Factorisation factorisation, Index n, const T* a, const T* f, const Index* p,
                      const Index* q, Index& in_pairs) {
    const auto at = [&](Index i, Index j) { return (long double)f[i + j * n]; };
    const bool ldu = factorisation == Factorisation::ldu, llt = factorisation == Factorisation::llt;
    const auto l = [&](Index i, Index j) {
        return i > j || (llt && i == j) ? at(i, j) : i == j ? 1.0L : 0.0L;
    };
    const auto u = [&](Index i, Index j) {
        return !ldu ? l(j, i) : i < j ? at(i, j) : i == j ? 1.0L : 0.0L;
    };
    const auto d = [&](Index i, Index j) {
        if (i == j) return llt ? 1.0L : at(i, i);
        if (factorisation != Factorisation::ldlt || std::abs(i - j) != 1) return 0.0L;
        return at(std::min(i, j), std::max(i, j));
    };
    for (Index s = 0; s + 1 < n; ++s) in_pairs += 2 * (d(s, s + 1) != 0);
    double worst = 0, size = 0;
    for (Index i = 0; i < n; ++i) {
        long double row = 0, row_size = 0;
        for (Index j = 0; j < n; ++j) {
            const Index from = ldu ? q[j] : p[j], to = p[i];
            const bool upper = !ldu && to < from;
            long double rest = a[upper ? from + to * n : to + from * n];
            for (Index k = 0; k < n; ++k) {
                for (Index m = std::max(0, k - 1); m < std::min(n, k + 2); ++m) {
                    const long double term = l(i, k) * d(k, m) * u(m, j);
                    rest -= term;
                    row_size += std::abs(term);
                }
            }
            row += std::abs(rest);
        }
        worst = std::max(worst, double(row));
        size = std::max(size, double(row_size));
    }
    return worst / (10 * n * double(std::numeric_limits<T>::epsilon()) * size);
}

/// Factors set 0 and checks some of its matrices.
template <class T>
void check(FactorWork<T>& work, Factorisation factorisation, const Variant& variant, Json& row) {
    run_library(work, factorisation, variant, 0);
    const auto n = std::size_t(work.n);
    const Index count = std::min<Index>(work.batch, 100);
    const auto first_matrices = [&](const auto& buffer, std::size_t values) {
        return buffer.view().subspan(0, values * std::size_t(count));
    };
    std::vector<T> a(n * n * std::size_t(count)), f = a;
    std::vector<Index> p(n * std::size_t(count)), q = p;
    copy_to_host(work.context, first_matrices(std::as_const(work.a), n * n), std::span(a));
    copy_to_host(work.context, first_matrices(std::as_const(work.f), n * n), std::span(f));
    copy_to_host(work.context, first_matrices(std::as_const(work.rows), n), std::span(p));
    copy_to_host(work.context, first_matrices(std::as_const(work.columns), n), std::span(q));
    double worst = 0;
    Index in_pairs = 0;
    for (std::size_t b = 0; b < std::size_t(count); ++b) {
        Index* const rows = p.data() + b * n;
        Index* const columns = q.data() + b * n;
        for (Index s = 0; s < work.n; ++s) {
            if (variant.pivoting == Pivoting::fixed) rows[s] = s;
            if (variant.pivoting != Pivoting::full) columns[s] = s;
        }
        const double ratio = residual_ratio(factorisation, work.n, a.data() + b * n * n,
                                            f.data() + b * n * n, rows, columns, in_pairs);
        worst = ratio <= worst ? worst : ratio;
    }
    row["residual_ratio"] = std::isfinite(worst) ? Json(worst) : Json(nullptr);
    if (factorisation == Factorisation::ldlt) {
        row["share_of_pairs"] = double(in_pairs) / double(count) / double(work.n);
    }
    row["correct"] = worst <= 1;
}

/// Measures solves of `vectors` right-hand sides for a factorisation with its usual pivoting.
template <class T>
void add_solve(FactorWork<T>& work, const std::string& op, Index vectors, double seconds,
               Json& result) {
    const Factorisation factorisation = factorisation_of(op);
    const Pivoting pivoting = factorisation == Factorisation::ldu   ? Pivoting::partial
                              : factorisation == Factorisation::llt ? Pivoting::fixed
                                                                    : Pivoting::bunch_kaufman;
    for (Offset set = 0; set < work.sets; ++set) {
        run_library(work, factorisation, Variant{pivoting, std::nullopt}, set);
    }
    const Offset length = Offset(work.batch) * work.n * vectors;
    const std::vector<T> ones(std::size_t(length * work.sets), T(1));
    const Buffer<T> b = copy_to_buffer(work.context, ones);
    Buffer<T> x(work.context, length * work.sets);
    const Index* const rows = pivoting == Pivoting::fixed ? nullptr : work.rows.data();
    Offset set = 0;
    const Timing timing = measure(
        work.context,
        [&] {
            const auto f =
                batched::BatchView<const T>::uniform(work.batch, work.n, work.factors_of_set(set));
            const batched::VectorsView<const T> given{vectors, work.n, work.n * vectors, nullptr,
                                                      b.data() + set * length};
            const batched::VectorsView<T> to{vectors, work.n, work.n * vectors, nullptr,
                                             x.data() + set * length};
            batched::solve<T>(work.context, factorisation, batched::Transpose::no, f,
                              {rows, nullptr, work.n}, given, to);
            set = (set + 1) % work.sets;
        },
        seconds);
    Json row{{"op", "solve"},
             {"factorisation", op},
             {"implementation", "tessera"},
             {"pivoting", to_string(pivoting)},
             {"vectors", vectors},
             {"type", sizeof(T) == 4 ? "f32" : "f64"},
             {"n", work.n},
             {"batch", work.batch}};
    const double values = double(work.batch) * work.n * (work.n + 2.0 * vectors);
    add_timing(row, work.context, timing,
               values * sizeof(T) + (rows != nullptr ? double(work.batch) * work.n * 4 : 0.0));
    result["rows"].push_back(row);
}

template <class T>
void add_rows(const Context& context, const FactorBench& options, const std::string& op, Index n,
              Index batch, Json& result) {
    const Factorisation factorisation = factorisation_of(op);
    auto work = make_work<T>(context, factorisation, n, batch);
    const double values = double(batch) * n * n;
    const auto add = [&](Json row, const Timing& timing, double permutations) {
        add_timing(row, context, timing,
                   2 * values * sizeof(T) + permutations * batch * n * sizeof(Index));
        const double flops = values * n * (factorisation == Factorisation::ldu ? 2.0 : 1.0) / 3;
        row["gflops"] = flops / (1e6 * timing.milliseconds);
        result["rows"].push_back(row);
    };
    const auto new_row = [&](const std::string& name, const std::string& pivoting,
                             const std::string& workspace) {
        return Json{{"op", op},
                    {"implementation", name},
                    {"pivoting", pivoting},
                    {"workspace", workspace},
                    {"type", sizeof(T) == 4 ? "f32" : "f64"},
                    {"n", n},
                    {"batch", batch}};
    };
    for (const Pivoting pivoting : pivotings_of(factorisation)) {
        for (const std::string& workspace : options.workspaces) {
            const Variant variant{pivoting, workspace_of(workspace)};
            Json row = new_row("tessera", to_string(pivoting), workspace);
            check(work, factorisation, variant, row);
            if (!row["correct"].template get<bool>()) {
                std::fprintf(stderr, "tessera-bench: wrong results: %s\n", json_text(row).c_str());
                result["failed_checks"] = result["failed_checks"].template get<int>() + 1;
            }
            Offset set = 0;
            const Timing timing = measure(
                context,
                [&] {
                    run_library(work, factorisation, variant, set);
                    set = (set + 1) % work.sets;
                },
                options.seconds);
            const bool both = factorisation == Factorisation::ldu && pivoting == Pivoting::full;
            add(row, timing, pivoting == Pivoting::fixed ? 0 : both ? 2 : 1);
        }
    }
    for (const int vectors : options.solves) {
        add_solve(work, op, Index(vectors), options.seconds, result);
    }
    if (!options.peers) return;
    std::vector<FactorPeer> peers = lapack_factorisations(op, work);
#if TESSERA_WITH_CUDA
    for (FactorPeer& peer : cuda_factorisations(op, work)) peers.push_back(peer);
#endif
    for (const FactorPeer& peer : peers) {
        Offset set = 0;
        const auto restore = [&] {
            copy(context, std::as_const(work.a).view(), work.f.view());
            set = 0;
        };
        const auto next = [&] {
            peer.run(set);
            set = (set + 1) % work.sets;
        };
        const Timing timing = peer.in_place
                                  ? measure(context, next, options.seconds, restore, work.sets)
                                  : measure(context, next, options.seconds);
        add(new_row(peer.name, peer.pivoting, "fastest"), timing, op == "llt" ? 0 : 1);
    }
}

}  // namespace

Json factor(const Context& context, const FactorBench& options) {
    Json result = document(context, "factor");
    result["failed_checks"] = 0;
    for (const std::string& type : options.types) {
        for (const std::string& op : options.ops) {
            for (const int batch : options.batches) {
                for (const int n : options.sizes) {
                    const auto rows = type == "f32" ? add_rows<float> : add_rows<double>;
                    rows(context, options, op, Index(n), Index(batch), result);
                }
            }
        }
    }
    return result;
}

}  // namespace tessera::bench
