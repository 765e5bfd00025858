#include "precond/toy/toy.hpp"

#include "tessera/vector_ops.hpp"

namespace tessera {

template <class T>
Toy<T>::Toy(const Context& context, const CsrView<T>& matrix, int order)
    : order_(order), jacobi_(context, matrix) {}

template <class T>
void Toy<T>::apply(const Context& context, std::span<const T> r, std::span<T> z) const {
    jacobi_.apply(context, r, z);
    axpby<T>(context, T(0), r, T(1) / T(order_), z);
}

template <class T>
void Toy<T>::update(const Context& context, const CsrView<T>& matrix) {
    jacobi_.update(context, matrix);
}

template <class T>
PreconditionerReport Toy<T>::make_report() const {
    PreconditionerReport report;
    report.values = {{"toy", ReportValues{{"order", Offset(order_)}}}};
    return report;
}

template class Toy<float>;
template class Toy<double>;

}  // namespace tessera
