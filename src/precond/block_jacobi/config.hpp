#pragma once

#include "tessera/block_jacobi.hpp"

namespace tessera {

/// Block Jacobi as registered.
struct BlockJacobiConfig {
    static constexpr const char* help =
        "[:BOUND][,blocks=supervariable|natural|uniform:K|FILE]\n"
        "              [,precision=working|adaptive|f64|f32|bf16|f16][,accuracy=0.1]\n"
        "              [,singular=stop|identity|shift|generalised]\n"
        "                           BOUND 1..64 (32), FILE: sizes of blocks; precision: of the "
        "inverses\n";
    Index bound;
    std::string blocks;  ///< supervariable, natural, uniform:K, or the name of a file.
    BlockJacobiOptions options;

    explicit BlockJacobiConfig(Spec spec);
    template <class T>
    std::unique_ptr<Preconditioner<T>> make(const Context& context,
                                            const CsrView<T>& matrix) const {
        return std::make_unique<BlockJacobi<T>>(context, matrix, partition(context, matrix),
                                                options);
    }
    /// Blocks count as full. Inverses in other formats are made from those in the type of the
    /// matrix.
    Offset bytes(Index rows, Offset, Offset bytes_per_value) const {
        const int copies = options.precision == BlockPrecision::working ? 1 : 2;
        return Offset(rows) * bound * copies * bytes_per_value;
    }

  private:
    template <class T>
    BlockPartition partition(const Context& context, const CsrView<T>& matrix) const;
    BlockPartition read_blocks(const Context& context, Index rows) const;
};

}  // namespace tessera
