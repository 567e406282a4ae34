// SPDX-License-Identifier: BSL-1.0
// Replaces the heap's entry points in the benchmark executables only: a definition in the executable comes
// before the one in libc, for shared libraries too, so operator new and OpenSSL are counted as well.
#include "allocation_counter.hpp"

#include <dlfcn.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>

namespace {

std::atomic<std::uint64_t> counter{0};

template <class Function>
Function next(char const* name) noexcept
{
    return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

// dlsym may itself ask for memory before the real functions are known; such blocks are never given back.
alignas(std::max_align_t) std::array<std::byte, 16384> bootstrap_arena;
std::size_t bootstrap_used = 0;

void* bootstrap_allocate(std::size_t size) noexcept
{
    size = (size + alignof(std::max_align_t) - 1) & ~(alignof(std::max_align_t) - 1);
    if (size > bootstrap_arena.size() - bootstrap_used)
        return nullptr;
    void* const block = bootstrap_arena.data() + bootstrap_used;
    bootstrap_used += size;
    return block;
}

bool from_bootstrap(void const* block) noexcept
{
    auto const* const byte = static_cast<std::byte const*>(block);
    return byte >= bootstrap_arena.data() && byte < bootstrap_arena.data() + bootstrap_arena.size();
}

struct real_heap {
    void* (*malloc)(std::size_t) = nullptr;
    void* (*calloc)(std::size_t, std::size_t) = nullptr;
    void* (*realloc)(void*, std::size_t) = nullptr;
    void* (*aligned_alloc)(std::size_t, std::size_t) = nullptr;
    int (*posix_memalign)(void**, std::size_t, std::size_t) = nullptr;
    void (*free)(void*) = nullptr;
};

constinit real_heap heap;
constinit bool resolving = false;

bool ready() noexcept
{
    if (heap.free != nullptr) [[likely]]
        return true;
    if (resolving)
        return false;
    resolving = true;
    heap.malloc = next<decltype(heap.malloc)>("malloc");
    heap.calloc = next<decltype(heap.calloc)>("calloc");
    heap.realloc = next<decltype(heap.realloc)>("realloc");
    heap.aligned_alloc = next<decltype(heap.aligned_alloc)>("aligned_alloc");
    heap.posix_memalign = next<decltype(heap.posix_memalign)>("posix_memalign");
    heap.free = next<decltype(heap.free)>("free");
    return heap.free != nullptr;
}

void count() noexcept
{
    counter.fetch_add(1, std::memory_order_relaxed);
}

} // namespace

namespace redlock::bench {

std::uint64_t allocations() noexcept
{
    return counter.load(std::memory_order_relaxed);
}

} // namespace redlock::bench

extern "C" {

void* malloc(std::size_t size)
{
    count();
    return ready() ? heap.malloc(size) : bootstrap_allocate(size);
}

void* calloc(std::size_t number, std::size_t size)
{
    count();
    return ready() ? heap.calloc(number, size) : bootstrap_allocate(number * size);
}

void* realloc(void* block, std::size_t size)
{
    count();
    if (!ready())
        return bootstrap_allocate(size);
    if (!from_bootstrap(block))
        return heap.realloc(block, size);
    void* const moved = heap.malloc(size);
    auto const* const end = bootstrap_arena.data() + bootstrap_arena.size();
    auto const available = static_cast<std::size_t>(end - static_cast<std::byte const*>(block));
    if (moved != nullptr)
        std::memcpy(moved, block, size < available ? size : available);
    return moved;
}

void* aligned_alloc(std::size_t alignment, std::size_t size)
{
    count();
    return ready() ? heap.aligned_alloc(alignment, size) : nullptr;
}

int posix_memalign(void** block, std::size_t alignment, std::size_t size)
{
    count();
    return ready() ? heap.posix_memalign(block, alignment, size) : 12; // ENOMEM
}

void free(void* block)
{
    if (block != nullptr && !from_bootstrap(block) && ready())
        heap.free(block);
}
}
