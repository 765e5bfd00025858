#include "base/host_signal.hpp"

#include "base/runtime_cuda.hpp"

namespace tessera {

namespace {
std::uint64_t* words_of(const Context& context) {
    return static_cast<std::uint64_t*>(host_scratch(context));
}
}  // namespace

std::uint64_t* expect_words(const Context& context, int count) {
    std::uint64_t* const words = words_of(context);
    for (int k = 0; k < count; ++k) __atomic_store_n(words + k, 0, __ATOMIC_RELEASE);
    return words;
}

void wait_for_words(const Context& context, int count) {
    if constexpr (cuda::with_cuda) {
        // The words can be looked at far more often than the stream can be asked.
        constexpr int looks = 20000;
        const std::uint64_t* const words = words_of(context);
        int told = 0;
        for (bool ended = false; !ended; ended = cuda::has_ended(context.stream())) {
            for (int look = 0; look < looks; ++look) {
                while (told < count &&
                       (__atomic_load_n(words + told, __ATOMIC_ACQUIRE) & host_word_told) != 0) {
                    ++told;
                }
                if (told == count) return;
            }
        }
    }
}

std::uint64_t told_word(const Context& context, int k) {
    return __atomic_load_n(words_of(context) + k, __ATOMIC_ACQUIRE) & ~host_word_told;
}

}  // namespace tessera
