#include "base/dispatch.hpp"
#include "base/phases.hpp"
#include "precond/block_jacobi/kernels.hpp"

namespace tessera {

const char* to_string(BlockFormat format) {
    static constexpr const char* names[] = {"f64", "f32", "truncated_f64", "bf16", "f16"};
    return names[int(format)];
}

template <class T>
struct BlockJacobi<T>::State {
    State(const Context& where, BlockPartition partition, SingularPolicy what)
        : context(where),
          policy(what),
          blocks(std::move(partition)),
          entry_offsets(where, Offset(blocks.count) + 1),
          inverses(where, blocks.entries),
          info(where, blocks.count),
          shifts(where, blocks.count),
          host_info(std::size_t(blocks.count)) {}

    PackedBlocks<T> packed() const {
        return {blocks.rows, blocks.count, blocks.largest, blocks.block_offsets.data(),
                entry_offsets.data()};
    }

    void invert(const Context& where, const CsrView<T>& matrix) {
        {
            // The stored entries of the blocks are read on top of this; their number is not known.
            const double bytes = double(blocks.rows) * sizeof(Offset) +
                                 double(blocks.entries) * sizeof(T) +
                                 double(blocks.count) * (2 * sizeof(Index) + sizeof(Offset) + 1);
            const Phase phase(where, "setup", bytes);
            select(where, &cpu::setup<T>, TESSERA_IF_CUDA(cuda::setup<T>))(
                where, matrix, packed(), policy, inverses.data(), info.data(), shifts.data());
        }
        copy_to_host(where, std::span<const Index>(info.view()), std::span<Index>(host_info));
        singular = 0;
        for (const Index k : host_info) singular += k != 0;
    }

    Context context;
    SingularPolicy policy;
    BlockPartition blocks;
    Buffer<Offset> entry_offsets;
    Buffer<T> inverses;
    Buffer<Index> info;
    Buffer<std::int8_t> shifts;
    std::vector<Index> host_info;
    Index singular = 0;
};

template <class T>
BlockJacobi<T>::BlockJacobi(const Context& context, const CsrView<T>& matrix, BlockPartition blocks,
                            SingularPolicy policy) {
    require(matrix.rows == matrix.columns, "block Jacobi: the matrix must be square");
    require(matrix.rows == blocks.rows,
            "block Jacobi: the matrix and the blocks differ in their number of rows");
    require(blocks.largest <= default_block_bound, "block Jacobi: a block has more than 32 rows");
    state_ = std::make_unique<State>(context, std::move(blocks), policy);
    block_entry_offsets(context, state_->blocks, state_->entry_offsets.view());
    state_->invert(context, matrix);
}

template <class T>
BlockJacobi<T>::~BlockJacobi() = default;

template <class T>
Index BlockJacobi<T>::rows() const {
    return state_->blocks.rows;
}

template <class T>
void BlockJacobi<T>::apply(const Context& context, std::span<const T> r, std::span<T> z) const {
    const BlockPartition& blocks = state_->blocks;
    require(r.size() == std::size_t(blocks.rows) && z.size() == r.size(),
            "block Jacobi: a vector does not have as many elements as the matrix has rows");
    const double bytes = (double(blocks.entries) + 2.0 * blocks.rows) * sizeof(T) +
                         double(blocks.count) * (sizeof(Index) + sizeof(Offset));
    const Phase phase(context, "apply", bytes);
    select(context, &cpu::apply<T>, TESSERA_IF_CUDA(cuda::apply<T>))(
        context, state_->packed(), state_->inverses.data(), r.data(), z.data());
}

template <class T>
void BlockJacobi<T>::update(const Context& context, const CsrView<T>& matrix) {
    require(matrix.rows == rows() && matrix.columns == rows(),
            "block Jacobi: update needs a matrix of the size that it was set up with");
    state_->invert(context, matrix);
}

template <class T>
std::string BlockJacobi<T>::describe() const {
    return "block_jacobi:" + state_->blocks.options + ",singular=" + to_string(state_->policy);
}

template <class T>
Index BlockJacobi<T>::singular_blocks() const {
    return state_->singular;
}

template <class T>
std::vector<SingularBlock> BlockJacobi<T>::first_singular() const {
    std::vector<SingularBlock> found;
    for (std::size_t b = 0; b < state_->host_info.size() && found.size() < 10; ++b) {
        if (state_->host_info[b] == 0) continue;
        Index rows[2];
        std::int8_t shift;
        copy_to_host(state_->context,
                     std::span<const Index>(state_->blocks.block_offsets.data() + b, 2),
                     std::span<Index>(rows));
        copy_to_host(state_->context, std::span<const std::int8_t>(state_->shifts.data() + b, 1),
                     std::span<std::int8_t>(&shift, 1));
        found.push_back({Index(b), rows[0], rows[1] - rows[0], state_->host_info[b], shift});
    }
    return found;
}

template <class T>
const BlockPartition& BlockJacobi<T>::blocks() const {
    return state_->blocks;
}

template <class T>
std::span<const T> BlockJacobi<T>::inverses() const {
    return std::as_const(state_->inverses).view();
}

template <class T>
std::span<const Offset> BlockJacobi<T>::inverse_offsets() const {
    return std::as_const(state_->entry_offsets).view();
}

template <class T>
std::span<const Index> BlockJacobi<T>::info() const {
    return std::as_const(state_->info).view();
}

template class BlockJacobi<float>;
template class BlockJacobi<double>;

}  // namespace tessera
