#include "precond/jacobi/jacobi.hpp"

#include "base/checks.hpp"
#include "base/phases.hpp"
#include "precond/jacobi/invert_diagonal.hpp"
#include "precond/singular_policy.hpp"

namespace tessera {

template <class T>
Jacobi<T>::Jacobi(const Context& context, const CsrView<T>& matrix, SingularPolicy policy)
    : context_(context), policy_(policy) {
    check_matrix("Jacobi", matrix);
    check_square("Jacobi", matrix.rows, matrix.columns);
    inverse_ = Buffer<T>(context, matrix.rows);
    info_ = Buffer<Index>(context, matrix.rows);
    invert(context, matrix);
}

template <class T>
void Jacobi<T>::invert(const Context& context, const CsrView<T>& matrix) {
    {
        const double bytes =
            double(matrix.rows) * (sizeof(Offset) + 2 * sizeof(Index) + 2 * sizeof(T));
        const Phase phase(context, "setup", bytes, PhaseStep::setup);
        for_each_index(context, matrix.rows,
                       InvertDiagonal<T>{matrix, policy_, inverse_.data(), info_.data()});
    }
    host_info_ = copy_to_host(context, info_);
    singular_ = Index(host_info_.size()) - Index(std::ranges::count(host_info_, 0));
}

template <class T>
void Jacobi<T>::apply(const Context& context, std::span<const T> r, std::span<T> z) const {
    apply_vectors(context, one_vector(r), one_vector(z));
}

template <class T>
void Jacobi<T>::apply_vectors(const Context& context, Vectors<const T> r, Vectors<T> z) const {
    check_vectors("Jacobi", "r", r, rows());
    check_vectors("Jacobi", "z", z, rows());
    require(r.count == z.count, "Jacobi: r has ", r.count, " vectors, z has ", z.count);
    const Phase phase(context, "apply", (1.0 + 2.0 * r.count) * rows() * sizeof(T));
    multiply_elementwise_each(context, inverse_.view(), r, z);
}

template <class T>
void Jacobi<T>::apply_dot(const Context& context, std::span<const T> r, std::span<T> z,
                          T* rz) const {
    const Phase phase(context, "apply", 3.0 * rows() * sizeof(T));
    multiply_elementwise_dot(context, inverse_.view(), r, z, rz);
}

template <class T>
void Jacobi<T>::update(const Context& context, const CsrView<T>& matrix) {
    check_matrix("Jacobi", matrix);
    require(matrix.rows == rows() && matrix.columns == rows(),
            "Jacobi: update needs a matrix of the size that it was set up with");
    invert(context, matrix);
}

template <class T>
PreconditionerReport Jacobi<T>::make_report() const {
    PreconditionerReport report;
    report.blocks = rows();
    report.largest_block = rows() > 0 ? 1 : 0;
    report.unusable = singular_blocks_sentence(policy_, singular_, rows());
    for (std::size_t i = 0; i < host_info_.size() && report.first_singular.size() < 10; ++i) {
        if (host_info_[i] == 0) continue;
        T inverse;
        copy_to_host(context_, std::span<const T>(inverse_.data() + i, 1),
                     std::span<T>(&inverse, 1));
        const bool shifted = policy_ == SingularPolicy::shift && !std::isnan(inverse);
        report.first_singular.push_back({Index(i), Index(i), 1, 1, shifted ? 0 : -1});
    }
    return report;
}

template class Jacobi<float>;
template class Jacobi<double>;

}  // namespace tessera
