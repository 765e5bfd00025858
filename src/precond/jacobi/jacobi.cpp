#include <cmath>

#include "base/dispatch.hpp"
#include "base/phases.hpp"
#include "precond/jacobi/kernels.hpp"
#include "precond/singular_policy.hpp"
#include "tessera/vector_ops.hpp"

namespace tessera {

const char* to_string(SingularPolicy policy) {
    return policy == SingularPolicy::stop       ? "stop"
           : policy == SingularPolicy::identity ? "identity"
           : policy == SingularPolicy::shift    ? "shift"
                                                : "generalised";
}

template <class T>
struct Jacobi<T>::State {
    State(const Context& where, Index rows, SingularPolicy what)
        : context(where),
          policy(what),
          inverse(where, rows),
          info(where, rows),
          host_info(std::size_t(rows)) {}

    void invert(const Context& where, const CsrView<T>& matrix) {
        {
            const double bytes =
                double(matrix.rows) * (sizeof(Offset) + 2 * sizeof(Index) + 2 * sizeof(T));
            const Phase phase(where, "setup", bytes);
            select(where, &cpu::inverse_diagonal<T>, TESSERA_IF_CUDA(cuda::inverse_diagonal<T>))(
                where, matrix, policy, inverse.data(), info.data());
        }
        copy_to_host(where, std::span<const Index>(info.view()), std::span<Index>(host_info));
        singular = 0;
        for (const Index k : host_info) singular += k != 0;
    }

    Context context;
    SingularPolicy policy;
    Buffer<T> inverse;
    Buffer<Index> info;
    std::vector<Index> host_info;
    Index singular = 0;
};

template <class T>
Jacobi<T>::Jacobi(const Context& context, const CsrView<T>& matrix, SingularPolicy policy) {
    require(matrix.rows == matrix.columns, "Jacobi: the matrix must be square");
    state_ = std::make_unique<State>(context, matrix.rows, policy);
    state_->invert(context, matrix);
}

template <class T>
Jacobi<T>::~Jacobi() = default;

template <class T>
Index Jacobi<T>::rows() const {
    return Index(state_->inverse.size());
}

template <class T>
void Jacobi<T>::apply(const Context& context, std::span<const T> r, std::span<T> z) const {
    const Phase phase(context, "apply", 3.0 * rows() * sizeof(T));
    multiply_elementwise(context, std::as_const(state_->inverse).view(), r, z);
}

template <class T>
void Jacobi<T>::apply_dot(const Context& context, std::span<const T> r, std::span<T> z,
                          T* rz) const {
    const Phase phase(context, "apply", 3.0 * rows() * sizeof(T));
    multiply_elementwise_dot(context, std::as_const(state_->inverse).view(), r, z, rz);
}

template <class T>
void Jacobi<T>::update(const Context& context, const CsrView<T>& matrix) {
    require(matrix.rows == rows() && matrix.columns == rows(),
            "Jacobi: update needs a matrix of the size that it was set up with");
    state_->invert(context, matrix);
}

template <class T>
std::string Jacobi<T>::describe() const {
    return std::string("jacobi,singular=") + to_string(state_->policy);
}

template <class T>
Index Jacobi<T>::singular_blocks() const {
    return state_->singular;
}

template <class T>
PreconditionerReport Jacobi<T>::make_report() const {
    PreconditionerReport report;
    report.blocks = rows();
    report.largest_block = rows() > 0 ? 1 : 0;
    report.unusable = singular_blocks_sentence(state_->policy, state_->singular, rows());
    for (std::size_t i = 0; i < state_->host_info.size(); ++i) {
        if (state_->host_info[i] == 0) continue;
        T inverse;
        copy_to_host(state_->context, std::span<const T>(state_->inverse.data() + i, 1),
                     std::span<T>(&inverse, 1));
        const bool shifted = state_->policy == SingularPolicy::shift && !std::isnan(inverse);
        report.first_singular.push_back({Index(i), Index(i), 1, 1, shifted ? 0 : -1});
        if (report.first_singular.size() == 10) break;
    }
    return report;
}

template class Jacobi<float>;
template class Jacobi<double>;

}  // namespace tessera
