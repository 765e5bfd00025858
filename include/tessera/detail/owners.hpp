#pragma once

#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace tessera {

template <class T>
class Buffer;
template <class T>
class CsrMatrix;

namespace detail {

template <class T>
inline constexpr bool is_owner = false;
template <class T>
inline constexpr bool is_owner<Buffer<T>> = true;
template <class T>
inline constexpr bool is_owner<CsrMatrix<T>> = true;
template <class T>
inline constexpr bool is_owner<std::vector<T>> = true;
template <class... Arguments>
inline constexpr bool has_owner = (is_owner<std::remove_cvref_t<Arguments>> || ...);

/// The view of an owner; other arguments as they are.
template <class Argument>
decltype(auto) view_of(Argument&& argument) {
    if constexpr (requires { argument.view(); } && has_owner<Argument>) {
        return argument.view();
    } else if constexpr (has_owner<Argument>) {
        return std::span(argument);
    } else {
        return std::forward<Argument>(argument);
    }
}

template <class...>
inline constexpr bool never = false;

}  // namespace detail
}  // namespace tessera

/// Declares that `function(context, ...)` takes a Buffer or a std::vector where it wants a
/// std::span, and a CsrMatrix where it wants a CsrView.
#define TESSERA_ACCEPT_OWNERS(function)                                                     \
    template <class... Arguments>                                                           \
    requires(::tessera::detail::has_owner<Arguments...>) decltype(auto) function(           \
        const Context& context, Arguments&&... arguments) {                                 \
        return function(context,                                                            \
                        ::tessera::detail::view_of(std::forward<Arguments>(arguments))...); \
    }
