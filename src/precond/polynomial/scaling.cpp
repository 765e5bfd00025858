#include "precond/polynomial/scaling.hpp"

#include <algorithm>
#include <string>

#include "base/phases.hpp"
#include "precond/polynomial/scaling_rows.hpp"
#include "tessera/detail/blocks.hpp"
#include "tessera/factor.hpp"
#include "tessera/vector_ops.hpp"

namespace tessera {

template <class T>
struct SymmetricScaling<T>::State {
    State(const Context& where, const CsrView<T>& matrix, bool keeps_matrix)
        : rows(matrix.rows),
          nonzeros(matrix.nonzeros),
          row_faults(where, matrix.rows),
          any_fault(where, 1) {
        require(matrix.rows == matrix.columns, "SymmetricScaling: the matrix must be square");
        if (!keeps_matrix) return;
        scaled = CsrMatrix<T>(where, matrix.rows, matrix.columns, matrix.nonzeros);
        copy(where, matrix.row_offsets_span(), scaled.row_offsets().view());
        copy(where, matrix.column_indices_span(), scaled.column_indices().view());
    }

    void make_blocks(const Context& context, const BlockPartition& blocks) {
        starts = Buffer<Index>(context, Offset(blocks.count) + 1);
        copy(context, blocks.block_offsets.view(), starts.view());
        block_of_row = Buffer<Index>(context, rows);
        sizes = Buffer<Index>(context, blocks.count);
        info = Buffer<Index>(context, blocks.count);
        for_each_index(context, blocks.count,
                       scaling::MarkRows{starts.data(), block_of_row.data(), sizes.data()});
        offsets = Buffer<Offset>(context, Offset(blocks.count) + 1);
        block_entry_offsets(context, blocks, offsets.view());
        factors = Buffer<T>(context, blocks.entries);
        inverses = Buffer<T>(context, blocks.entries);
        plan = batched::Plan(context, blocks.count, sizes.data());
    }
    scaling::Blocks<T> blocks_of(Buffer<T>& values) {
        return {starts.data(), block_of_row.data(), offsets.data(), values.data()};
    }

    void scale(const Context& context, const CsrView<T>& matrix) {
        const Phase phase(context, "setup",
                          double(matrix.nonzeros) * (2 * sizeof(T) + sizeof(Index)) +
                              double(matrix.rows) * (sizeof(Offset) + sizeof(T)));
        const int lanes = context.on_gpu() ? 8 : 1;  // That share a row.
        T* const values = scaled.values().data();
        const scaling::Faults faults{row_faults.data(), any_fault.data()};
        copy_from_host<int>(context, std::vector<int>{0}, any_fault.view());
        if (starts.empty()) {
            for_each_index(context, rows, scaling::InvertRoot<T>{matrix, diagonal.data(), faults});
            read_faults(context);
            if (scaled.rows() < rows) return;
            for_each_index(context, Offset(rows) * lanes,
                           scaling::ScalePoint<T>{lanes, matrix, diagonal.data(), values});
            return;
        }
        const auto factor = blocks_of(factors), inverse = blocks_of(inverses);
        for_each_index(context, rows, scaling::CopyBlockRow<T>{matrix, factor, faults});
        const auto batch = batched::BatchView<T>::packed(sizes.size(), sizes.data(), offsets.data(),
                                                         factors.data());
        batched::FactorResults<T> results;
        results.info = info.data();
        batched::llt<T>(context, batched::Pivoting::fixed, batch, batch, {}, results, {}, &plan);
        for_each_index(context, rows,
                       scaling::InvertColumn<T>{factor, inverse, info.data(), faults});
        read_faults(context);
        for_each_index(context, Offset(rows) * lanes,
                       scaling::ScaleBlockEntry<T>{lanes, matrix, inverse, values});
    }

    void apply(const Context& context, bool transposed, std::span<const T> x, std::span<T> y) {
        if (starts.empty()) {
            return multiply_elementwise(context, std::as_const(diagonal).view(), x, y);
        }
        for_each_index(
            context, rows,
            scaling::ApplyBlocks<T>{transposed, blocks_of(inverses), x.data(), y.data()});
    }

    /// Reads what the rows have set since `any_fault` was cleared.
    void read_faults(const Context& context) {
        not_positive = 0;
        first_not_positive = -1;
        if (copy_to_host(context, any_fault)[0] == 0) return;
        const auto faults = copy_to_host(context, row_faults);
        const auto not_full = std::ranges::find(faults, scaling::Fault::not_full);
        if (not_full != faults.end()) {
            throw InvalidArgument("SymmetricScaling: row " +
                                  std::to_string(not_full - faults.begin()) +
                                  " does not have the columns of its block's first row, or not "
                                  "all columns of a block; take natural blocks, or point scaling");
        }
        not_positive = Index(std::ranges::count(faults, scaling::Fault::not_positive));
        const auto first = std::ranges::find(faults, scaling::Fault::not_positive);
        first_not_positive = Index(first - faults.begin());
    }

    Index rows;
    Offset nonzeros;
    CsrMatrix<T> scaled;  ///< No rows: not kept.
    Buffer<T> diagonal;   ///< Of point scaling.
    // Of block scaling: the blocks, and their Cholesky factors L_b with the inverses of these.
    Buffer<Index> starts, block_of_row, sizes, info;
    Buffer<Offset> offsets;
    Buffer<T> factors, inverses;
    batched::Plan plan;
    Buffer<scaling::Fault> row_faults;
    Buffer<int> any_fault;
    Index not_positive = 0, first_not_positive = -1;
};

template <class T>
SymmetricScaling<T>::SymmetricScaling(const Context& context, const CsrView<T>& matrix,
                                      bool keeps_matrix)
    : state_(std::make_unique<State>(context, matrix, keeps_matrix)) {
    state_->diagonal = Buffer<T>(context, matrix.rows);
    state_->scale(context, matrix);
}

template <class T>
SymmetricScaling<T>::SymmetricScaling(const Context& context, const CsrView<T>& matrix,
                                      const BlockPartition& blocks)
    : state_(std::make_unique<State>(context, matrix, true)) {
    require(blocks.rows == matrix.rows, "SymmetricScaling: the blocks are of another matrix");
    if (matrix.rows == 0) return;
    state_->make_blocks(context, blocks);
    state_->scale(context, matrix);
}

template <class T>
SymmetricScaling<T>::~SymmetricScaling() = default;

template <class T>
CsrView<T> SymmetricScaling<T>::matrix() const {
    return state_->scaled.view();
}

template <class T>
void SymmetricScaling<T>::update(const Context& context, const CsrView<T>& matrix) {
    require(matrix.rows == state_->rows && matrix.nonzeros == state_->nonzeros,
            "SymmetricScaling: update needs a matrix of the pattern that it was set up with");
    state_->scale(context, matrix);
}

template <class T>
void SymmetricScaling<T>::apply(const Context& context, std::span<const T> x,
                                std::span<T> y) const {
    state_->apply(context, false, x, y);
}

template <class T>
void SymmetricScaling<T>::apply_transposed(const Context& context, std::span<const T> x,
                                           std::span<T> y) const {
    state_->apply(context, true, x, y);
}

template <class T>
std::span<const T> SymmetricScaling<T>::diagonal() const {
    return std::as_const(state_->diagonal).view();
}

template <class T>
Index SymmetricScaling<T>::not_positive() const {
    return state_->not_positive;
}

template <class T>
Index SymmetricScaling<T>::first_not_positive() const {
    return state_->first_not_positive;
}

template class SymmetricScaling<float>;
template class SymmetricScaling<double>;

}  // namespace tessera
