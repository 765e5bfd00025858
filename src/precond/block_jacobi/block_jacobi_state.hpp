#pragma once

#include "precond/block_jacobi/kernels.hpp"

namespace tessera {

template <class T>
struct BlockJacobi<T>::State {
    State(const Context& where, BlockPartition partition, const BlockJacobiOptions& wanted);

    /// Sets up for the values of `matrix`; `first` where nothing is kept yet.
    void setup(const Context& where, const CsrView<T>& matrix, bool first);
    /// Extraction and inversion; the inverses go to inverses(), or only to `bytes`.
    void invert(const Context& where, const CsrView<T>& matrix, bool in_formats,
                const CountedBlocks& counted);
    /// The verdict on what `invert` left, which it has counted if that is so.
    void judge(const Context& where, bool first, bool counted);
    /// Chooses the formats and makes room for them.
    void choose(const Context& where);
    /// Room for stored values of `size` bytes, and 16 zeros that are read with the last of them.
    void make_room(const Context& where, Offset size);
    /// Waits for the verdict and copies it to `found`.
    void take_verdict(const Context& where);
    /// Writes the inverses in their formats.
    void store(const Context& where);
    bool adaptive() const { return options.precision == BlockPrecision::adaptive; }
    /// Whether the inverses are kept as they are computed.
    bool in_place() const { return !adaptive() && bytes_of(format) == int(sizeof(T)); }
    T* inverses() { return in_place() ? reinterpret_cast<T*>(bytes.data()) : scratch.data(); }
    PackedBlocks<T> packed() const;
    InvertedBlocks<T> inverted() const;
    StoredBlocks stored() const;

    Context context;
    BlockJacobiOptions options;
    BlockPartition blocks;
    BlockFormat format;  ///< Of all blocks unless mixed.
    bool mixed = false;  ///< Formats differ from block to block.
    Buffer<Offset> entry_offsets;
    Buffer<Index> groups;   ///< GPU only, as is:
    bool one_size = false;  ///< As StoredBlocks tells it.

    // BlockExtraction::separate only.
    Buffer<Index> sizes;
    batched::Plan plan;
    Buffer<std::uint8_t> symmetric;

    Buffer<std::byte> bytes;
    Buffer<BlockFormat> formats;  ///< Adaptive only, as is:
    Buffer<Offset> starts;        ///< In units of 8 bytes; where mixed.
    Index most_units = 0;         ///< As StoredBlocks tells it, of `starts`.
    Buffer<T> largest;            ///< Magnitude in each inverse.
    Buffer<T> scratch;            ///< Where not in place.

    Buffer<Index> info;
    Buffer<std::int8_t> shifts;  ///< Written where a block is singular.
    Buffer<T> reciprocal_condition;
    Buffer<SetupVerdict> verdict;
    SetupVerdict found{};
    Index rebuilds = 0;
};

}  // namespace tessera
