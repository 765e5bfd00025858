#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tessera/context.hpp"

/// The CUDA runtime calls that base needs; defined only where the CUDA backend is built. Callers
/// write `if constexpr (with_cuda)`.
namespace tessera::cuda {

inline constexpr bool with_cuda = TESSERA_WITH_CUDA;

std::vector<DeviceDescription> devices(std::string* reason);
void* create_stream(int device);
void destroy_stream(int device, void* stream) noexcept;
/// A memory pool that keeps what is freed for later allocations, until it is destroyed.
void* create_pool(int device);
void destroy_pool(int device, void* pool) noexcept;
void synchronize(int device, void* stream);
bool has_ended(void* stream);  ///< All work given to it has.
void* allocate(int device, void* pool, void* stream, Offset bytes);
void release(int device, void* stream, void* memory) noexcept;
void* allocate_on_host(int device, Offset bytes);  ///< Page-locked.
void release_on_host(void* memory) noexcept;
void fill_bytes(int device, void* stream, void* memory, int byte, Offset bytes);
void copy_within(int device, void* stream, const void* from, void* to, Offset bytes);
void copy_to_host(int device, void* stream, const void* from, void* to, Offset bytes);
void copy_from_host(int device, void* stream, const void* from, void* to, Offset bytes);
Offset free_memory(int device, void* pool, void* stream);

void* create_event(int device);
void destroy_event(void* event) noexcept;
void record_event(void* event, void* stream);
double seconds_between(void* begin, void* end);  ///< Waits for `end`.

/// Records `work` on `stream`; returns an executable graph.
void* capture(int device, void* stream, const std::function<void()>& work);
void launch_graph(int device, void* graph, void* stream);
void destroy_graph(void* graph) noexcept;

void range_push(const char* name);
void range_pop();

}  // namespace tessera::cuda
