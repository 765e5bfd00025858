#pragma once

#include "base/parallel.hpp"
#include "tessera/formats.hpp"

/// How products on the CPU split a sliced matrix: into chunks of adjacent rows of a slice (lanes),
/// and these into parts of about equal work. Conversion splits the rows evenly, which is nearly the
/// same, so that the thread that reads a part was the first to write its memory (NUMA).
namespace tessera {

/// Lanes first .. last-1 of a slice.
struct SliceChunk {
    Index slice = 0;
    Index first = 0;
    Index last = 0;
};

class SliceChunks {
  public:
    explicit SliceChunks(const SlicedPattern& pattern)
        : pattern_(pattern),
          lanes_(pattern.slice_height <= 64 ? pattern.slice_height : 32),
          chunks_per_slice_((pattern.slice_height + lanes_ - 1) / lanes_) {}

    Offset count() const { return Offset(pattern_.slices) * chunks_per_slice_; }
    SliceChunk chunk(Offset c) const {
        const Index first = Index(c % chunks_per_slice_) * lanes_;
        const Index left = pattern_.slice_height - first;
        return {Index(c / chunks_per_slice_), first, first + (left < lanes_ ? left : lanes_)};
    }

    /// f(first chunk, last chunk) for the parts, by the threads of `context`.
    template <class F>
    void for_parts(const Context& context, F&& f) const {
        const Offset parts = 8 * Offset(context.threads());
        const bool small = work_before(count()) < parallel_grain / 4;
        parallel_parts(small ? 1 : context.threads(), parts, parts,
                       [&](Offset part, Offset, Offset) {
                           f(first_of_part(part, parts), first_of_part(part + 1, parts));
                       });
    }
    /// f(chunk) for all chunks.
    template <class F>
    void for_each(const Context& context, F&& f) const {
        for_parts(context, [&](Offset first, Offset last) {
            for (Offset c = first; c < last; ++c) f(chunk(c));
        });
    }

  private:
    /// Number of slots and positions before a chunk.
    Offset work_before(Offset c) const {
        const Offset slice = c / chunks_per_slice_, lane = c % chunks_per_slice_ * lanes_;
        const Offset positions = slice * pattern_.slice_height + lane;
        if (lane == 0) return pattern_.slice_offsets[slice] + positions;
        const Offset slots = pattern_.slice_offsets[slice + 1] - pattern_.slice_offsets[slice];
        return pattern_.slice_offsets[slice] + slots / pattern_.slice_height * lane + positions;
    }
    Offset first_of_part(Offset part, Offset parts) const {
        if (part == parts) return count();
        const double target = double(work_before(count())) * double(part) / double(parts);
        Offset first = 0, last = count();
        while (first < last) {
            const Offset middle = first + (last - first) / 2;
            if (double(work_before(middle)) < target) {
                first = middle + 1;
            } else {
                last = middle;
            }
        }
        return first;
    }

    SlicedPattern pattern_;
    Index lanes_;
    Offset chunks_per_slice_;  ///< Number of chunks per slice.
};

}  // namespace tessera
