#include "support/faults.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <new>
#include <sstream>
#include <string>

#include "run/interrupt.hpp"
#include "run_program.hpp"

#if TESSERA_WITH_CUDA
#include <cuda_runtime.h>
#endif

namespace tessera::test::faults {

namespace {

constexpr int kind_count = 4;
std::atomic<bool> armed{false};
std::atomic<int> armed_kind{0};
std::atomic<long> armed_call{0};
std::atomic<bool> armed_lasting{false};
std::atomic<bool> has_failed{false};
std::atomic<long> counts[kind_count];

/// Counts a call; whether it is to fail.
bool fails(Kind kind) {
    if (!armed.load(std::memory_order_relaxed)) return false;
    const long call = ++counts[int(kind)];
    const long k = armed_call;
    if (int(kind) != armed_kind || k == 0 || (armed_lasting ? call < k : call != k)) return false;
    has_failed = true;
    return true;
}

}  // namespace

const char* to_string(Kind kind) {
    static const char* const names[kind_count] = {"memory", "file", "thread", "cuda"};
    return names[int(kind)];
}

void arm(Kind kind, long k, bool lasting) {
    for (auto& count : counts) count = 0;
    armed_kind = int(kind);
    armed_call = k;
    armed_lasting = lasting;
    has_failed = false;
    armed = true;
}

void disarm() {
    armed = false;
#if TESSERA_WITH_CUDA
    cudaGetLastError();
#endif
}
long calls(Kind kind) { return counts[int(kind)]; }
bool failed() { return has_failed; }

int run_command_line(int argc, char** argv) {
    const char* const text = std::getenv("TESSERA_FAULT");
    std::istringstream fault(text != nullptr ? text : "");
    std::string name, call, counts_file;
    fault >> name >> call >> counts_file;
    for (const Kind kind : kinds) {
        if (name == to_string(kind)) arm(kind, std::atol(call.c_str()), call.ends_with('+'));
    }
    cli::handle_signals();
    const int code = cli::run_program(argc, argv);
    disarm();
    std::ofstream written(counts_file);
    for (const Kind kind : kinds) written << to_string(kind) << ' ' << calls(kind) << '\n';
    return code;
}

namespace {

template <class Call>
auto memory_or(Call&& call) -> decltype(call()) {
    if (!fails(Kind::memory)) return call();
    errno = ENOMEM;
    return nullptr;
}

template <class Call>
auto file_or(int error, Call&& call) -> decltype(call()) {
    if (!fails(Kind::file)) return call();
    errno = error;
    return -1;
}

}  // namespace
}  // namespace tessera::test::faults

namespace faults = tessera::test::faults;
using faults::fails;
using faults::file_or;
using faults::Kind;
using faults::memory_or;

// NOLINTBEGIN: the names are those of the linker's option --wrap.
extern "C" {
void* __real_malloc(size_t);
void* __real_calloc(size_t, size_t);
void* __real_realloc(void*, size_t);
void* __real_aligned_alloc(size_t, size_t);
void* __real__Znwm(size_t);  // operator new(size_t)
void* __real__Znam(size_t);  // operator new[](size_t)
int __real_posix_memalign(void**, size_t, size_t);
void* __wrap_malloc(size_t n) {
    return memory_or([&] { return __real_malloc(n); });
}
void* __wrap_calloc(size_t n, size_t each) {
    return memory_or([&] { return __real_calloc(n, each); });
}
void* __wrap_realloc(void* old, size_t n) {
    return memory_or([&] { return __real_realloc(old, n); });
}
void* __wrap_aligned_alloc(size_t alignment, size_t n) {
    return memory_or([&] { return __real_aligned_alloc(alignment, n); });
}
void* __wrap__Znwm(size_t n) {
    return fails(Kind::memory) ? throw std::bad_alloc() : __real__Znwm(n);
}
void* __wrap__Znam(size_t n) {
    return fails(Kind::memory) ? throw std::bad_alloc() : __real__Znam(n);
}
int __wrap_posix_memalign(void** memory, size_t alignment, size_t n) {
    return fails(Kind::memory) ? ENOMEM : __real_posix_memalign(memory, alignment, n);
}

ssize_t __real_read(int, void*, size_t);
ssize_t __real_write(int, const void*, size_t);
int __real_close(int);
int __real_fsync(int);
int __real_fchmod(int, mode_t);
int __real_renameat(int, const char*, int, const char*);
int __real_open(const char*, int, ...);
int __real_openat(int, const char*, int, ...);
ssize_t __wrap_read(int file, void* bytes, size_t n) {
    return file_or(EIO, [&] { return __real_read(file, bytes, n); });
}
ssize_t __wrap_write(int file, const void* bytes, size_t n) {
    return file_or(ENOSPC, [&] { return __real_write(file, bytes, n); });
}
int __wrap_close(int file) {
    const int result = __real_close(file);
    return file_or(EIO, [&] { return result; });
}
int __wrap_fsync(int file) {
    return file_or(EIO, [&] { return __real_fsync(file); });
}
int __wrap_fchmod(int file, mode_t mode) {
    return file_or(EPERM, [&] { return __real_fchmod(file, mode); });
}
int __wrap_renameat(int folder, const char* from, int to_folder, const char* to) {
    return file_or(EACCES, [&] { return __real_renameat(folder, from, to_folder, to); });
}
int __wrap_open(const char* path, int flags, ...) {
    std::va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    return file_or(EMFILE, [&] { return __real_open(path, flags, mode); });
}
int __wrap_openat(int folder, const char* path, int flags, ...) {
    std::va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    return file_or(EMFILE, [&] { return __real_openat(folder, path, flags, mode); });
}

int __real_pthread_create(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
int __wrap_pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                          void* (*start)(void*), void* argument) {
    return fails(Kind::thread) ? EAGAIN
                               : __real_pthread_create(thread, attributes, start, argument);
}
}

#if TESSERA_WITH_CUDA
namespace {

/// What the next cudaGetLastError must return.
thread_local cudaError_t pending = cudaSuccess;

template <class Call>
cudaError_t cuda_or(cudaError_t error, Call&& call) {
    if (!fails(Kind::cuda)) return call();
    return pending = error;
}

}  // namespace

/// A call that fails without being made, or (FREEING) after that.
#define WRAP(name, error, parameters, arguments)                        \
    extern "C" cudaError_t __real_##name parameters;                    \
    extern "C" cudaError_t __wrap_##name parameters {                   \
        return cuda_or(error, [&] { return __real_##name arguments; }); \
    }
#define WRAP_FREEING(name, parameters, arguments)                 \
    extern "C" cudaError_t __real_##name parameters;              \
    extern "C" cudaError_t __wrap_##name parameters {             \
        const cudaError_t result = __real_##name arguments;       \
        return cuda_or(cudaErrorUnknown, [&] { return result; }); \
    }
WRAP(cudaMallocFromPoolAsync, cudaErrorMemoryAllocation,
     (void** memory, size_t bytes, cudaMemPool_t pool, cudaStream_t stream),
     (memory, bytes, pool, stream))
WRAP(cudaMemcpyAsync, cudaErrorUnknown,
     (void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream),
     (to, from, bytes, kind, stream))
WRAP(cudaMemsetAsync, cudaErrorUnknown, (void* to, int byte, size_t bytes, cudaStream_t stream),
     (to, byte, bytes, stream))
WRAP(cudaLaunchKernelExC, cudaErrorLaunchOutOfResources,
     (const cudaLaunchConfig_t* config, const void* kernel, void** arguments),
     (config, kernel, arguments))
WRAP(__cudaLaunchKernel, cudaErrorLaunchOutOfResources,
     (cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t shared,
      cudaStream_t stream),
     (kernel, grid, block, arguments, shared, stream))
WRAP(cudaSetDevice, cudaErrorUnknown, (int device), (device))
WRAP(cudaStreamSynchronize, cudaErrorUnknown, (cudaStream_t stream), (stream))
WRAP(cudaStreamCreateWithFlags, cudaErrorUnknown, (cudaStream_t * stream, unsigned flags),
     (stream, flags))
WRAP(cudaMemPoolCreate, cudaErrorUnknown,
     (cudaMemPool_t * pool, const cudaMemPoolProps* properties), (pool, properties))
WRAP(cudaMemPoolSetAttribute, cudaErrorUnknown,
     (cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value), (pool, attribute, value))
WRAP(cudaMemPoolGetAttribute, cudaErrorUnknown,
     (cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value), (pool, attribute, value))
WRAP(cudaMemGetInfo, cudaErrorUnknown, (size_t * free, size_t* total), (free, total))
WRAP(cudaGetDeviceCount, cudaErrorUnknown, (int* count), (count))
WRAP(cudaDeviceGetAttribute, cudaErrorUnknown, (int* value, cudaDeviceAttr attribute, int device),
     (value, attribute, device))
WRAP(cudaFuncSetAttribute, cudaErrorUnknown,
     (const void* kernel, cudaFuncAttribute attribute, int value), (kernel, attribute, value))
WRAP(cudaStreamBeginCapture, cudaErrorUnknown, (cudaStream_t stream, cudaStreamCaptureMode mode),
     (stream, mode))
WRAP(cudaGraphInstantiate, cudaErrorMemoryAllocation,
     (cudaGraphExec_t * executable, cudaGraph_t graph, unsigned long long flags),
     (executable, graph, flags))
WRAP(cudaGraphLaunch, cudaErrorUnknown, (cudaGraphExec_t executable, cudaStream_t stream),
     (executable, stream))
WRAP(cudaEventCreate, cudaErrorUnknown, (cudaEvent_t * event), (event))
WRAP(cudaEventRecord, cudaErrorUnknown, (cudaEvent_t event, cudaStream_t stream), (event, stream))
WRAP_FREEING(cudaStreamEndCapture, (cudaStream_t stream, cudaGraph_t* graph), (stream, graph))
WRAP_FREEING(cudaFreeAsync, (void* memory, cudaStream_t stream), (memory, stream))
WRAP_FREEING(cudaStreamDestroy, (cudaStream_t stream), (stream))
WRAP_FREEING(cudaMemPoolDestroy, (cudaMemPool_t pool), (pool))
WRAP_FREEING(cudaGraphDestroy, (cudaGraph_t graph), (graph))
WRAP_FREEING(cudaGraphExecDestroy, (cudaGraphExec_t executable), (executable))

extern "C" cudaError_t __real_cudaGetLastError();
extern "C" cudaError_t __wrap_cudaGetLastError() {
    const cudaError_t real = __real_cudaGetLastError();
    const cudaError_t error = pending != cudaSuccess ? pending : real;
    pending = cudaSuccess;
    return error;
}
#endif
// NOLINTEND
