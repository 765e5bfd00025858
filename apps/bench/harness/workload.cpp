#include "harness/workload.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "tessera/vector_ops.hpp"

namespace tessera::bench {

namespace {

// Larger than any cache; the L2 of an H200 has 60 MB.
constexpr double bytes_of_all_sets = 256e6;
constexpr Offset values_per_line = 32;

Offset round_up(Offset count, Offset unit) { return (count + unit - 1) / unit * unit; }

}  // namespace

double Shape::sum(int power) const {
    if (!has_varying_sizes()) return double(batch) * std::pow(double(n), power);
    double total = 0;
    for (const Index size : sizes) total += std::pow(double(size), power);
    return total;
}

Shape variable_shape(Index batch, const std::vector<int>& from) {
    Shape shape{0, batch, "variable", std::vector<Index>(std::size_t(batch))};
    std::mt19937_64 random(20190101);
    for (Index& size : shape.sizes) size = from[random() % from.size()];
    return shape;
}

Shape uniform_shape(Index batch, Index n, const std::string& layout) {
    return {n, batch, layout, {}};
}

template <class T>
Workload<T>::Workload(const Context& context, Shape shape, bool rotate)
    : context_(context), shape_(std::move(shape)) {
    const std::size_t batch = std::size_t(shape_.batch);
    Offset rows = Offset(shape_.n) * shape_.batch;
    Offset values = shape_.leading_dimension() * shape_.n * shape_.batch;
    if (shape_.has_varying_sizes()) {
        host_offsets_.resize(batch);
        host_vector_offsets_.resize(batch);
        values = rows = 0;
        for (std::size_t b = 0; b < batch; ++b) {
            host_offsets_[b] = values;
            host_vector_offsets_[b] = rows;
            values += Offset(shape_.sizes[b]) * shape_.sizes[b];
            rows += shape_.sizes[b];
        }
        sizes_ = copy_to_buffer(context_, shape_.sizes);
        offsets_ = copy_to_buffer(context_, host_offsets_);
        vector_offsets_ = copy_to_buffer(context_, host_vector_offsets_);
        plan_.emplace(context_, shape_.batch, sizes_.data());
    }
    step_ = round_up(values, values_per_line);
    vector_step_ = round_up(rows, values_per_line);
    if (rotate) sets_ = Offset(std::ceil(bytes_of_all_sets / (2.0 * sizeof(T) * double(step_))));
    a_ = Buffer<T>(context_, sets_ * step_);
    x_ = Buffer<T>(context_, sets_ * step_);
    v_ = Buffer<T>(context_, sets_ * vector_step_);
    w_ = Buffer<T>(context_, sets_ * vector_step_);
    for (Buffer<T>& numbers : numbers_) numbers = Buffer<T>(context_, sets_ * numbers_step());
    info_ = copy_to_buffer(context_, std::vector<Index>(std::size_t(sets_ * shape_.batch), -1));
    if (shape_.layout == "pointers") {
        a_addresses(0);
        x_addresses(0);
    }
    restore_inputs();
    fill_normal(context_, 2, v_.view());
}

template <class T>
void Workload<T>::restore_inputs() {
    fill_normal(context_, 1, a_.view());
}

template <class T>
void Workload<T>::fill_outputs_with_nan() {
    for (Buffer<T>* output : {&x_, &w_, &numbers_[0], &numbers_[1], &numbers_[2]}) {
        fill(context_, std::numeric_limits<T>::quiet_NaN(), output->view());
    }
}

template <class T>
Offset Workload<T>::start(Index b) const {
    return shape_.has_varying_sizes() ? host_offsets_[std::size_t(b)]
                                      : shape_.leading_dimension() * shape_.n * b;
}

template <class T>
Offset Workload<T>::vector_start(Index b) const {
    return shape_.has_varying_sizes() ? host_vector_offsets_[std::size_t(b)] : Offset(shape_.n) * b;
}

template <class T>
batched::BatchView<T> Workload<T>::view(T* values, const Buffer<T*>& starts, Offset set) const {
    using View = batched::BatchView<T>;
    T* const first = values + set * step_;
    if (shape_.has_varying_sizes())
        return View::packed(shape_.batch, sizes_.data(), offsets_.data(), first);
    const Offset ld = shape_.leading_dimension();
    if (shape_.layout == "pointers") {
        return View::pointers(shape_.batch, shape_.n, ld, starts.data() + set * shape_.batch);
    }
    return View::strided(shape_.batch, shape_.n, ld, ld * shape_.n, first);
}

template <class T>
batched::VectorsView<T> Workload<T>::vectors(T* values, Offset set) const {
    batched::VectorsView<T> view;
    view.values = values + set * vector_step_;
    view.stride = shape_.n;
    if (shape_.has_varying_sizes()) view.offsets = vector_offsets_.data();
    return view;
}

template <class T>
template <class Start>
T* const* Workload<T>::addresses(Buffer<T>& values, Buffer<T*>& starts, Offset set, Offset step,
                                 const Start& start_of) {
    if (starts.empty()) {
        std::vector<T*> host;
        host.reserve(std::size_t(sets_ * shape_.batch));
        for (Offset s = 0; s < sets_; ++s) {
            for (Index b = 0; b < shape_.batch; ++b) {
                host.push_back(values.data() + s * step + start_of(b));
            }
        }
        starts = copy_to_buffer(context_, host);
    }
    return starts.data() + set * shape_.batch;
}

template <class T>
T* const* Workload<T>::addresses(Buffer<T>& values, Buffer<T*>& starts, Offset set) {
    return addresses(values, starts, set, step_, [this](Index b) { return start(b); });
}

template <class T>
T* const* Workload<T>::vector_addresses(Buffer<T>& values, Buffer<T*>& starts, Offset set) {
    return addresses(values, starts, set, vector_step_,
                     [this](Index b) { return vector_start(b); });
}

template <class T>
std::vector<T> Workload<T>::host_matrix(const Buffer<T>& values, Index b) const {
    const Index n = shape_.size(b);
    const Offset ld = shape_.has_varying_sizes() ? n : shape_.leading_dimension();
    std::vector<T> padded(std::size_t(ld * n));
    copy_to_host(context_, values.view().subspan(std::size_t(start(b)), padded.size()),
                 std::span<T>(padded));
    std::vector<T> matrix;
    for (Index j = 0; j < n; ++j) {
        matrix.insert(matrix.end(), padded.begin() + ld * j, padded.begin() + ld * j + n);
    }
    return matrix;
}

template <class T>
std::vector<T> Workload<T>::host_vector(const Buffer<T>& values, Index b) const {
    std::vector<T> vector(std::size_t(shape_.size(b)));
    copy_to_host(context_, values.view().subspan(std::size_t(vector_start(b)), vector.size()),
                 std::span<T>(vector));
    return vector;
}

template <class T>
T Workload<T>::host_number(int which, Index b) const {
    T number{};
    copy_to_host(context_, numbers_[which].view().subspan(std::size_t(b), 1),
                 std::span<T>(&number, 1));
    return number;
}

template class Workload<float>;
template class Workload<double>;

}  // namespace tessera::bench
