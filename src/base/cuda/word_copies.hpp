#pragma once

#include "base/check_cuda.hpp"
#include "tessera/types.hpp"

namespace tessera::cuda {

/// Some copies of numbers of four bytes, for one kernel.
struct WordCopies {
    static constexpr int capacity = 16;
    int count = 0;
    const unsigned* from[capacity];
    unsigned* to[capacity];
    Offset ends[capacity];  ///< Words of all copies so far.

    Offset words() const { return count == 0 ? 0 : ends[count - 1]; }
    void add(const void* source, void* target, Offset words_of_copy) {
        from[count] = static_cast<const unsigned*>(source);
        to[count] = static_cast<unsigned*>(target);
        ends[count] = words() + words_of_copy;
        ++count;
    }
};

/// Runs them. Asynchronous.
void copy_words(cudaStream_t stream, const WordCopies& copies);

}  // namespace tessera::cuda
