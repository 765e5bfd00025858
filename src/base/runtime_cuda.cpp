#include "base/runtime_cuda.hpp"

#include <nvtx3/nvToolsExt.h>

#include "base/check_cuda.hpp"

namespace tessera::cuda {

void throw_device_error(cudaError_t error, const char* call, const char* file, int line) {
    const std::string place(file);
    const std::string text = std::string(cudaGetErrorName(error)) + " (" +
                             cudaGetErrorString(error) + ") from " + call + " at " +
                             place.substr(place.rfind("/src/") + 1) + ":" + std::to_string(line);
    cudaGetLastError();
    if (error == cudaErrorMemoryAllocation) throw OutOfMemory("out of GPU memory: " + text);
    throw DeviceError(text);
}

std::vector<DeviceDescription> devices(std::string* reason) {
    int count = 0;
    const cudaError_t error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess || count == 0) {
        if (reason != nullptr) {
            *reason = error == cudaSuccess || error == cudaErrorNoDevice ? "no NVIDIA GPU was found"
                      : error == cudaErrorInsufficientDriver
                          ? "no NVIDIA driver, or one older than this build needs (CUDA 13)"
                          : std::string(cudaGetErrorName(error)) + ": " + cudaGetErrorString(error);
        }
        cudaGetLastError();
        return {};
    }
    std::vector<DeviceDescription> found;
    for (int device = 0; device < count; ++device) {
        cudaDeviceProp properties{};
        TESSERA_CUDA(cudaGetDeviceProperties(&properties, device));
        found.push_back({properties.name, Offset(properties.totalGlobalMem),
                         10 * properties.major + properties.minor, properties.multiProcessorCount});
    }
    return found;
}

void* create_stream(int device) {
    TESSERA_CUDA(cudaSetDevice(device));
    cudaStream_t stream = nullptr;
    TESSERA_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    return stream;
}

void* create_pool(int device) {
    TESSERA_CUDA(cudaSetDevice(device));
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location = {cudaMemLocationTypeDevice, device};
    cudaMemPool_t pool = nullptr;
    TESSERA_CUDA(cudaMemPoolCreate(&pool, &properties));
    std::uint64_t keep_all = ~std::uint64_t(0);
    TESSERA_CUDA(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep_all));
    return pool;
}

void destroy_pool(int device, void* pool) noexcept {
    cudaSetDevice(device);
    cudaMemPoolDestroy(static_cast<cudaMemPool_t>(pool));
}

void destroy_stream(int device, void* stream) noexcept {
    cudaSetDevice(device);
    cudaStreamSynchronize(static_cast<cudaStream_t>(stream));
    cudaStreamDestroy(static_cast<cudaStream_t>(stream));
}

void synchronize(int device, void* stream) {
    TESSERA_CUDA(cudaSetDevice(device));
    TESSERA_CUDA(cudaStreamSynchronize(static_cast<cudaStream_t>(stream)));
}

bool has_ended(void* stream) {
    const cudaError_t error = cudaStreamQuery(static_cast<cudaStream_t>(stream));
    if (error == cudaErrorNotReady) {
        cudaGetLastError();
        return false;
    }
    check(error, "cudaStreamQuery", __FILE__, __LINE__);
    return true;
}

void* allocate(int device, void* pool, void* stream, Offset bytes) {
    TESSERA_CUDA(cudaSetDevice(device));
    void* memory = nullptr;
    const cudaError_t error = cudaMallocFromPoolAsync(&memory, static_cast<std::size_t>(bytes),
                                                      static_cast<cudaMemPool_t>(pool),
                                                      static_cast<cudaStream_t>(stream));
    if (error == cudaErrorMemoryAllocation) {
        cudaGetLastError();
        throw OutOfMemory("out of GPU memory: " + std::to_string(bytes >> 20) + " MiB requested, " +
                          std::to_string(free_memory(device, pool, stream) >> 20) +
                          " MiB free; take a smaller matrix, or --device cpu");
    }
    check(error, "cudaMallocFromPoolAsync", __FILE__, __LINE__);
    return memory;
}

void release(int device, void* stream, void* memory) noexcept {
    cudaSetDevice(device);
    cudaFreeAsync(memory, static_cast<cudaStream_t>(stream));
}

void* allocate_on_host(int device, Offset bytes) {
    TESSERA_CUDA(cudaSetDevice(device));
    void* memory = nullptr;
    TESSERA_CUDA(cudaHostAlloc(&memory, static_cast<std::size_t>(bytes), cudaHostAllocDefault));
    return memory;
}

void release_on_host(void* memory) noexcept { cudaFreeHost(memory); }

void fill_bytes(int device, void* stream, void* memory, int byte, Offset bytes) {
    TESSERA_CUDA(cudaSetDevice(device));
    TESSERA_CUDA(cudaMemsetAsync(memory, byte, static_cast<std::size_t>(bytes),
                                 static_cast<cudaStream_t>(stream)));
}

namespace {
void copy_async(int device, void* stream, const void* from, void* to, Offset bytes,
                cudaMemcpyKind kind) {
    TESSERA_CUDA(cudaSetDevice(device));
    TESSERA_CUDA(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), kind,
                                 static_cast<cudaStream_t>(stream)));
}
}  // namespace

void copy_within(int device, void* stream, const void* from, void* to, Offset bytes) {
    copy_async(device, stream, from, to, bytes, cudaMemcpyDeviceToDevice);
}

void copy_to_host(int device, void* stream, const void* from, void* to, Offset bytes) {
    copy_async(device, stream, from, to, bytes, cudaMemcpyDeviceToHost);
    synchronize(device, stream);
}

void copy_from_host(int device, void* stream, const void* from, void* to, Offset bytes) {
    copy_async(device, stream, from, to, bytes, cudaMemcpyHostToDevice);
    synchronize(device, stream);
}

Offset free_memory(int device, void* pool, void* stream) {
    TESSERA_CUDA(cudaSetDevice(device));
    TESSERA_CUDA(cudaStreamSynchronize(static_cast<cudaStream_t>(stream)));
    std::size_t free = 0;
    std::size_t total = 0;
    TESSERA_CUDA(cudaMemGetInfo(&free, &total));
    const auto cuda_pool = static_cast<cudaMemPool_t>(pool);
    std::uint64_t reserved = 0;
    std::uint64_t used = 0;
    TESSERA_CUDA(cudaMemPoolGetAttribute(cuda_pool, cudaMemPoolAttrReservedMemCurrent, &reserved));
    TESSERA_CUDA(cudaMemPoolGetAttribute(cuda_pool, cudaMemPoolAttrUsedMemCurrent, &used));
    return Offset(free) + Offset(reserved - used);
}

void* create_event(int device) {
    TESSERA_CUDA(cudaSetDevice(device));
    cudaEvent_t event = nullptr;
    TESSERA_CUDA(cudaEventCreate(&event));
    return event;
}

void destroy_event(void* event) noexcept { cudaEventDestroy(static_cast<cudaEvent_t>(event)); }

void record_event(void* event, void* stream) {
    TESSERA_CUDA(
        cudaEventRecord(static_cast<cudaEvent_t>(event), static_cast<cudaStream_t>(stream)));
}

double seconds_between(void* begin, void* end) {
    TESSERA_CUDA(cudaEventSynchronize(static_cast<cudaEvent_t>(end)));
    float milliseconds = 0;
    TESSERA_CUDA(cudaEventElapsedTime(&milliseconds, static_cast<cudaEvent_t>(begin),
                                      static_cast<cudaEvent_t>(end)));
    return 1e-3 * double(milliseconds);
}

void* capture(int device, void* stream, const std::function<void()>& work) {
    TESSERA_CUDA(cudaSetDevice(device));
    const auto cuda_stream = static_cast<cudaStream_t>(stream);
    cudaGraph_t graph = nullptr;
    TESSERA_CUDA(cudaStreamBeginCapture(cuda_stream, cudaStreamCaptureModeThreadLocal));
    try {
        work();
    } catch (...) {
        cudaStreamEndCapture(cuda_stream, &graph);
        if (graph != nullptr) cudaGraphDestroy(graph);
        cudaGetLastError();
        throw;
    }
    TESSERA_CUDA(cudaStreamEndCapture(cuda_stream, &graph));
    cudaGraphExec_t executable = nullptr;
    const cudaError_t error = cudaGraphInstantiate(&executable, graph, 0);
    cudaGraphDestroy(graph);
    check(error, "cudaGraphInstantiate", __FILE__, __LINE__);
    return executable;
}

void launch_graph(int device, void* graph, void* stream) {
    TESSERA_CUDA(cudaSetDevice(device));
    TESSERA_CUDA(
        cudaGraphLaunch(static_cast<cudaGraphExec_t>(graph), static_cast<cudaStream_t>(stream)));
}

void destroy_graph(void* graph) noexcept {
    cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(graph));
}

void range_push(const char* name) { nvtxRangePushA(name); }
void range_pop() { nvtxRangePop(); }

}  // namespace tessera::cuda
