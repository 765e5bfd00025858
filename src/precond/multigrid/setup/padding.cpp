#include "precond/multigrid/setup/padding.hpp"

#include <limits>

#include "base/checks.hpp"
#include "precond/multigrid/setup/padding_rows.hpp"

namespace tessera::multigrid {

Padding::Padding(const Context& context, const NodeCoordinates& coordinates, Index rows) {
    const auto count = Offset(coordinates.values.size());
    require(count <= std::numeric_limits<Index>::max(), "amg: there are too many nodes");
    require(Offset(coordinates.unknowns.size()) == rows, "amg: coordinates name ",
            coordinates.unknowns.size(), " unknowns for a matrix of ", rows, " rows");
    std::vector<Index> row_of_unknown(std::size_t(count), -1);
    Index last = -1;
    for (std::size_t row = 0; row < coordinates.unknowns.size(); ++row) {
        const Index unknown = coordinates.unknowns[row];
        require(unknown > last && unknown < count,
                "amg: the unknowns of coordinates must ascend, below ", count, "; row ", row,
                " has ", unknown);
        row_of_unknown[std::size_t(unknown)] = Index(row);
        last = unknown;
    }
    unknown_of_row_ = copy_to_buffer(context, coordinates.unknowns);
    row_of_unknown_ = copy_to_buffer(context, row_of_unknown);
}

template <class T>
CsrMatrix<T> Padding::pad(const Context& context, const CsrView<T>& matrix) const {
    const Offset added = Offset(rows()) - matrix.rows;
    CsrMatrix<T> result(context, rows(), rows(), matrix.nonzeros + added);
    Offset* const offsets = result.row_offsets().data();
    exclusive_scan(context, rows(), PaddedLength<T>{matrix, row_of_unknown_.data()}, offsets);
    const int lanes = context.on_gpu() ? 16 : 1;
    for_each_index(context, Offset(rows()) * lanes,
                   FillPadded<T>{lanes, matrix, row_of_unknown_.data(), unknown_of_row_.data(),
                                 offsets, result.column_indices().data(), result.values().data()});
    return result;
}

template <class T>
void Padding::pad(const Context& context, const T* x, T* padded) const {
    for_each_index(context, row_of_unknown_.size(), Gather<T>{row_of_unknown_.data(), x, padded});
}

template <class T>
void Padding::unpad(const Context& context, const T* padded, T* x) const {
    for_each_index(context, unknown_of_row_.size(), Gather<T>{unknown_of_row_.data(), padded, x});
}

NearNullSpace Padding::pad(const NearNullSpace& given, const NodeCoordinates& coordinates) const {
    const auto width = std::size_t(given.columns);
    NearNullSpace padded{given.columns, std::vector<double>(std::size_t(rows()) * width, 0.0)};
    for (std::size_t row = 0; row < coordinates.unknowns.size(); ++row) {
        std::copy_n(&given.values[row * width], width,
                    &padded.values[std::size_t(coordinates.unknowns[row]) * width]);
    }
    return padded;
}

#define TESSERA_INSTANTIATE(T)                                                   \
    template CsrMatrix<T> Padding::pad(const Context&, const CsrView<T>&) const; \
    template void Padding::pad(const Context&, const T*, T*) const;              \
    template void Padding::unpad(const Context&, const T*, T*) const;
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera::multigrid
