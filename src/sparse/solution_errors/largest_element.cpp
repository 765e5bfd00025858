#include "tessera/detail/largest_element.hpp"

#include <bit>

#include "base/context_state.hpp"
#include "base/scratch/scratch.hpp"
#include "sparse/solution_errors/row_errors.hpp"

namespace tessera {

template <class T>
double largest_element(const Context& context, std::span<const T> v) {
    const Scratch<Offset> found(context, 1);
    context.state().fill_bytes(found.data(), 0, Offset(sizeof(Offset)));
    TESSERA_RUN(measure_largest<T>, context, Offset(v.size()), ElementSize<T>{v.data()},
                found.data());
    Offset bits = 0;
    copy_to_host(context, std::span<const Offset>(found.view()), std::span<Offset>(&bits, 1));
    return std::bit_cast<double>(bits);
}

template double largest_element(const Context&, std::span<const float>);
template double largest_element(const Context&, std::span<const double>);

}  // namespace tessera
