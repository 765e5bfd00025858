#include "precond/multigrid/ranks/gathered_level.hpp"

#include "base/checks.hpp"
#include "base/zeros.hpp"
#include "distributed/gather.hpp"

namespace tessera::multigrid {

namespace {

/// The rows of all ranks, on each.
BsrMatrix<double> whole_matrix(const Context& context, const Halo& halo,
                               const BsrMatrix<double>& matrix,
                               const std::vector<Offset>& nodes_of_ranks) {
    const Communicator& communicator = halo.communicator();
    const BsrView<double> view = matrix.view();
    const Offset nodes = halo.all_nodes();
    require(nodes * view.height <= std::numeric_limits<Index>::max(),
            "amg: the ranks coarsen too little for one of them to hold what is left");
    const Buffer<Offset> columns =
        global_columns(context, matrix.column_indices().view(), halo.numbering());
    const std::vector<Offset> blocks = gather_to_host(communicator, context, view.blocks);
    std::vector<Offset> values = blocks;
    Offset all = 0;
    for (Offset& count : values) {
        all += count;
        count *= view.block_size();
    }
    // Where the rows of each rank begin: the number of blocks before it is added.
    Offset before = 0;
    for (int r = 0; r < communicator.rank(); ++r) before += blocks[std::size_t(r)];
    Buffer<Offset> starts = shifted(context, matrix.row_offsets(), before);
    GlobalRows rows{view.height, view.width, Buffer<Offset>(context, nodes + 1),
                    Buffer<Offset>(context, all), Buffer<double>(context, all * view.block_size())};
    gather_parts<Offset>(communicator, context, nodes_of_ranks, starts.data(),
                         rows.row_offsets.data());
    copy_from_host<Offset>(context, std::span<const Offset>(&all, 1),
                           rows.row_offsets.view().last(1));
    gather_parts<Offset>(communicator, context, blocks, columns.data(), rows.columns.data());
    gather_parts<double>(communicator, context, values, view.values, rows.values.data());
    return with_local_columns(context, rows, Numbering(context, 0, Index(nodes), {}));
}

/// `width` numbers of each node of all ranks, on the host.
std::vector<double> whole_vector(const Context& context, const Halo& halo,
                                 std::vector<Offset> nodes_of_ranks, Offset width,
                                 const Buffer<double>& own) {
    for (Offset& count : nodes_of_ranks) count *= width;
    Buffer<double> all(context, halo.all_nodes() * width);
    gather_parts<double>(halo.communicator(), context, nodes_of_ranks, own.data(), all.data());
    return copy_to_host(context, all);
}

}  // namespace

template <class C>
GatheredLevel<C>::GatheredLevel(const Context& context, const Halo& halo,
                                const BsrMatrix<double>& matrix, const DeviceVectors& near_null,
                                const DeviceCoordinates* coordinates, const AmgOptions& options,
                                double rounding)
    : halo_(halo),
      options_(options),
      block_(matrix.view().height),
      first_row_(halo.numbering().first * matrix.view().height),
      own_rows_(halo.own() * matrix.view().height) {
    for (std::size_t r = 0; r + 1 < halo.starts().size(); ++r) {
        nodes_of_ranks_.push_back(halo.starts()[r + 1] - halo.starts()[r]);
        rows_of_ranks_.push_back(nodes_of_ranks_.back() * matrix.view().height);
    }
    set_near_null(context, near_null);
    NodeCoordinates points;
    if (coordinates != nullptr) {
        points.dimensions = coordinates->dimensions;
        points.values = whole_vector(context, halo, nodes_of_ranks_, coordinates->dimensions,
                                     coordinates->values);
    }
    options_.coordinates = std::move(points);
    hierarchy_ = std::make_unique<Hierarchy<C>>(
        context, whole_matrix(context, halo, matrix, nodes_of_ranks_), options_, rounding);
}

template <class C>
void GatheredLevel<C>::update(const Context& context, const BsrMatrix<double>& matrix,
                              const DeviceVectors& near_null) {
    set_near_null(context, near_null);
    hierarchy_->update(context, whole_matrix(context, halo_, matrix, nodes_of_ranks_));
}

template <class C>
void GatheredLevel<C>::set_near_null(const Context& context, const DeviceVectors& near_null) {
    options_.near_null = NearNullSpace{
        near_null.columns, whole_vector(context, halo_, nodes_of_ranks_, block_ * near_null.columns,
                                        near_null.values)};
}

template <class C>
Buffer<C> GatheredLevel<C>::smooth_vector(const Context& context, C* energy) const {
    const Buffer<C> whole = hierarchy_->cycle().smooth_vector(context, energy);
    Buffer<C> own(context, own_rows_);
    copy<C>(context, whole.view().subspan(std::size_t(first_row_), std::size_t(own_rows_)),
            own.view());
    return own;
}

template <class C>
void GatheredLevel<C>::apply(const Context& context, std::span<const C> b, std::span<C> z) const {
    check_vector("amg", "b", b, own_rows_);
    check_vector("amg", "z", z, own_rows_);
    const Offset rows = hierarchy_->rows();
    const Scratch<C> all_b(context, rows), all_z(context, rows);
    gather_parts<C>(halo_.communicator(), context, rows_of_ranks_, b.data(), all_b.data());
    hierarchy_->cycle().apply(context, std::span<const C>(all_b.view()), all_z.view());
    copy<C>(context, std::span<const C>(all_z.view()).subspan(std::size_t(first_row_), z.size()),
            z);
}

template class GatheredLevel<float>;
template class GatheredLevel<double>;

}  // namespace tessera::multigrid
