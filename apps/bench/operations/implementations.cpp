#include "operations/implementations.hpp"

#include <algorithm>

#include "harness/cuda_kernels.hpp"
#include "operations/batched.hpp"
#include "operations/residuals.hpp"
#include "tessera/systems.hpp"

namespace tessera::bench {

template <class T>
Implementation<T> inversion(Workload<T>& work, const std::string& name) {
    const Shape& shape = work.shape();
    Implementation<T> implementation{"invert", name};
    implementation.bytes = 2 * sizeof(T) * shape.sum(2);
    implementation.operations = 2 * shape.sum(3);
    implementation.bound = peer_bound;
    implementation.error = [&work](Index b) {
        const InverseResidualRatios residuals =
            inverse_residual_ratios(work.shape().size(b), work.host_a(b), work.host_x(b));
        return std::min(residuals.left, residuals.right);
    };
    return implementation;
}

template <class T>
Implementation<T> solution(Workload<T>& work, const std::string& name) {
    const Shape& shape = work.shape();
    Implementation<T> implementation{"solve", name};
    implementation.bytes = sizeof(T) * (shape.sum(2) + 2 * shape.sum(1));
    implementation.operations = 2 * shape.sum(3) / 3;
    implementation.bound = peer_bound;
    implementation.error = [&work](Index b) {
        return solution_error(work.shape().size(b), work.host_a(b), work.host_w(b), work.host_v(b));
    };
    return implementation;
}

template <class T>
Implementation<T> product(Workload<T>& work, const std::string& name) {
    const Shape& shape = work.shape();
    Implementation<T> implementation{"multiply", name};
    implementation.bytes = sizeof(T) * (shape.sum(2) + 2 * shape.sum(1));
    implementation.operations = 2 * shape.sum(2);
    implementation.bound = peer_bound;
    implementation.error = [&work](Index b) {
        return product_error(work.shape().size(b), work.host_a(b), work.host_v(b), work.host_w(b));
    };
    return implementation;
}

namespace {

template <class T>
double left_residual(const Workload<T>& work, Index b) {
    return inverse_residual_ratios(work.shape().size(b), work.host_a(b), work.host_x(b)).left;
}

template <class T>
double condition_error_of(const Workload<T>& work, Index b, double condition) {
    return condition_error(work.shape().size(b), work.host_a(b), condition);
}

template <class T>
Implementation<T> library_inversion(Workload<T>& work) {
    Implementation<T> implementation = inversion(work, "tessera");
    implementation.bytes += 4.0 * work.shape().batch;
    implementation.bound = 1;
    implementation.writes_info = true;
    implementation.run = [&work](Offset set) {
        batched::invert<T>(work.context(), work.a(set), work.x(set), work.info(set), work.plan());
    };
    implementation.error = [&work](Index b) { return left_residual(work, b); };
    return implementation;
}

template <class T>
batched::ConditionResults<T> condition_results(Workload<T>& work, Offset set) {
    batched::ConditionResults<T> results;
    results.info = work.info(set);
    results.reciprocal_condition = work.numbers(0, set);
    return results;
}

/// Condition numbers, with and without the inverse, and by four separate kernels.
template <class T>
Implementations<T> condition_implementations(Workload<T>& work) {
    Implementation<T> fused = library_inversion(work);
    fused.op = "condition";
    fused.bytes += double(sizeof(T)) * work.shape().batch;
    Implementation<T> alone = fused, four = fused;
    fused.name = "fused";
    fused.run = [&work](Offset set) {
        batched::invert_with_condition<T>(work.context(), work.a(set), work.x(set),
                                          condition_results(work, set), work.plan());
    };
    fused.error = [&work](Index b) {
        return larger(condition_error_of(work, b, 1 / double(work.host_number(0, b))),
                      left_residual(work, b));
    };
    alone.name = "condition_only";
    alone.bytes -= double(sizeof(T)) * work.shape().sum(2);
    alone.run = [&work](Offset set) {
        batched::condition<T>(work.context(), work.a(set), condition_results(work, set),
                              work.plan());
    };
    alone.error = [&work](Index b) {
        return condition_error_of(work, b, 1 / double(work.host_number(0, b)));
    };
    four.name = "four_kernels";
    four.run = [&work, inverse = library_inversion(work).run](Offset set) {
        const std::size_t batch = std::size_t(work.shape().batch);
        T* const norms = work.numbers(1, set);
        T* const inverse_norms = work.numbers(2, set);
        batched::norm_inf<T>(work.context(), work.a(set), norms, work.plan());
        inverse(set);
        batched::norm_inf<T>(work.context(), work.x(set), inverse_norms, work.plan());
        multiply_elementwise<T>(work.context(), {norms, batch}, {inverse_norms, batch},
                                {work.numbers(0, set), batch});
    };
    four.error = [&work](Index b) {
        return larger(condition_error_of(work, b, double(work.host_number(0, b))),
                      left_residual(work, b));
    };
    return {fused, alone, four};
}

template <class T>
Implementation<T> library_norm(Workload<T>& work, bool rows) {
    Implementation<T> implementation{rows ? "norm" : "norm_one", "tessera"};
    implementation.bytes = double(sizeof(T)) * (work.shape().sum(2) + work.shape().batch);
    implementation.operations = work.shape().sum(2);
    implementation.run = [&work, rows](Offset set) {
        const auto norm = rows ? batched::norm_inf<T> : batched::norm_one<T>;
        norm(work.context(), work.a(set), work.numbers(0, set), work.plan());
    };
    implementation.error = [&work, rows](Index b) {
        return norm_error(work.shape().size(b), work.host_a(b), rows, work.host_number(0, b));
    };
    return implementation;
}

template <class T>
Implementation<T> library_solution(Workload<T>& work) {
    Implementation<T> implementation = solution(work, "tessera");
    implementation.bytes += 4.0 * work.shape().batch;
    implementation.bound = 1;
    implementation.writes_info = true;
    implementation.run = [&work](Offset set) {
        batched::solve<T>(work.context(), work.a(set), work.v(set), work.w(set),
                          batched::Structure::general, work.info(set), work.plan());
    };
    return implementation;
}

template <class T>
Implementation<T> library_product(Workload<T>& work) {
    Implementation<T> implementation = product(work, "tessera");
    implementation.bound = 1;
    implementation.run = [&work](Offset set) {
        batched::multiply<T>(work.context(), T(1), work.a(set), batched::Transpose::no, work.v(set),
                             T(0), work.w(set), work.plan());
    };
    return implementation;
}

}  // namespace

template <class T>
Implementations<T> library(const std::string& op, Workload<T>& work) {
    if (op == "invert") return {library_inversion(work)};
    if (op == "solve") return {library_solution(work)};
    if (op == "condition") return condition_implementations(work);
    if (op == "norm") return {library_norm(work, true)};
    if (op == "norm_one") return {library_norm(work, false)};
    return {library_product(work)};
}

template <class T>
Implementations<T> bandwidth([[maybe_unused]] const std::string& op,
                             [[maybe_unused]] Workload<T>& work) {
    Implementations<T> implementations;
#if TESSERA_WITH_CUDA
    const bool reads = op == "norm" || op == "norm_one";
    if ((!reads && op != "multiply") || work.shape().layout != "uniform" ||
        !work.context().on_gpu()) {
        return implementations;
    }
    implementations.push_back(reads ? library_norm(work, true) : library_product(work));
    Implementation<T>& implementation = implementations.back();
    implementation.op = op;
    implementation.name = reads ? "read" : "copy";
    implementation.operations = 0;
    implementation.error = [](Index) { return 0.0; };
    // Whole chunks of 16 bytes: all reads are in the matrices, or, for the copy, half of the
    // product's traffic.
    const auto doubles = [](double bytes) { return Offset(bytes) / 16 * 2; };
    const double matrices = double(sizeof(T)) * work.shape().sum(2);
    implementation.bytes =
        8.0 * double(doubles(reads ? matrices : std::min(matrices, implementation.bytes / 2)));
    implementation.run = [&work, reads, count = Offset(implementation.bytes) / 8](Offset set) {
        const auto* const from = reinterpret_cast<const double*>(work.a(set).values);
        auto* const to = reinterpret_cast<double*>(work.x(set).values);
        if (reads) read_values(work.context(), from, count, to);
        if (!reads) copy_values(work.context(), from, count, to);
    };
    if (!reads) implementation.bytes *= 2;
#endif
    return implementations;
}

template <class T>
Implementations<T> paper_peers([[maybe_unused]] const std::string& op,
                               [[maybe_unused]] Workload<T>& work) {
    Implementations<T> implementations;
#if TESSERA_WITH_CUDA
    const Shape& shape = work.shape();
    if (op != "invert" || shape.layout != "uniform" || shape.n > 32 || !work.context().on_gpu()) {
        return implementations;
    }
    for (const bool multiple : {false, true}) {
        implementations.push_back(inversion(work, multiple ? "paper_multiple" : "paper_single"));
        implementations.back().run = [&work, multiple](Offset set) {
            const auto kernel = multiple ? paper_multiple<T> : paper_single<T>;
            kernel(work.context(), work.shape().n, work.shape().batch, work.a(set).values,
                   work.x(set).values);
        };
    }
#endif
    return implementations;
}

template Implementation<float> inversion(Workload<float>&, const std::string&);
template Implementation<double> inversion(Workload<double>&, const std::string&);
template Implementation<float> solution(Workload<float>&, const std::string&);
template Implementation<double> solution(Workload<double>&, const std::string&);
template Implementation<float> product(Workload<float>&, const std::string&);
template Implementation<double> product(Workload<double>&, const std::string&);
template Implementations<float> library(const std::string&, Workload<float>&);
template Implementations<double> library(const std::string&, Workload<double>&);
template Implementations<float> bandwidth(const std::string&, Workload<float>&);
template Implementations<double> bandwidth(const std::string&, Workload<double>&);
template Implementations<float> paper_peers(const std::string&, Workload<float>&);
template Implementations<double> paper_peers(const std::string&, Workload<double>&);

}  // namespace tessera::bench
