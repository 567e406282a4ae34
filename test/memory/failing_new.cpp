// SPDX-License-Identifier: BSL-1.0
#include "failing_new.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace redlock::test {

namespace {

struct allowance {
    bool armed = false;
    std::size_t left = 0;  ///< allocations before the first that fails
    std::size_t fails = 0; ///< still to come
    bool failed = false;
};
thread_local constinit allowance mine;

bool fails_now() noexcept
{
    if (!mine.armed)
        return false;
    if (mine.left != 0) {
        --mine.left;
        return false;
    }
    if (mine.fails == 0)
        return false;
    --mine.fails;
    mine.failed = true;
    return true;
}

void* memory(std::size_t size, std::size_t alignment) noexcept
{
    if (fails_now())
        return nullptr;
    void* got = nullptr;
    return ::posix_memalign(&got, std::max(alignment, alignof(std::max_align_t)),
                            std::max<std::size_t>(size, 1)) == 0
               ? got
               : nullptr;
}

void* memory_or_throw(std::size_t size, std::size_t alignment)
{
    void* const got = memory(size, alignment);
    if (!got)
        throw std::bad_alloc();
    return got;
}

} // namespace

failing_new::failing_new(std::size_t first, std::size_t count)
{
    mine = {.armed = true, .left = first - 1, .fails = count};
}

failing_new::~failing_new()
{
    mine.armed = false;
}

bool failing_new::has_failed() const
{
    return mine.failed;
}

bool failing_new::is_over() const
{
    return mine.left == 0 && mine.fails == 0;
}

sparing_new::sparing_new() : armed_before_(mine.armed)
{
    mine.armed = false;
}

sparing_new::~sparing_new()
{
    mine.armed = armed_before_;
}

} // namespace redlock::test

using redlock::test::memory;
using redlock::test::memory_or_throw;

/// Asio allocates handlers with this function.
extern "C" void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept
{
    return memory(size, alignment);
}

void* operator new(std::size_t size)
{
    return memory_or_throw(size, 1);
}
void* operator new[](std::size_t size)
{
    return memory_or_throw(size, 1);
}
void* operator new(std::size_t size, std::nothrow_t const&) noexcept
{
    return memory(size, 1);
}
void* operator new[](std::size_t size, std::nothrow_t const&) noexcept
{
    return memory(size, 1);
}
void* operator new(std::size_t size, std::align_val_t alignment)
{
    return memory_or_throw(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment)
{
    return memory_or_throw(size, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t size, std::align_val_t alignment, std::nothrow_t const&) noexcept
{
    return memory(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment, std::nothrow_t const&) noexcept
{
    return memory(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* p) noexcept
{
    std::free(p);
}
void operator delete[](void* p) noexcept
{
    std::free(p);
}
void operator delete(void* p, std::size_t) noexcept
{
    std::free(p);
}
void operator delete[](void* p, std::size_t) noexcept
{
    std::free(p);
}
void operator delete(void* p, std::nothrow_t const&) noexcept
{
    std::free(p);
}
void operator delete[](void* p, std::nothrow_t const&) noexcept
{
    std::free(p);
}
void operator delete(void* p, std::align_val_t) noexcept
{
    std::free(p);
}
void operator delete[](void* p, std::align_val_t) noexcept
{
    std::free(p);
}
void operator delete(void* p, std::size_t, std::align_val_t) noexcept
{
    std::free(p);
}
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept
{
    std::free(p);
}
void operator delete(void* p, std::align_val_t, std::nothrow_t const&) noexcept
{
    std::free(p);
}
void operator delete[](void* p, std::align_val_t, std::nothrow_t const&) noexcept
{
    std::free(p);
}
