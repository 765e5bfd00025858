#include <cusparse.h>

#include <algorithm>
#include <optional>

#include "harness/shared_library.hpp"
#include "peers/spmv_peers.hpp"

namespace tessera::bench {

namespace {

const SharedLibrary& cusparse() {
    static const SharedLibrary library("cuSPARSE", {"libcusparse.so.12", "libcusparse.so"});
    return library;
}

void check(cusparseStatus_t status, const char* call) {
    if (status != CUSPARSE_STATUS_SUCCESS) {
        throw DeviceError(std::string(call) + " returned status " + std::to_string(int(status)));
    }
}

#define TESSERA_CUSPARSE(name, ...) \
    check(cusparse().symbol<decltype(&name)>(#name)(__VA_ARGS__), #name)

template <class T>
constexpr cudaDataType data_type = sizeof(T) == 8 ? CUDA_R_64F : CUDA_R_32F;

/// Common data of all products of a matrix.
template <class T>
struct Vectors {
    Vectors(const Context& in, const CsrView<T>& matrix, const T* x_, T* y_)
        : context(in), x_values(x_), y_values(y_) {
        TESSERA_CUSPARSE(cusparseCreate, &handle);
        TESSERA_CUSPARSE(cusparseSetStream, handle, static_cast<cudaStream_t>(context.stream()));
        TESSERA_CUSPARSE(cusparseCreateDnVec, &x, matrix.columns, const_cast<T*>(x_), data_type<T>);
        TESSERA_CUSPARSE(cusparseCreateDnVec, &y, matrix.rows, y_, data_type<T>);
    }
    Vectors(const Vectors&) = delete;
    Vectors& operator=(const Vectors&) = delete;
    ~Vectors() {
        cusparse().symbol<decltype(&cusparseDestroyDnVec)>("cusparseDestroyDnVec")(x);
        cusparse().symbol<decltype(&cusparseDestroyDnVec)>("cusparseDestroyDnVec")(y);
        cusparse().symbol<decltype(&cusparseDestroy)>("cusparseDestroy")(handle);
    }

    Context context;
    const T* x_values;
    T* y_values;
    cusparseHandle_t handle = nullptr;
    cusparseDnVecDescr_t x = nullptr, y = nullptr;
};

/// Arrays and description of a matrix for cuSPARSE.
template <class T>
struct Matrix {
    Buffer<int> offsets, columns;
    const T* values = nullptr;
    std::optional<SlicedMatrix<T>> sliced;  ///< Empty for CSR.
    cusparseSpMatDescr_t description = nullptr;
};

template <class T>
std::vector<T> on_host(const Context& context, const T* from, Offset count) {
    std::vector<T> to(static_cast<std::size_t>(count));
    copy_to_host(context, std::span<const T>(from, to.size()), std::span<T>(to));
    return to;
}

Buffer<int> narrow(const Context& context, const Offset* offsets, Offset count) {
    const std::vector<Offset> wide = on_host(context, offsets, count);
    return copy_to_buffer(context, std::vector<int>(wide.begin(), wide.end()));
}

template <class T>
SlicedMatrix<T> convert(const Context& context, const CsrView<T>& matrix, const std::string& to) {
    return SlicedMatrix<T>::from_csr(context, matrix, parse_format(Spec(to)));
}

/// Columns of pads are -1, as cuSPARSE requires.
template <class T>
Buffer<int> sell_columns(const Context& context, const SlicedMatrix<T>& matrix) {
    const SlicedPattern a = matrix.view().pattern;
    const auto offsets = on_host(context, a.slice_offsets, Offset(a.slices) + 1);
    const auto lengths = on_host(context, a.row_lengths, Offset(a.slices) * a.slice_height);
    auto columns = on_host(context, a.block_columns, matrix.statistics().stored_blocks);
    for (Index s = 0; s < a.slices; ++s) {
        for (Offset entry = offsets[std::size_t(s)]; entry < offsets[std::size_t(s) + 1]; ++entry) {
            const Offset k = (entry - offsets[std::size_t(s)]) / a.slice_height;
            const Offset lane = (entry - offsets[std::size_t(s)]) % a.slice_height;
            if (k >= lengths[std::size_t(s * Offset(a.slice_height) + lane)]) {
                columns[std::size_t(entry)] = -1;
            }
        }
    }
    return copy_to_buffer(context, columns);
}

template <class T>
SpmvPeer generic_product(const std::shared_ptr<Vectors<T>>& vectors,
                         const std::shared_ptr<Matrix<T>>& matrix, const std::string& name,
                         cusparseSpMVAlg_t algorithm, bool preprocess) {
    static constexpr T one = 1, zero = 0;
    std::size_t bytes = 0;
    TESSERA_CUSPARSE(cusparseSpMV_bufferSize, vectors->handle, CUSPARSE_OPERATION_NON_TRANSPOSE,
                     &one, matrix->description, vectors->x, &zero, vectors->y, data_type<T>,
                     algorithm, &bytes);
    const auto scratch = std::make_shared<Buffer<std::byte>>(
        vectors->context, Offset(std::max<std::size_t>(bytes, 16)));
    if (preprocess) {
        TESSERA_CUSPARSE(cusparseSpMV_preprocess, vectors->handle, CUSPARSE_OPERATION_NON_TRANSPOSE,
                         &one, matrix->description, vectors->x, &zero, vectors->y, data_type<T>,
                         algorithm, scratch->data());
    }
    return {
        name, [=, call = cusparse().symbol<decltype(&cusparseSpMV)>("cusparseSpMV")] {
            check(call(vectors->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix->description,
                       vectors->x, &zero, vectors->y, data_type<T>, algorithm, scratch->data()),
                  "cusparseSpMV");
        }};
}

template <class T>
SpmvPeer bsrmv_product(const std::shared_ptr<Vectors<T>>& vectors,
                       const std::shared_ptr<Matrix<T>>& matrix) {
    using Call =
        std::conditional_t<sizeof(T) == 8, decltype(&cusparseDbsrmv), decltype(&cusparseSbsrmv)>;
    const auto call = cusparse().symbol<Call>(sizeof(T) == 8 ? "cusparseDbsrmv" : "cusparseSbsrmv");
    cusparseMatDescr_t description = nullptr;
    TESSERA_CUSPARSE(cusparseCreateMatDescr, &description);
    return {"cusparse_bsrmv", [=] {
                static constexpr T one = 1, zero = 0;
                const SlicedPattern a = matrix->sliced->view().pattern;
                check(call(vectors->handle, CUSPARSE_DIRECTION_ROW,
                           CUSPARSE_OPERATION_NON_TRANSPOSE, a.block_rows(), a.block_column_count(),
                           int(matrix->sliced->statistics().blocks), &one, description,
                           matrix->values, matrix->offsets.data(), a.block_columns, a.block,
                           vectors->x_values, &zero, vectors->y_values),
                      "cusparse bsrmv");
            }};
}

}  // namespace

template <class T>
std::vector<SpmvPeer> cusparse_products(const Context& context, const CsrView<T>& a, Index block,
                                        const T* x, T* y) {
    if (!context.on_gpu() || !cusparse().found()) return {};
    constexpr auto index = CUSPARSE_INDEX_32I;
    constexpr auto base = CUSPARSE_INDEX_BASE_ZERO;
    const auto vectors = std::make_shared<Vectors<T>>(context, a, x, y);
    std::vector<SpmvPeer> peers;
    const auto add = [&](const std::shared_ptr<Matrix<T>>& matrix, const std::string& name,
                         cusparseSpMVAlg_t algorithm, bool preprocess) {
        peers.push_back(generic_product(vectors, matrix, name, algorithm, preprocess));
    };
    auto slices = convert(context, a, "sell:32,sort_window=1,index=32");
    const auto sell = std::make_shared<Matrix<T>>(
        Matrix<T>{narrow(context, slices.view().pattern.slice_offsets,
                         Offset(slices.view().pattern.slices) + 1),
                  sell_columns(context, slices), static_cast<const T*>(slices.view().values),
                  std::move(slices), nullptr});
    const FormatStatistics statistics = sell->sliced->statistics();
    TESSERA_CUSPARSE(cusparseCreateSlicedEll, &sell->description, a.rows, a.columns, a.nonzeros,
                     statistics.stored_blocks, 32, sell->offsets.data(), sell->columns.data(),
                     const_cast<T*>(sell->values), index, index, base, data_type<T>);
    add(sell, "cusparse_sell", CUSPARSE_SPMV_SELL_ALG1, false);
    for (const auto& [name, algorithm] : {std::pair{"cusparse_csr1", CUSPARSE_SPMV_CSR_ALG1},
                                          std::pair{"cusparse_csr2", CUSPARSE_SPMV_CSR_ALG2}}) {
        const auto csr = std::make_shared<Matrix<T>>(Matrix<T>{
            narrow(context, a.row_offsets, Offset(a.rows) + 1), {}, a.values, {}, nullptr});
        TESSERA_CUSPARSE(cusparseCreateCsr, &csr->description, a.rows, a.columns, a.nonzeros,
                         csr->offsets.data(), const_cast<Index*>(a.column_indices),
                         const_cast<T*>(a.values), index, index, base, data_type<T>);
        add(csr, name, algorithm, true);
    }
    if (block == 1) return peers;
    auto blocks = convert(context, a, "bcsr:" + std::to_string(block));
    const SlicedPattern pattern = blocks.view().pattern;
    const auto bsr = std::make_shared<Matrix<T>>(
        Matrix<T>{narrow(context, pattern.slice_offsets, Offset(pattern.slices) + 1),
                  {},
                  static_cast<const T*>(blocks.view().values),
                  std::move(blocks),
                  nullptr});
    TESSERA_CUSPARSE(cusparseCreateBsr, &bsr->description, pattern.block_rows(),
                     pattern.block_column_count(), bsr->sliced->statistics().blocks, block, block,
                     bsr->offsets.data(), const_cast<Index*>(pattern.block_columns),
                     const_cast<T*>(bsr->values), index, index, base, data_type<T>,
                     CUSPARSE_ORDER_ROW);
    add(bsr, "cusparse_bsr", CUSPARSE_SPMV_BSR_ALG1, false);
    peers.push_back(bsrmv_product(vectors, bsr));
    return peers;
}

namespace {

class CusparseCsr final : public Operator<double> {
  public:
    CusparseCsr(const Context& context, const CsrView<double>& a)
        : rows_(a.rows),
          offsets_(narrow(context, a.row_offsets, Offset(a.rows) + 1)),
          vectors_(context, a, a.values, const_cast<double*>(a.values)) {
        constexpr auto index = CUSPARSE_INDEX_32I;
        TESSERA_CUSPARSE(cusparseCreateCsr, &matrix_, a.rows, a.columns, a.nonzeros,
                         offsets_.data(), const_cast<Index*>(a.column_indices),
                         const_cast<double*>(a.values), index, index, CUSPARSE_INDEX_BASE_ZERO,
                         CUDA_R_64F);
        std::size_t bytes = 0;
        TESSERA_CUSPARSE(cusparseSpMV_bufferSize, vectors_.handle, transpose, &one, matrix_,
                         vectors_.x, &zero, vectors_.y, CUDA_R_64F, algorithm, &bytes);
        scratch_ = Buffer<std::byte>(context, Offset(std::max<std::size_t>(bytes, 16)));
        TESSERA_CUSPARSE(cusparseSpMV_preprocess, vectors_.handle, transpose, &one, matrix_,
                         vectors_.x, &zero, vectors_.y, CUDA_R_64F, algorithm, scratch_.data());
    }
    Index rows() const override { return rows_; }
    Index columns() const override { return rows_; }
    void apply(const Context&, std::span<const double> x, std::span<double> y) const override {
        TESSERA_CUSPARSE(cusparseDnVecSetValues, vectors_.x, const_cast<double*>(x.data()));
        TESSERA_CUSPARSE(cusparseDnVecSetValues, vectors_.y, y.data());
        TESSERA_CUSPARSE(cusparseSpMV, vectors_.handle, transpose, &one, matrix_, vectors_.x, &zero,
                         vectors_.y, CUDA_R_64F, algorithm,
                         const_cast<std::byte*>(scratch_.data()));
    }

  private:
    static constexpr double one = 1, zero = 0;
    static constexpr auto transpose = CUSPARSE_OPERATION_NON_TRANSPOSE;
    static constexpr auto algorithm = CUSPARSE_SPMV_CSR_ALG1;
    Index rows_;
    Buffer<int> offsets_;
    Vectors<double> vectors_;
    cusparseSpMatDescr_t matrix_ = nullptr;
    Buffer<std::byte> scratch_;
};

}  // namespace

std::unique_ptr<Operator<double>> cusparse_csr_operator(const Context& context,
                                                        const CsrView<double>& matrix) {
    return std::make_unique<CusparseCsr>(context, matrix);
}

template std::vector<SpmvPeer> cusparse_products<float>(const Context&, const CsrView<float>&,
                                                        Index, const float*, float*);
template std::vector<SpmvPeer> cusparse_products<double>(const Context&, const CsrView<double>&,
                                                         Index, const double*, double*);

}  // namespace tessera::bench
