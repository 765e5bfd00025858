#include "distributed/numbering.hpp"

#include <algorithm>

#include "base/checks.hpp"
#include "base/zeros.hpp"
#include "distributed/distributed_rows.hpp"

namespace tessera {

using namespace distributed;

Numbering::Numbering(const Context& context, Offset first_own, Index own_nodes,
                     std::vector<Offset> ghost_nodes)
    : first(first_own),
      own(own_nodes),
      ghosts(std::move(ghost_nodes)),
      ghosts_of_device(copy_to_buffer(context, ghosts)) {
    require(Offset(ghosts.size()) + own <= std::numeric_limits<Index>::max(),
            "a rank has more than 2^31 - 1 nodes with those of others that it needs");
}

Index Numbering::ghosts_before() const {
    return Index(std::lower_bound(ghosts.begin(), ghosts.end(), first) - ghosts.begin());
}

Buffer<Offset> global_columns(const Context& context, std::span<const Index> columns,
                              const Numbering& numbering) {
    Buffer<Offset> global(context, Offset(columns.size()));
    for_each_index(context, global.size(),
                   GlobalColumns{numbering.first, numbering.own, numbering.ghosts_of_device.data(),
                                 columns.data(), global.data()});
    return global;
}

void renumber_columns(const Context& context, std::span<const Index> columns,
                      const Numbering& before, const Numbering& after, Index* renumbered) {
    std::vector<Index> places;
    auto at = after.ghosts.begin();
    for (const Offset ghost : before.ghosts) {
        at = std::lower_bound(at, after.ghosts.end(), ghost);
        require(at != after.ghosts.end() && *at == ghost, "a numbering lacks ghost ", ghost);
        places.push_back(after.own + Index(at - after.ghosts.begin()));
    }
    const Buffer<Index> places_of_device = copy_to_buffer(context, places);
    for_each_index(
        context, Offset(columns.size()),
        RenumberColumns{before.own, places_of_device.data(), columns.data(), renumbered});
}

void sort_columns(const Context& context, Index rows, const Offset* row_offsets,
                  const Buffer<Offset>& global, const Numbering& columns, Index* sorted,
                  Offset* places) {
    Buffer<Index> local(context, global.size());
    Buffer<int> fault = zeros<int>(context, 1);
    for_each_index(
        context, global.size(),
        LocalColumns{columns.first, columns.own, Index(columns.ghosts.size()),
                     columns.ghosts_of_device.data(), global.data(), local.data(), fault.data()});
    require(read_value(context, fault.data()) == 0,
            "a distributed matrix has a column that is not in its numbering");
    const int lanes = sharing_threads(context, rows, 8);
    for_each_index(context, Offset(rows) * lanes,
                   SortBlocks{lanes, row_offsets, local.data(), sorted, places});
}

void place_blocks(const Context& context, int size, const Buffer<Offset>& places,
                  const double* from, double* to) {
    for_each_index(context, places.size() * size, PlaceBlocks{size, places.data(), from, to});
}

BsrMatrix<double> with_local_columns(const Context& context, const GlobalRows& rows,
                                     const Numbering& columns) {
    BsrMatrix<double> result(context, rows.rows(), columns.nodes(), rows.height, rows.width,
                             rows.columns.size());
    copy<Offset>(context, rows.row_offsets.view(), result.row_offsets().view());
    Buffer<Offset> places(context, rows.columns.size());
    sort_columns(context, rows.rows(), rows.row_offsets.data(), rows.columns, columns,
                 result.column_indices().data(), places.data());
    place_blocks(context, rows.height * rows.width, places, rows.values.data(),
                 result.values().data());
    return result;
}

BsrMatrix<double> renumbered(const Context& context, const BsrView<double>& rows,
                             const Numbering& before, const Numbering& after) {
    BsrMatrix<double> result(context, rows.block_rows, after.nodes(), rows.height, rows.width,
                             rows.blocks, false);
    renumber_columns(context, {rows.column_indices, std::size_t(rows.blocks)}, before, after,
                     result.column_indices().data());
    copy<Offset>(context, {rows.row_offsets, std::size_t(rows.block_rows) + 1},
                 result.row_offsets().view());
    return result;
}

namespace {

/// The numbers of a list, each below `all`, ascending and without repeats. A column is in the list
/// once for each of the many rows that have it: they are marked where they are, as a sort of all on
/// the host takes long, unless marks would be far more than they.
std::vector<Offset> distinct(const Context& context, const Buffer<Offset>& list, Offset all) {
    if (all > 64 * list.size() + (1 << 22)) {
        std::vector<Offset> numbers = copy_to_host(context, list);
        std::ranges::sort(numbers);
        numbers.erase(std::ranges::unique(numbers).begin(), numbers.end());
        return numbers;
    }
    Buffer<int> marks = zeros<int>(context, all);
    for_each_index(context, list.size(), MarkListed{list.data(), marks.data()});
    Buffer<Offset> positions(context, all + 1);
    exclusive_scan(context, all, CountAt{marks.data()}, positions.data());
    Buffer<Offset> found(context, read_value(context, positions.data() + all));
    for_each_index(context, all, CopyMarked{marks.data(), positions.data(), found.data()});
    return copy_to_host(context, found);
}

}  // namespace

std::vector<Offset> foreign_columns(const Context& context, Index rows, const Offset* row_offsets,
                                    const Buffer<Offset>& columns, Offset first, Index own,
                                    Offset all) {
    Buffer<Index> counts(context, rows);
    for_each_index(context, rows,
                   CountForeign{first, own, row_offsets, columns.data(), counts.data()});
    Buffer<Offset> positions(context, Offset(rows) + 1);
    exclusive_scan(context, rows, CountAt{counts.data()}, positions.data());
    Buffer<Offset> found(context, read_value(context, positions.data() + rows));
    if (found.size() == 0) return {};
    for_each_index(
        context, rows,
        CopyForeign{first, own, row_offsets, columns.data(), positions.data(), found.data()});
    return distinct(context, found, all);
}

BsrMatrix<double> column_range(const Context& context, const BsrView<double>& matrix, Index first,
                               Index width, const Buffer<Index>* listed_rows) {
    const Index count = listed_rows == nullptr ? matrix.block_rows : Index(listed_rows->size());
    const Index* const rows = listed_rows == nullptr ? nullptr : listed_rows->data();
    Buffer<Index> counts(context, count);
    for_each_index(context, count, CountInRange{matrix, first, first + width, counts.data(), rows});
    Buffer<Offset> offsets(context, Offset(count) + 1);
    exclusive_scan(context, count, CountAt{counts.data()}, offsets.data());
    BsrMatrix<double> part(context, count, width, matrix.height, matrix.width,
                           read_value(context, offsets.data() + count), matrix.values != nullptr);
    part.row_offsets() = std::move(offsets);
    const int lanes = sharing_threads(context, count, 8);
    for_each_index(context, Offset(count) * lanes,
                   CopyRange{lanes, matrix, first, rows, part.row_offsets().data(),
                             part.column_indices().data(), part.values().data()});
    return part;
}

Buffer<Offset> shifted(const Context& context, const Buffer<Offset>& numbers, Offset shift) {
    Buffer<Offset> result(context, numbers.size());
    for_each_index(context, numbers.size(), ShiftOffsets{numbers.data(), shift, result.data()});
    return result;
}

}  // namespace tessera
