#include "batches.hpp"

using namespace python_module;

namespace {

void invert(const Context& context, const Batch& batch, int bytes, Address a, Address x,
            Address info) {
    const BatchPlan plan(context, batch);
    with_type(bytes, [&]<class T>(T) {
        batched::invert<T>(context, batch.matrices<const T>(a), batch.matrices<T>(x),
                           pointer<Index>(info), plan.get());
    });
}

void condition(const Context& context, const Batch& batch, int bytes, Address a, Address reciprocal,
               Address info) {
    const BatchPlan plan(context, batch);
    with_type(bytes, [&]<class T>(T) {
        batched::ConditionResults<T> results;
        results.reciprocal_condition = pointer<T>(reciprocal);
        results.info = pointer<Index>(info);
        batched::condition<T>(context, batch.matrices<const T>(a), results, plan.get());
    });
}

void norm(const Context& context, const Batch& batch, int bytes, bool one, Address a,
          Address norms) {
    const BatchPlan plan(context, batch);
    with_type(bytes, [&]<class T>(T) {
        const auto view = batch.matrices<const T>(a);
        if (one) return batched::norm_one<T>(context, view, pointer<T>(norms), plan.get());
        batched::norm_inf<T>(context, view, pointer<T>(norms), plan.get());
    });
}

/// y = A x, or A^T x, for `vectors` vectors of each matrix, one after the other in both.
void multiply_batch(const Context& context, const Batch& batch, int bytes, bool transposed,
                    Address a, Index vectors, Address vector_offsets, Address x, Address y) {
    const BatchPlan plan(context, batch);
    with_type(bytes, [&]<class T>(T) {
        const auto* const offsets = pointer<const Offset>(vector_offsets);
        const Offset n = batch.size;
        const batched::VectorsView<const T> from{
            vectors, n, batch.stride(vectors), offsets, pointer<const T>(x), nullptr};
        const batched::VectorsView<T> to{vectors,       n,      batch.stride(vectors), offsets,
                                         pointer<T>(y), nullptr};
        batched::multiply<T>(context, T(1), batch.matrices<const T>(a),
                             transposed ? batched::Transpose::yes : batched::Transpose::no, from,
                             T(0), to, plan.get());
    });
}

}  // namespace

void python_module::bind_batched(nb::module_& module) {
    nb::class_<Batch>(module, "Batch", "Where the matrices of a batch are.")
        .def(
            "__init__",
            [](Batch* made, Index count, Index size, Address sizes, Address offsets,
               bool row_major) {
                new (made) Batch{count, size, sizes, offsets, row_major};
            },
            nb::arg("count"), nb::arg("size"), nb::arg("sizes"), nb::arg("offsets"),
            nb::arg("row_major"));
    module.attr("largest_batched_size") = batched::largest_size;
    module.def("invert", &invert, nb::arg("context"), nb::arg("batch"), nb::arg("bytes"),
               nb::arg("a"), nb::arg("x"), nb::arg("info"), nb::call_guard<WithoutLock>());
    module.def("condition", &condition, nb::arg("context"), nb::arg("batch"), nb::arg("bytes"),
               nb::arg("a"), nb::arg("reciprocal"), nb::arg("info"), nb::call_guard<WithoutLock>());
    module.def("norm", &norm, nb::arg("context"), nb::arg("batch"), nb::arg("bytes"),
               nb::arg("one"), nb::arg("a"), nb::arg("norms"), nb::call_guard<WithoutLock>());
    module.def("multiply", &multiply_batch, nb::arg("context"), nb::arg("batch"), nb::arg("bytes"),
               nb::arg("transposed"), nb::arg("a"), nb::arg("vectors"), nb::arg("vector_offsets"),
               nb::arg("x"), nb::arg("y"), nb::call_guard<WithoutLock>());
}
