#include "batches.hpp"

using namespace python_module;

namespace {

batched::Pivoting to_pivoting(const std::string& word) {
    for (const auto each :
         {batched::Pivoting::fixed, batched::Pivoting::partial, batched::Pivoting::bunch_kaufman,
          batched::Pivoting::rook, batched::Pivoting::full}) {
        if (word == batched::to_string(each)) return each;
    }
    throw InvalidArgument("pivoting: '" + word + "' is unknown");
}

batched::Factorisation to_factorisation(const std::string& word) {
    if (word == "ldu") return batched::Factorisation::ldu;
    return word == "llt" ? batched::Factorisation::llt : batched::Factorisation::ldlt;
}

/// Addresses of the permutations; each matrix has as many numbers as rows, from `offsets` on where
/// the batch is packed.
struct Permutations {
    Address rows = 0, columns = 0, offsets = 0;

    template <class I>
    batched::PermutationsView<I> view(const Batch& batch) const {
        return {pointer<I>(rows), pointer<I>(columns), Offset(batch.size),
                pointer<const Offset>(offsets)};
    }
};

/// Factors column-major matrices, f may be a. The results from `info` on are optional.
void factor(const Context& context, const Batch& batch, int bytes, const std::string& kind,
            const std::string& pivoting, Address a, Address f, const Permutations& permutations,
            Address info, Address inertia, Address log_determinant, Address sign,
            Address smallest) {
    const BatchPlan plan(context, batch);
    with_type(bytes, [&]<class T>(T) {
        batched::FactorResults<T> results;
        results.info = pointer<Index>(info);
        results.inertia = pointer<Index>(inertia);
        results.log_determinant = pointer<T>(log_determinant);
        results.determinant_sign = pointer<Index>(sign);
        results.smallest_pivot = pointer<T>(smallest);
        const auto from = batch.matrices<const T>(a, true);
        const auto to = batch.matrices<T>(f, true);
        const auto order = permutations.view<Index>(batch);
        const auto how = to_pivoting(pivoting);
        if (kind == "ldu") {
            batched::ldu<T>(context, how, from, to, order, results, {}, plan.get());
        } else if (kind == "llt") {
            batched::llt<T>(context, how, from, to, order, results, {}, plan.get());
        } else {
            batched::ldlt<T>(context, how, from, to, order, results, {}, plan.get());
        }
    });
}

batched::Structure to_structure(const std::string& word) {
    if (word == "general") return batched::Structure::general;
    return word == "symmetric" ? batched::Structure::symmetric
                               : batched::Structure::positive_definite;
}

/// x = A^-1 b for `vectors` vectors of each matrix, one after the other in both.
void solve_systems(const Context& context, const Batch& batch, int bytes,
                   const std::string& structure, Address a, Index vectors, Address vector_offsets,
                   Address b, Address x, Address info) {
    const BatchPlan plan(context, batch);
    with_type(bytes, [&]<class T>(T) {
        const auto* const offsets = pointer<const Offset>(vector_offsets);
        const Offset n = batch.size;
        batched::solve<T>(
            context, batch.matrices<const T>(a),
            batched::VectorsView<const T>{vectors, n, batch.stride(vectors), offsets,
                                          pointer<const T>(b)},
            batched::VectorsView<T>{vectors, n, batch.stride(vectors), offsets, pointer<T>(x)},
            to_structure(structure), pointer<Index>(info), plan.get());
    });
}

/// After `factor` of the same column-major matrices.
void mark_near_singular(const Context& context, const Batch& batch, int bytes,
                        const std::string& structure, Address a, Address smallest, Address info) {
    with_type(bytes, [&]<class T>(T) {
        batched::mark_near_singular<T>(context, batch.matrices<const T>(a, true),
                                       to_structure(structure), pointer<const T>(smallest),
                                       pointer<Index>(info));
    });
}

/// x = op(A)^-1 b for `vectors` vectors of each matrix, one after the other in both.
void solve_factored(const Context& context, const Batch& batch, int bytes, const std::string& kind,
                    bool transposed, Address f, const Permutations& permutations, Index vectors,
                    Address vector_offsets, Address b, Address x) {
    const BatchPlan plan(context, batch);
    with_type(bytes, [&]<class T>(T) {
        const auto* const offsets = pointer<const Offset>(vector_offsets);
        const Offset n = batch.size;
        batched::solve<T>(
            context, to_factorisation(kind),
            transposed ? batched::Transpose::yes : batched::Transpose::no,
            batch.matrices<const T>(f, true), permutations.view<const Index>(batch),
            batched::VectorsView<const T>{vectors, n, batch.stride(vectors), offsets,
                                          pointer<const T>(b)},
            batched::VectorsView<T>{vectors, n, batch.stride(vectors), offsets, pointer<T>(x)},
            plan.get());
    });
}

void inverse(const Context& context, const Batch& batch, int bytes, const std::string& kind,
             Address f, const Permutations& permutations, Address x) {
    const BatchPlan plan(context, batch);
    with_type(bytes, [&]<class T>(T) {
        batched::inverse_from_factors<T>(
            context, to_factorisation(kind), batch.matrices<const T>(f, true),
            permutations.view<const Index>(batch), batch.matrices<T>(x, true), plan.get());
    });
}

}  // namespace

void python_module::bind_factors(nb::module_& module) {
    nb::class_<Permutations>(module, "Permutations", "Where the permutations of a batch are.")
        .def(
            "__init__",
            [](Permutations* made, Address rows, Address columns, Address offsets) {
                new (made) Permutations{rows, columns, offsets};
            },
            nb::arg("rows") = 0, nb::arg("columns") = 0, nb::arg("offsets") = 0);
    module.def("factor", &factor, nb::arg("context"), nb::arg("batch"), nb::arg("bytes"),
               nb::arg("kind"), nb::arg("pivoting"), nb::arg("a"), nb::arg("f"),
               nb::arg("permutations"), nb::arg("info"), nb::arg("inertia"),
               nb::arg("log_determinant"), nb::arg("sign"), nb::arg("smallest") = 0,
               nb::call_guard<Interruptible>());
    module.def("solve_systems", &solve_systems, nb::arg("context"), nb::arg("batch"),
               nb::arg("bytes"), nb::arg("structure"), nb::arg("a"), nb::arg("vectors"),
               nb::arg("vector_offsets"), nb::arg("b"), nb::arg("x"), nb::arg("info"),
               nb::call_guard<Interruptible>());
    module.def("mark_near_singular", &mark_near_singular, nb::arg("context"), nb::arg("batch"),
               nb::arg("bytes"), nb::arg("structure"), nb::arg("a"), nb::arg("smallest"),
               nb::arg("info"), nb::call_guard<Interruptible>());
    module.def("solve_factored", &solve_factored, nb::arg("context"), nb::arg("batch"),
               nb::arg("bytes"), nb::arg("kind"), nb::arg("transposed"), nb::arg("f"),
               nb::arg("permutations"), nb::arg("vectors"), nb::arg("vector_offsets"), nb::arg("b"),
               nb::arg("x"), nb::call_guard<Interruptible>());
    module.def("inverse_from_factors", &inverse, nb::arg("context"), nb::arg("batch"),
               nb::arg("bytes"), nb::arg("kind"), nb::arg("f"), nb::arg("permutations"),
               nb::arg("x"), nb::call_guard<Interruptible>());
}
