#include "krylov/reduced_system.hpp"

#include <algorithm>

#include "base/find_csr_entry.hpp"
#include "krylov/reduction/reduced_vectors.hpp"

namespace tessera {

namespace {

template <class T>
Buffer<T> rounded(const Context& context, const std::vector<double>& numbers) {
    return copy_to_buffer(context, std::vector<T>(numbers.begin(), numbers.end()));
}

}  // namespace

template <class T>
CsrMatrix<T> reduced_matrix(const Context& host, const CsrView<T>& matrix,
                            const Reduction& reduction) {
    std::vector<Index> number(std::size_t(matrix.rows), -1);
    Offset count = 0;
    for (std::size_t k = 0; k < reduction.kept.size(); ++k) {
        number[std::size_t(reduction.kept[k])] = Index(k);
    }
    const auto for_each_entry = [&](Index i, auto&& f) {
        for (Offset e = matrix.row_offsets[i]; e < matrix.row_offsets[i + 1]; ++e) {
            const Index column = number[std::size_t(matrix.column_indices[e])];
            if (column >= 0) f(column, matrix.values[e]);
        }
    };
    for (const Index i : reduction.kept) for_each_entry(i, [&](Index, T) { ++count; });
    const auto rows = Index(reduction.kept.size());
    CsrMatrix<T> reduced(host, rows, rows, count);
    Offset* const offsets = reduced.row_offsets().data();
    Index* const columns = reduced.column_indices().data();
    T* const values = reduced.values().data();
    std::vector<std::pair<Index, T>> entries;
    offsets[0] = 0;
    for (Index k = 0; k < rows; ++k) {
        const double row_factor = reduction.row_factors[std::size_t(k)];
        entries.clear();
        for_each_entry(reduction.kept[std::size_t(k)], [&](Index column, T value) {
            const double factor = row_factor * reduction.column_factors[std::size_t(column)];
            entries.emplace_back(column, T(factor * double(value)));
        });
        std::ranges::sort(entries, {}, &std::pair<Index, T>::first);
        Offset to = offsets[k];
        for (const auto& [column, value] : entries) {
            columns[to] = column;
            values[to++] = value;
        }
        offsets[k + 1] = to;
    }
    return reduced;
}

template <class T>
CsrMatrix<T> mean_with_transpose(const Context& host, const CsrView<T>& a) {
    const CsrMatrix<T> mirrored = transpose(host, a);
    const CsrView<T> t = mirrored.view();
    std::vector<Index> columns;
    std::vector<T> values;
    CsrMatrix<T> counted(host, a.rows, a.columns, 0);
    Offset* const offsets = counted.row_offsets().data();
    offsets[0] = 0;
    for (Index i = 0; i < a.rows; ++i) {
        Offset e = a.row_offsets[i], f = t.row_offsets[i];
        const Offset end = a.row_offsets[i + 1], t_end = t.row_offsets[i + 1];
        while (e < end || f < t_end) {
            const Index column = e == end     ? t.column_indices[f]
                                 : f == t_end ? a.column_indices[e]
                                              : std::min(a.column_indices[e], t.column_indices[f]);
            T sum = 0;
            if (e < end && a.column_indices[e] == column) sum += a.values[e++];
            if (f < t_end && t.column_indices[f] == column) sum += t.values[f++];
            columns.push_back(column);
            values.push_back(sum / 2);
        }
        offsets[i + 1] = Offset(columns.size());
    }
    return copy_to<T>(
        host, {a.rows, a.columns, Offset(columns.size()), offsets, columns.data(), values.data()});
}

template <class T>
ReducedSystem<T>::ReducedSystem(const Context& context, const CsrView<T>& given,
                                Reduction reduction)
    : context_(context),
      reduction_(std::move(reduction)),
      given_(context, given),
      fixed_(copy_to_buffer(context, reduction_.fixed)),
      kept_(copy_to_buffer(context, reduction_.kept)),
      row_factors_(rounded<T>(context, reduction_.row_factors)),
      column_factors_(rounded<T>(context, reduction_.column_factors)) {
    const Context host = context.on_gpu() ? Context::cpu(context.threads()) : context;
    CsrMatrix<T> copied;
    if (context.on_gpu()) copied = copy_to_host(context, given);
    const CsrView<T> on_host = context.on_gpu() ? copied.view() : given;
    const auto place = [&](CsrMatrix<T> made) {
        return context.on_gpu() ? copy_to(context, made) : std::move(made);
    };
    CsrMatrix<T> reduced = reduced_matrix(host, on_host, reduction_);
    if (reduction_.solves_mean) reduced = mean_with_transpose(host, reduced.view());
    if (reduction_.preconditions_by_mean) mean_ = place(mean_with_transpose(host, reduced.view()));
    matrix_ = place(std::move(reduced));
    std::vector<T> diagonal;
    for (const Index i : reduction_.fixed) {
        const Offset entry = find_csr_entry(on_host, i, i);
        diagonal.push_back(entry < 0 ? T(0) : on_host.values[entry]);
    }
    diagonal_ = copy_to_buffer(context, diagonal);
}

template <class T>
void ReducedSystem<T>::residual(std::span<const T> b, std::span<const T> x, std::span<T> r) const {
    given_.apply(context_, x, r);
    axpby<T>(context_, T(1), b, T(-1), r);
}

template <class T>
void ReducedSystem<T>::fix_unknowns(std::span<const T> r, std::span<T> x) const {
    for_each_index(context_, fixed_.size(),
                   FixUnknowns<T>{fixed_.data(), diagonal_.data(), r.data(), x.data()});
}

template <class T>
void ReducedSystem<T>::take_kept(std::span<const T> r, std::span<T> kept) const {
    for_each_index(context_, kept_.size(),
                   RestrictResidual<T>{kept_.data(), nullptr, r.data(), kept.data()});
}

template <class T>
void ReducedSystem<T>::restrict_residual(std::span<const T> r, std::span<T> reduced) const {
    for_each_index(
        context_, kept_.size(),
        RestrictResidual<T>{kept_.data(), row_factors_.data(), r.data(), reduced.data()});
}

template <class T>
void ReducedSystem<T>::add(std::span<const T> reduced, std::span<T> x) const {
    for_each_index(context_, kept_.size(),
                   AddReduced<T>{kept_.data(), column_factors_.data(), reduced.data(), x.data()});
}

template CsrMatrix<float> reduced_matrix(const Context&, const CsrView<float>&, const Reduction&);
template CsrMatrix<double> reduced_matrix(const Context&, const CsrView<double>&, const Reduction&);
template CsrMatrix<float> mean_with_transpose(const Context&, const CsrView<float>&);
template CsrMatrix<double> mean_with_transpose(const Context&, const CsrView<double>&);
template class ReducedSystem<float>;
template class ReducedSystem<double>;

}  // namespace tessera
