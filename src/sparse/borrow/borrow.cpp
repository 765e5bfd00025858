#include "tessera/borrow.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/checks.hpp"
#include "base/concat.hpp"
#include "base/host_memory/host_memory.hpp"
#include "base/zeros.hpp"
#include "sparse/borrow/steps.hpp"

namespace tessera {

template <class T>
struct BorrowedMatrix<T>::State {
    CsrView<T> view;
    Offset caller_values = 0;  ///< Number of values that the caller gives.
    // Arrays owned here, in place of the caller's; unused ones are empty.
    Buffer<Offset> row_offsets;
    Buffer<Index> column_indices;
    Buffer<T> values;
    Buffer<Offset> starts, positions;  ///< Sorted: those of GatherSums.
    Index block = 0;                   ///< Rows of a block of block sparse rows in their order.
    BlockOrder order = BlockOrder::row_major;

    void take_values(const Context& context, const T* given);
};

namespace borrow {
namespace {

/// The caller's array, checked.
template <class T>
std::span<const T> array_of(const Context& context, const char* who, const char* what,
                            const T* array, Offset size) {
    const std::span<const T> elements(array, std::size_t(size));
    check_vector(who, what, elements, size);
    check_memory(context, who, what, array);
    return elements;
}

/// Throws InvalidArgument for negative sizes.
void check_sizes(const char* who, Index rows, Index columns, Offset entries) {
    require(rows >= 0 && columns >= 0 && entries >= 0, who, ": the matrix has a negative size");
}

/// The first row at fault and its fault; Fault::none if there is none.
struct RowFault {
    Offset row = 0;
    Fault fault = Fault::none;
};

template <class RowOffset, class Column>
RowFault find_fault(const Context& context, Index rows, Index columns,
                    std::span<const RowOffset> row_offsets, std::span<const Column> column_indices,
                    bool sorted) {
    Buffer<Offset> first_fault = zeros<Offset>(context, 1);
    const int sharing = sharing_threads(context, rows, 8);
    for_each_index(context, Offset(rows) * sharing,
                   CheckRow<RowOffset, Column>{sharing, rows, columns,
                                               Offset(column_indices.size()), row_offsets.data(),
                                               column_indices.data(), sorted, first_fault.data()});
    const Offset found = copy_to_host(context, first_fault).front();
    if (found == 0) return {};
    return {rows - found / fault_kinds, Fault(found % fault_kinds)};
}

/// Checks the rows as far as `options`, sorting and narrowing need it, and returns whether they are
/// to be sorted. Throws InvalidArgument that names the first row at fault.
template <class RowOffset, class Column>
bool must_sort(const Context& context, const char* who, const char* row_name, Index rows,
               Index columns, std::span<const RowOffset> row_offsets,
               std::span<const Column> column_indices, const BorrowOptions& options) {
    const bool sorts = options.sort == SortColumns::yes;
    const bool may_sort = options.sort == SortColumns::if_needed;
    if (!options.validate && !sorts && !may_sort && sizeof(Column) == sizeof(Index)) return false;
    require(rows > 0 || column_indices.empty(), who, ": there are columns, but no rows");
    const auto find = [&](bool sorted) {
        return find_fault(context, rows, columns, row_offsets, column_indices, sorted);
    };
    RowFault found = find(may_sort || (options.validate && !sorts));
    const bool is_unsorted = may_sort && found.fault == Fault::order;
    if (is_unsorted) found = find(false);  // Later rows may have other faults.
    if (found.fault == Fault::none) return sorts || is_unsorted;
    const char* const what =
        found.fault == Fault::offsets
            ? "the row offsets must ascend from 0 to the number of columns given"
        : found.fault == Fault::column
            ? "a column is out of range"
            : "the columns are not sorted and unique (the option sort sorts them)";
    throw InvalidArgument(concat(who, ": ", row_name, " ", found.row, ": ", what), "matrix");
}

/// Entries on the host, by rows: entry k has the caller's value sources[k].
struct Entries {
    std::vector<Offset> row_offsets;
    std::vector<Index> columns;
    std::vector<Offset> sources;
};

/// Throws OutOfMemory unless the host has memory for `entries` that are sorted: the lists of their
/// places, and the matrix made of them. `given`: bytes of an entry that are copied before.
template <class T>
void require_memory(const char* what, Index rows, Index columns, Offset entries,
                    std::size_t given) {
    constexpr double per_row = 4 * sizeof(Offset);
    constexpr double per_entry = 4 * sizeof(Offset) + 3 * sizeof(Index) + sizeof(T);
    require_host_memory(
        concat("a ", what, " of ", rows, " x ", columns, " with ", entries, " entries"),
        per_row * double(rows) + (per_entry + double(given)) * double(entries));
}

/// Sorts each row by columns; equal columns keep their order.
void sort_rows(int threads, Entries& entries) {
    const Offset rows = Offset(entries.row_offsets.size()) - 1;
    parallel_ranges(
        threads, rows,
        [&](Offset first, Offset last) {
            std::vector<std::pair<Index, Offset>> row;
            for (Offset i = first; i < last; ++i) {
                const Offset begin = entries.row_offsets[std::size_t(i)];
                const Offset end = entries.row_offsets[std::size_t(i) + 1];
                row.clear();
                for (Offset k = begin; k < end; ++k) {
                    row.emplace_back(entries.columns[std::size_t(k)],
                                     entries.sources[std::size_t(k)]);
                }
                const auto by_column = [](const auto& a, const auto& b) {
                    return a.first < b.first;
                };
                std::ranges::stable_sort(row, by_column);
                for (Offset k = begin; k < end; ++k) {
                    const auto& [column, source] = row[std::size_t(k - begin)];
                    entries.columns[std::size_t(k)] = column;
                    entries.sources[std::size_t(k)] = source;
                }
            }
        },
        1024);
}

/// Makes the pattern of the entries, sorted, with each column once.
template <class State>
void set_sorted(const Context& context, Index rows, Index columns, Entries& entries, State& state) {
    sort_rows(context.threads(), entries);
    std::vector<Offset> row_offsets(std::size_t(rows) + 1), starts;
    std::vector<Index> unique;
    for (Index i = 0; i < rows; ++i) {
        const Offset begin = entries.row_offsets[std::size_t(i)];
        for (Offset k = begin; k < entries.row_offsets[std::size_t(i) + 1]; ++k) {
            const Index column = entries.columns[std::size_t(k)];
            if (k > begin && column == unique.back()) continue;
            unique.push_back(column);
            starts.push_back(k);
        }
        row_offsets[std::size_t(i) + 1] = Offset(unique.size());
    }
    starts.push_back(Offset(entries.sources.size()));
    state.row_offsets = copy_to_buffer(context, row_offsets);
    state.column_indices = copy_to_buffer(context, unique);
    state.starts = copy_to_buffer(context, starts);
    state.positions = copy_to_buffer(context, entries.sources);
    state.values = decltype(state.values)(context, Offset(unique.size()));
    state.view = {rows,
                  columns,
                  Offset(unique.size()),
                  state.row_offsets.data(),
                  state.column_indices.data(),
                  nullptr};
}

template <class To, class From>
std::vector<To> copied_as(const Context& context, std::span<const From> array) {
    std::vector<From> host(array.size());
    copy_to_host(context, array, std::span<From>(host));
    if constexpr (std::is_same_v<To, From>) return host;
    return std::vector<To>(host.begin(), host.end());
}

/// The caller's array, or a copy with wider or narrower elements in `own`.
template <class To, class From>
const To* as_type(const Context& context, std::span<const From> array, Buffer<To>& own) {
    if constexpr (std::is_same_v<To, From>) {
        return array.data();
    } else {
        own = Buffer<To>(context, Offset(array.size()));
        for_each_index(context, own.size(), ConvertIndices<From, To>{array.data(), own.data()});
        return own.data();
    }
}

}  // namespace
}  // namespace borrow

template <class T>
void BorrowedMatrix<T>::State::take_values(const Context& context, const T* given) {
    borrow::array_of(context, "BorrowedMatrix", "values", given, caller_values);
    if (!starts.empty()) {
        for_each_index(
            context, values.size(),
            borrow::GatherSums<T>{starts.data(), positions.data(), given, values.data()});
    } else if (block > 0) {
        for_each_index(
            context, view.rows,
            borrow::ExpandValues<T>{block, order, view.row_offsets, given, values.data()});
    } else {
        view.values = given;
        return;
    }
    view.values = values.data();
}

template <class T>
BorrowedMatrix<T>::BorrowedMatrix() = default;
template <class T>
BorrowedMatrix<T>::BorrowedMatrix(std::unique_ptr<State> state) : state_(std::move(state)) {}
template <class T>
BorrowedMatrix<T>::~BorrowedMatrix() = default;
template <class T>
BorrowedMatrix<T>::BorrowedMatrix(BorrowedMatrix&&) noexcept = default;
template <class T>
BorrowedMatrix<T>& BorrowedMatrix<T>::operator=(BorrowedMatrix&&) noexcept = default;

template <class T>
CsrView<T> BorrowedMatrix<T>::view() const {
    return state_ ? state_->view : CsrView<T>{};
}

template <class T>
bool BorrowedMatrix<T>::borrows_values() const {
    return state_ && state_->values.empty() && state_->view.nonzeros > 0;
}

template <class T>
bool BorrowedMatrix<T>::was_sorted() const {
    return state_ && !state_->starts.empty();
}

template <class T>
void BorrowedMatrix<T>::update(const Context& context, const T* values) {
    require(state_ != nullptr, "BorrowedMatrix::update: there is no matrix");
    state_->take_values(context, values);
}

template <class T, class RowOffset, class Column>
BorrowedMatrix<T> borrow_csr(const Context& context, Index rows, Index columns, Offset nonzeros,
                             const RowOffset* row_offsets, const Column* column_indices,
                             const T* values, const BorrowOptions& options) {
    constexpr const char* name = "borrow_csr";
    borrow::check_sizes(name, rows, columns, nonzeros);
    const auto offsets =
        borrow::array_of(context, name, "row_offsets", row_offsets, Offset(rows) + 1);
    const auto all_columns =
        borrow::array_of(context, name, "column_indices", column_indices, nonzeros);
    borrow::array_of(context, name, "values", values, nonzeros);
    const bool sorts =
        borrow::must_sort(context, name, "row", rows, columns, offsets, all_columns, options);
    auto state = std::make_unique<typename BorrowedMatrix<T>::State>();
    state->caller_values = nonzeros;
    if (sorts) {
        borrow::require_memory<T>("matrix with unsorted rows", rows, columns, nonzeros, 0);
        borrow::Entries entries{borrow::copied_as<Offset>(context, offsets),
                                borrow::copied_as<Index>(context, all_columns),
                                std::vector<Offset>(std::size_t(nonzeros))};
        std::iota(entries.sources.begin(), entries.sources.end(), Offset(0));
        borrow::set_sorted(context, rows, columns, entries, *state);
    } else {
        state->view = {rows,
                       columns,
                       nonzeros,
                       borrow::as_type(context, offsets, state->row_offsets),
                       borrow::as_type(context, all_columns, state->column_indices),
                       nullptr};
    }
    state->take_values(context, values);
    context.synchronize();
    return BorrowedMatrix<T>(std::move(state));
}

template <class T, class RowOffset, class Column>
BorrowedMatrix<T> borrow_bsr(const Context& context, Index block_rows, Index block_columns,
                             Index block, Offset blocks, const RowOffset* row_offsets,
                             const Column* column_indices, const T* values, BlockOrder order,
                             const BorrowOptions& options) {
    constexpr const char* name = "borrow_bsr";
    constexpr Offset most = std::numeric_limits<Index>::max();
    borrow::check_sizes(name, block_rows, block_columns, blocks);
    require(block >= 1 && block <= 1024, name, ": blocks have 1 to 1024 rows, not ", block);
    require(Offset(block_rows) * block <= most && Offset(block_columns) * block <= most, name,
            ": the matrix has more than 2^31 - 1 rows or columns");
    const Offset size = Offset(block) * block;
    require(blocks <= std::numeric_limits<Offset>::max() / size, name, ": too many blocks");
    const Offset entries = blocks * size;
    const auto offsets =
        borrow::array_of(context, name, "row_offsets", row_offsets, Offset(block_rows) + 1);
    const auto all_columns =
        borrow::array_of(context, name, "column_indices", column_indices, blocks);
    borrow::array_of(context, name, "values", values, entries);
    const bool sorts = borrow::must_sort(context, name, "block row", block_rows, block_columns,
                                         offsets, all_columns, options);
    const Index rows = block_rows * block, columns = block_columns * block;
    auto state = std::make_unique<typename BorrowedMatrix<T>::State>();
    state->caller_values = entries;
    state->row_offsets = Buffer<Offset>(context, Offset(rows) + 1);
    state->column_indices = Buffer<Index>(context, entries);
    if (rows == 0)
        copy_from_host<Offset>(context, std::vector<Offset>(1, 0), state->row_offsets.view());
    for_each_index(context, rows,
                   borrow::ExpandRow<RowOffset, Column>{block, row_offsets, column_indices, rows,
                                                        state->row_offsets.data(),
                                                        state->column_indices.data()});
    if (sorts) {
        borrow::require_memory<T>("matrix with unsorted rows", rows, columns, entries,
                                  sizeof(Offset));
        const Context host = Context::cpu(context.threads());
        borrow::Entries sorted{copy_to_host(context, state->row_offsets),
                               copy_to_host(context, state->column_indices),
                               std::vector<Offset>(std::size_t(entries))};
        std::vector<Offset> places(sorted.sources.size());
        std::iota(places.begin(), places.end(), Offset(0));
        cpu::for_each_index(host, rows,
                            borrow::ExpandValues<Offset>{block, order, sorted.row_offsets.data(),
                                                         places.data(), sorted.sources.data()});
        borrow::set_sorted(context, rows, columns, sorted, *state);
    } else {
        state->block = block;
        state->order = order;
        state->values = Buffer<T>(context, entries);
        state->view = {
            rows,   columns, entries, state->row_offsets.data(), state->column_indices.data(),
            nullptr};
    }
    state->take_values(context, values);
    context.synchronize();
    return BorrowedMatrix<T>(std::move(state));
}

template <class T, class Coordinate>
BorrowedMatrix<T> borrow_coo(const Context& context, Index rows, Index columns, Offset entries,
                             const Coordinate* row_indices, const Coordinate* column_indices,
                             const T* values) {
    constexpr const char* name = "borrow_coo";
    borrow::check_sizes(name, rows, columns, entries);
    const auto count = std::size_t(entries);
    borrow::require_memory<T>("COO matrix", rows, columns, entries, 2 * sizeof(Coordinate));
    const auto all_rows = borrow::copied_as<Coordinate>(
        context, borrow::array_of(context, name, "row_indices", row_indices, entries));
    const auto all_columns = borrow::copied_as<Coordinate>(
        context, borrow::array_of(context, name, "column_indices", column_indices, entries));
    borrow::array_of(context, name, "values", values, entries);
    borrow::Entries by_rows{std::vector<Offset>(std::size_t(rows) + 1, 0),
                            std::vector<Index>(count), std::vector<Offset>(count)};
    for (std::size_t k = 0; k < count; ++k) {
        require(all_rows[k] >= 0 && all_rows[k] < rows && all_columns[k] >= 0 &&
                    all_columns[k] < columns,
                name, ": entry ", k, " is at row ", all_rows[k], " and column ", all_columns[k],
                " of a ", rows, " x ", columns, " matrix");
        ++by_rows.row_offsets[std::size_t(all_rows[k]) + 1];
    }
    std::partial_sum(by_rows.row_offsets.begin(), by_rows.row_offsets.end(),
                     by_rows.row_offsets.begin());
    std::vector<Offset> next(by_rows.row_offsets.begin(), by_rows.row_offsets.end() - 1);
    for (std::size_t k = 0; k < count; ++k) {
        const auto to = std::size_t(next[std::size_t(all_rows[k])]++);
        by_rows.columns[to] = Index(all_columns[k]);
        by_rows.sources[to] = Offset(k);
    }
    auto state = std::make_unique<typename BorrowedMatrix<T>::State>();
    state->caller_values = entries;
    borrow::set_sorted(context, rows, columns, by_rows, *state);
    state->take_values(context, values);
    context.synchronize();
    return BorrowedMatrix<T>(std::move(state));
}

#define TESSERA_INSTANTIATE_INDICES(T, RowOffset, Column)                                         \
    template BorrowedMatrix<T> borrow_csr(const Context&, Index, Index, Offset, const RowOffset*, \
                                          const Column*, const T*, const BorrowOptions&);         \
    template BorrowedMatrix<T> borrow_bsr(const Context&, Index, Index, Index, Offset,            \
                                          const RowOffset*, const Column*, const T*, BlockOrder,  \
                                          const BorrowOptions&);
#define TESSERA_INSTANTIATE_COO(T, Coordinate)                                                     \
    template BorrowedMatrix<T> borrow_coo(const Context&, Index, Index, Offset, const Coordinate*, \
                                          const Coordinate*, const T*);
#define TESSERA_INSTANTIATE(T)                                 \
    template class BorrowedMatrix<T>;                          \
    TESSERA_INSTANTIATE_INDICES(T, std::int32_t, std::int32_t) \
    TESSERA_INSTANTIATE_INDICES(T, std::int32_t, std::int64_t) \
    TESSERA_INSTANTIATE_INDICES(T, std::int64_t, std::int32_t) \
    TESSERA_INSTANTIATE_INDICES(T, std::int64_t, std::int64_t) \
    TESSERA_INSTANTIATE_COO(T, std::int32_t)                   \
    TESSERA_INSTANTIATE_COO(T, std::int64_t)
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera
