#include "tessera/detail/largest_element.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/context_state.hpp"
#include "base/scratch/scratch.hpp"
#include "sparse/solution_errors/row_errors.hpp"

namespace tessera {

template <class T>
void measure_largest(const Context& context, std::span<const T> v, Offset* largest) {
    if (context.on_gpu()) {
        return for_each_index(context, Offset(v.size()),
                              LargestElement<T>{v.data(), nullptr, largest});
    }
    Offset bits = *largest;
    for (const T element : v) bits = std::max(bits, order_bits(std::abs(double(element))));
    *largest = bits;
}

template <class T>
double largest_element(const Context& context, std::span<const T> v) {
    const Scratch<Offset> found(context, 1);
    context.state().fill_bytes(found.data(), 0, Offset(sizeof(Offset)));
    measure_largest(context, v, found.data());
    Offset bits = 0;
    copy_to_host(context, std::span<const Offset>(found.view()), std::span<Offset>(&bits, 1));
    return std::bit_cast<double>(bits);
}

template void measure_largest(const Context&, std::span<const float>, Offset*);
template void measure_largest(const Context&, std::span<const double>, Offset*);
template double largest_element(const Context&, std::span<const float>);
template double largest_element(const Context&, std::span<const double>);

}  // namespace tessera
