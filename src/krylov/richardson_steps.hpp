#pragma once

#include "krylov/recurrence.hpp"

namespace tessera {

template <class T>
struct RichardsonState {
    Recurrence<T> recurrence;
    T rr;      ///< r^T r
    T length;  ///< 1 while running, then 0.
};

template <class T>
struct RichardsonBegin {
    RichardsonState<T>* state;
    TESSERA_HOST_DEVICE void operator()() const {
        state->length = state->recurrence.begin() ? T(1) : T(0);
    }
};

template <class T>
struct RichardsonEnd {
    RichardsonState<T>* state;
    TESSERA_HOST_DEVICE void operator()() const {
        state->recurrence.observe(std::sqrt(state->rr));
        state->recurrence.count();
    }
};

}  // namespace tessera
