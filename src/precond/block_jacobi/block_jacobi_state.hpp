#pragma once

#include "precond/block_jacobi/kernels.hpp"

namespace tessera {

template <class T>
struct BlockJacobi<T>::State {
    State(const Context& where, BlockPartition partition, const BlockJacobiOptions& requested);

    /// Sets up for the values of `matrix`; `first`: no block has a format yet.
    void setup(const Context& where, const CsrView<T>& matrix, bool first);
    /// setup in the formats of now or, adaptive, in chosen ones.
    void invert_and_store(const Context& where, const CsrView<T>& matrix, bool first);
    /// Extracts and inverts; the inverses are written to inverses() or, if `reduced`, only to
    /// `bytes`. count_faults: singular blocks and misfits are counted.
    void invert(const Context& where, const CsrView<T>& matrix, bool reduced, bool count_faults,
                bool first);
    /// Chooses the formats and allocates the memory of the stored blocks.
    void choose_formats(const Context& where);
    /// Throws InvalidArgument after an update that ran out of memory.
    void require_blocks() const;
    /// Memory for stored values of `size` bytes, and 16 more that copies may read.
    void allocate(const Context& where, Offset size);
    /// Waits, adds the summary to `fetched_summary` and clears it.
    void fetch_summary(const Context& where);
    /// Writes the inverses in their formats.
    void store(const Context& where);
    /// z = M^-1 r or M^-T r for each column of r; see the function `apply` of the backends.
    void apply(const Context& where, bool transposed, Vectors<const T> r, Vectors<T> z) const;
    bool adaptive() const { return options.precision == BlockPrecision::adaptive; }
    /// Whether each block has a format of its own: adaptive, or f16 with blocks outside its range,
    /// which are stored in bf16.
    bool chooses_formats() const { return !formats.empty(); }
    void allocate_formats(const Context& where);
    /// Whether the inverses are stored in working precision.
    bool in_place() const { return !adaptive() && bytes_of(format) == int(sizeof(T)); }
    T* inverses() { return in_place() ? reinterpret_cast<T*>(bytes.data()) : scratch.data(); }
    PackedBlocks<T> packed() const;
    SetupResults<T> results();
    StoredBlocks stored() const;

    Context context;
    BlockJacobiOptions options;
    BlockPartition blocks;
    BlockPrecision format;  ///< Format of all blocks unless mixed.
    bool mixed = false;     ///< Formats differ from block to block.
    Buffer<Offset> entry_offsets;
    Buffer<Index> groups;   ///< GPU only.
    bool one_size = false;  ///< GPU only; see StoredBlocks.

    // GPU, blocks of more than max_fused_rows rows only:
    Buffer<Index> sizes;
    batched::Plan plan;
    Buffer<std::uint8_t> symmetric;

    Buffer<std::byte> bytes;
    Buffer<BlockPrecision> formats;  ///< Empty unless chooses_formats().
    Buffer<Offset> starts;           ///< If mixed: starts from format_starts.
    Offset max_chunk_units = 0;      ///< If mixed: largest units of a chunk.
    Buffer<T> largest;               ///< With formats: largest magnitude in each inverse.
    Buffer<T> scratch;               ///< Inverses, if not in place.

    Buffer<Index> info;
    Buffer<std::int8_t> shift_exponents;  ///< Shift exponents; written for singular blocks only.
    Buffer<T> reciprocal_condition;
    Buffer<SetupSummary> summary;
    SetupSummary fetched_summary{};
    Index rebuilds = 0;
};

}  // namespace tessera
