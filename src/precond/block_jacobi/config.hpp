#pragma once

#include "tessera/block_jacobi.hpp"
#include "tessera/spec.hpp"

namespace tessera {

/// Block Jacobi as registered.
struct BlockJacobiConfig {
    static constexpr const char* help =
        "[:BOUND][,blocks=supervariable|natural|uniform:K|FILE]\n"
        "              [,precision=working|adaptive|f64|f32|bf16|f16][,accuracy=0.1]\n"
        "              [,singular=stop|identity|shift|generalised]\n"
        "                           BOUND 1..64 (32), FILE: sizes of blocks; precision: type of "
        "the stored inverses\n";
    Index bound;
    std::string blocks;  ///< Option text; it means `blocking`, unless one of the following is set.
    Blocking blocking = Blocking::supervariable;
    Index uniform = 0;           ///< Rows of each block.
    std::vector<Index> offsets;  ///< First rows of the blocks of a file, and the end of the last.
    BlockJacobiOptions options;

    explicit BlockJacobiConfig(Spec spec);
    template <class T>
    std::unique_ptr<Preconditioner<T>> make(const Context& context,
                                            const CsrView<T>& matrix) const {
        BlockPartition partition = uniform > 0 ? uniform_partition(context, matrix.rows, uniform)
                                   : !offsets.empty()
                                       ? file_blocks(context, matrix.rows)
                                       : find_blocks(context, matrix, bound, blocking);
        if (uniform > 0 || !offsets.empty()) {
            partition.options = std::to_string(bound) + ",blocks=" + blocks;
        }
        return std::make_unique<BlockJacobi<T>>(context, matrix, std::move(partition), options);
    }
    /// Counts blocks as full. Inverses in other formats are made from those in the type of the
    /// matrix.
    Offset bytes(Index rows, Offset, Offset bytes_per_value) const {
        const int copies = options.precision == BlockPrecision::working ? 1 : 2;
        return Offset(rows) * bound * copies * bytes_per_value;
    }

  private:
    void read_sizes();
    BlockPartition file_blocks(const Context& context, Index rows) const;
};

}  // namespace tessera
