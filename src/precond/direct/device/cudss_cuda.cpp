#include <dlfcn.h>
#include <library_types.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <system_error>
#include <thread>

#include "base/check_cuda.hpp"
#include "base/check_time.hpp"
#include "base/context_state.hpp"
#include "base/counted_bytes.hpp"
#include "precond/direct/device/device_factors.hpp"

// cuDSS 1.x (docs.nvidia.com/cuda/cudss), by its documented C interface.
namespace tessera::direct::cuda {

namespace {

using Handle = struct HandleTag*;
using Configuration = struct ConfigurationTag*;
using Data = struct DataTag*;
using Matrix = struct MatrixTag*;
using Status = int;

constexpr Status success = 0;
// CUDSS_CONFIG_IR_N_STEPS, CUDSS_CONFIG_DETERMINISTIC_MODE
enum Parameter { refinement_steps = 5, deterministic = 24 };
// CUDSS_DATA_INFO, _LU_NNZ, _NPIVOTS, _MEMORY_ESTIMATES, _USER_HOST_INTERRUPT
enum DataItem {
    fault = 0,
    factor_entries = 1,
    pivots_replaced = 2,
    memory_estimates = 13,
    host_interrupt = 23
};
// CUDSS_PHASE_ANALYSIS, _FACTORIZATION, _REFACTORIZATION, _SOLVE
enum Work { analysis = 3, factorisation = 4, refactorisation = 8, solution = 1008 };
// CUDSS_MVIEW_FULL, CUDSS_MVIEW_LOWER, CUDSS_BASE_ZERO, CUDSS_LAYOUT_COL_MAJOR
constexpr int full_view = 0, lower_view = 1, base_zero = 0, column_major = 0;

struct MemoryHandler {
    void* owner;
    int (*allocate)(void* owner, void** memory, std::size_t bytes, cudaStream_t stream);
    int (*release)(void* owner, void* memory, std::size_t bytes, cudaStream_t stream);
    char name[64];
};

/// The functions of the library.
struct Library {
    Status (*property)(libraryPropertyType, int*);
    Status (*create)(Handle*);
    Status (*destroy)(Handle);
    Status (*set_stream)(Handle, cudaStream_t);
    Status (*set_threads)(Handle, const char* library);
    Status (*set_memory)(Handle, const MemoryHandler*);
    Status (*create_configuration)(Configuration*);
    Status (*destroy_configuration)(Configuration);
    Status (*configure)(Configuration, int, const void*, std::size_t);
    Status (*create_data)(Handle, Data*);
    Status (*destroy_data)(Handle, Data);
    Status (*set_data)(Handle, Data, int, const void*, std::size_t);
    Status (*get_data)(Handle, Data, int, void*, std::size_t, std::size_t*);
    Status (*execute)(Handle, int, Configuration, Data, Matrix, Matrix x, Matrix b);
    Status (*create_csr)(Matrix*, std::int64_t, std::int64_t, std::int64_t, const void*,
                         const void*, const void*, const void*, cudaDataType_t, cudaDataType_t,
                         cudaDataType_t, int kind, int view, int base);
    Status (*create_dense)(Matrix*, std::int64_t, std::int64_t, std::int64_t, const void*,
                           cudaDataType_t, int layout);
    Status (*set_values)(Matrix, const void*);
    Status (*destroy_matrix)(Matrix);
    std::string threads;  ///< The library for threads of the host beside it; may be empty.
};

bool load(Library& library) {
    const char* const named = std::getenv("TESSERA_CUDSS");
    void* const file = dlopen(named != nullptr ? named : "libcudss.so.1", RTLD_NOW | RTLD_LOCAL);
    if (file == nullptr) return false;
    bool found = true;
    const auto find = [&](auto& function, const char* name) {
        function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(file, name));
        found = found && function != nullptr;
    };
    find(library.property, "cudssGetProperty");
    find(library.create, "cudssCreate");
    find(library.destroy, "cudssDestroy");
    find(library.set_stream, "cudssSetStream");
    find(library.set_threads, "cudssSetThreadingLayer");
    find(library.set_memory, "cudssSetDeviceMemHandler");
    find(library.create_configuration, "cudssConfigCreate");
    find(library.destroy_configuration, "cudssConfigDestroy");
    find(library.configure, "cudssConfigSet");
    find(library.create_data, "cudssDataCreate");
    find(library.destroy_data, "cudssDataDestroy");
    find(library.set_data, "cudssDataSet");
    find(library.get_data, "cudssDataGet");
    find(library.execute, "cudssExecute");
    find(library.create_csr, "cudssMatrixCreateCsr");
    find(library.create_dense, "cudssMatrixCreateDn");
    find(library.set_values, "cudssMatrixSetValues");
    find(library.destroy_matrix, "cudssMatrixDestroy");
    if (!found) return false;
    int version = 0;  // The numbers above are those of 1.x.
    if (library.property(MAJOR_VERSION, &version) != success || version != 1) return false;
    Dl_info place{};
    if (dladdr(reinterpret_cast<void*>(library.create), &place) != 0) {
        const auto beside =
            std::filesystem::path(place.dli_fname).parent_path() / "libcudss_mtlayer_gomp.so.1";
        std::error_code ignored;
        if (std::filesystem::exists(beside, ignored)) library.threads = beside.string();
    }
    return true;
}

/// Null where it cannot be loaded.
const Library* library() {
    static const auto loaded = []() -> std::unique_ptr<const Library> {
        auto one = std::make_unique<Library>();
        return load(*one) ? std::move(one) : nullptr;
    }();
    return loaded.get();
}

/// Device memory of the library, which is that of the Context of the setup. Its stream orders
/// allocations; work of other streams waits.
struct DeviceMemory {
    ContextState& state;
    std::atomic<Offset> bytes = 0;
};

void wait_unless_own(const DeviceMemory& memory, cudaStream_t stream, cudaStream_t waits_for) {
    if (stream != static_cast<cudaStream_t>(memory.state.stream)) cudaStreamSynchronize(waits_for);
}

int allocate(void* owner, void** memory, std::size_t bytes, cudaStream_t stream) {
    auto& device = *static_cast<DeviceMemory*>(owner);
    try {
        *memory = device.state.allocate(Offset(bytes));
    } catch (...) {
        return 1;
    }
    device.bytes += Offset(bytes);
    wait_unless_own(device, stream, static_cast<cudaStream_t>(device.state.stream));
    return 0;
}

int release(void* owner, void* memory, std::size_t bytes, cudaStream_t stream) {
    auto& device = *static_cast<DeviceMemory*>(owner);
    wait_unless_own(device, stream, stream);
    device.state.release(memory, Offset(bytes));
    device.bytes -= Offset(bytes);
    return 0;
}

template <class T>
constexpr cudaDataType_t value_type = sizeof(T) == 8 ? CUDA_R_64F : CUDA_R_32F;

template <class T>
class CudssFactors final : public DeviceFactors<T> {
  public:
    CudssFactors(const Library& library, const Context& context)
        : use_(library), context_(context) {}
    ~CudssFactors() override {
        cudaSetDevice(context_.device());
        if (matrix_ != nullptr) use_.destroy_matrix(matrix_);
        if (data_ != nullptr) use_.destroy_data(handle_, data_);
        if (configuration_ != nullptr) use_.destroy_configuration(configuration_);
        if (handle_ != nullptr) use_.destroy(handle_);
    }
    CudssFactors(const CudssFactors&) = delete;
    CudssFactors& operator=(const CudssFactors&) = delete;

    bool set_up(const CsrView<T>& a, MatrixKind kind) {
        constexpr int types[] = {0, 1, 3};  // CUDSS_MTYPE_GENERAL, _SYMMETRIC, _SPD
        const int none = 0, yes = 1;
        rows_ = a.rows;
        kind_ = kind;
        if (use_.create(&handle_) != success || use_.set_memory(handle_, &memory_) != success)
            return false;
        // Without it the analysis takes longer.
        if (!use_.threads.empty()) use_.set_threads(handle_, use_.threads.c_str());
        return use_.create_configuration(&configuration_) == success &&
               use_.configure(configuration_, refinement_steps, &none, sizeof none) == success &&
               use_.configure(configuration_, deterministic, &yes, sizeof yes) == success &&
               use_.create_data(handle_, &data_) == success &&
               use_.set_data(handle_, data_, host_interrupt, &interrupt_, sizeof interrupt_) ==
                   success &&
               use_.create_csr(&matrix_, a.rows, a.columns, a.nonzeros, a.row_offsets, nullptr,
                               a.column_indices, a.values, CUDA_R_64I, CUDA_R_32I, value_type<T>,
                               types[int(kind)],
                               kind == MatrixKind::general ? full_view : lower_view,
                               base_zero) == success;
    }

    bool factor(const Context& context, std::span<const T> values) override {
        if (!use_stream_of(context) || use_.set_values(matrix_, values.data()) != success)
            return false;
        if (!is_analysed_) {
            if (!analyse()) return false;
            is_analysed_ = true;
        }
        const Work work = was_factored_ ? refactorisation : factorisation;
        was_factored_ = true;
        const bool is_done = run(work, nullptr, nullptr);
        counted_.set(device_memory_.bytes);
        if (!is_done) return false;
        if (kind_ != MatrixKind::positive_definite) return true;
        int pivot = 0;  // The number of one that is not positive.
        if (!get(fault, pivot)) return false;
        is_indefinite_ = pivot != 0;
        return !is_indefinite_;
    }

    bool solve(const Context& context, Vectors<const T> b, Vectors<T> x) override {
        if (!use_stream_of(context)) return false;
        // The deterministic mode supports one right-hand side only.
        for (int j = 0; j < b.count; ++j) {
            if (!solve_one(b[j].data(), x[j].data())) return false;
        }
        return true;
    }

    int replaced_pivots() override {
        int count = 0;
        return get(pivots_replaced, count) ? count : -1;
    }

    bool is_indefinite() const override { return is_indefinite_; }

    Offset entries() const override { return entries_; }

  private:
    bool use_stream_of(const Context& context) {
        if (cudaSetDevice(context.device()) != cudaSuccess) return false;
        const auto stream = static_cast<cudaStream_t>(context.state().stream);
        return use_.set_stream(handle_, stream) == success;
    }

    bool solve_one(const T* b, T* x) {
        Matrix right = nullptr, left = nullptr;
        const auto create = [&](Matrix& dense, const T* data) {
            return use_.create_dense(&dense, rows_, 1, rows_, data, value_type<T>, column_major) ==
                   success;
        };
        const bool is_solved = create(right, b) && create(left, x) && run(solution, left, right);
        if (right != nullptr) use_.destroy_matrix(right);
        if (left != nullptr) use_.destroy_matrix(left);
        return is_solved;
    }

    bool run(Work work, Matrix x, Matrix b) {
        return use_.execute(handle_, work, configuration_, data_, matrix_, x, b) == success;
    }

    template <class Value>
    bool get(DataItem item, Value& value) {
        std::size_t written = 0;
        return use_.get_data(handle_, data_, item, &value, sizeof value, &written) == success;
    }

    /// The order of elimination and the pattern of the factors.
    bool analyse() {
        if (!run_interruptibly(analysis)) return false;
        std::int64_t entries = 0;
        get(factor_entries, entries);
        entries_ = entries;
        std::array<std::int64_t, 16> bytes{};  // [0]: lasting, [1]: at the peak, on the device.
        return get(memory_estimates, bytes) && bytes[1] <= context_.state().free_memory();
    }

    /// Runs long work on another thread, while this one looks at its time limits.
    bool run_interruptibly(Work work) {
        interrupt_ = 0;
        std::atomic<bool> is_over{false}, is_done{false};
        std::exception_ptr stopped;
        const auto work_here = [&] {
            try {
                is_done =
                    cudaSetDevice(context_.device()) == cudaSuccess && run(work, nullptr, nullptr);
            } catch (...) {
                is_done = false;
            }
            is_over = true;
        };
        std::thread worker;
        try {
            worker = std::thread(work_here);
        } catch (const std::system_error&) {  // No thread is left: this work cannot be ended.
            work_here();
        }
        for (int looks = 0; !is_over; ++looks) {
            try {
                if (!stopped) check_time();
            } catch (...) {
                stopped = std::current_exception();
                std::atomic_ref(interrupt_).store(1);
            }
            // Often at first, so that a short analysis does not wait for 2 ms.
            std::this_thread::sleep_for(std::chrono::microseconds(looks < 100 ? 100 : 2000));
        }
        if (worker.joinable()) worker.join();
        interrupt_ = 0;
        if (stopped) std::rethrow_exception(stopped);
        return is_done;
    }

    const Library& use_;
    Context context_;
    DeviceMemory device_memory_{context_.state()};
    const MemoryHandler memory_{&device_memory_, allocate, release, "tessera"};
    CountedBytes counted_{context_};
    std::int32_t interrupt_ = 0;  ///< The library ends its work on the host where this is not 0.
    Handle handle_ = nullptr;
    Configuration configuration_ = nullptr;
    Data data_ = nullptr;
    Matrix matrix_ = nullptr;
    Index rows_ = 0;
    MatrixKind kind_ = MatrixKind::general;
    Offset entries_ = 0;
    bool is_indefinite_ = false;
    bool is_analysed_ = false, was_factored_ = false;
};

}  // namespace

bool has_device_library() { return library() != nullptr; }

template <class T>
std::unique_ptr<DeviceFactors<T>> make_device_factors(const Context& context,
                                                      const CsrView<T>& matrix, MatrixKind kind) {
    if (library() == nullptr) return nullptr;
    auto factors = std::make_unique<CudssFactors<T>>(*library(), context);
    if (!factors->set_up(matrix, kind)) return nullptr;
    return factors;
}

template std::unique_ptr<DeviceFactors<float>> make_device_factors(const Context&,
                                                                   const CsrView<float>&,
                                                                   MatrixKind);
template std::unique_ptr<DeviceFactors<double>> make_device_factors(const Context&,
                                                                    const CsrView<double>&,
                                                                    MatrixKind);

}  // namespace tessera::direct::cuda
