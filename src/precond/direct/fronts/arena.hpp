#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "tessera/types.hpp"

namespace tessera::direct {

/// Host memory that is taken piece by piece, and given back all at once or in reverse order.
class Arena {
  public:
    struct Mark {
        std::size_t chunk = 0;
        Offset used = 0;  ///< Units of the chunk.
    };

    /// Makes the next chunk at least this large.
    void reserve(Offset bytes) { next_size_ = std::max(next_size_, units(bytes)); }

    /// Not initialised.
    template <class U>
    U* allocate(Offset count) {
        const Offset needed = units(count * Offset(sizeof(U)));
        while (at_.chunk < chunks_.size() && at_.used + needed > chunks_[at_.chunk].size) {
            if (at_.used > 0) {
                at_ = {at_.chunk + 1, 0};
            } else {  // Nothing is in it, nor in later ones: a larger one takes its place.
                chunks_.erase(chunks_.begin() + std::ptrdiff_t(at_.chunk));
            }
        }
        if (at_.chunk == chunks_.size()) {
            const Offset size = needed > next_size_ ? needed + needed / 4 : next_size_;
            chunks_.push_back({std::make_unique_for_overwrite<Unit[]>(std::size_t(size)), size});
            next_size_ = std::clamp(size / 4, smallest, largest);
        }
        Unit* const memory = chunks_[at_.chunk].memory.get() + at_.used;
        at_.used += needed;
        return reinterpret_cast<U*>(memory);
    }
    Mark mark() const { return at_; }
    /// Gives back what was allocated after `mark`; the chunks are kept.
    void release(Mark mark) { at_ = mark; }
    void clear() { *this = Arena(); }
    Offset bytes() const {
        Offset sum = 0;
        for (const Chunk& chunk : chunks_) sum += chunk.size * Offset(sizeof(Unit));
        return sum;
    }

  private:
    struct alignas(64) Unit {
        char bytes[64];
    };
    struct Chunk {
        std::unique_ptr<Unit[]> memory;
        Offset size;
    };
    static constexpr Offset smallest = 256, largest = 1 << 18;

    static Offset units(Offset bytes) {
        return (bytes + Offset(sizeof(Unit)) - 1) / Offset(sizeof(Unit));
    }

    std::vector<Chunk> chunks_;
    Mark at_;
    Offset next_size_ = smallest;
};

}  // namespace tessera::direct
