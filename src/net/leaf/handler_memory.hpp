// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <cstddef>
#include <new>

namespace redlock::net {

/// Room for one pending handler that is started again and again: no allocation in the steady state. A handler that
/// does not fit, or a second one at the same time, goes to the heap.
///
/// Any thread: a strand's pool gives the memory of a finished handler back, and takes it again for the hop, outside the
/// strand.
class handler_memory {
public:
    handler_memory() = default;
    handler_memory(handler_memory const&) = delete;
    handler_memory& operator=(handler_memory const&) = delete;

    void* allocate(std::size_t size)
    {
        if (size > sizeof(storage_) || in_use_.exchange(true, std::memory_order_acquire))
            return ::operator new(size);
        return storage_;
    }

    void deallocate(void* pointer) noexcept
    {
        if (pointer == storage_)
            in_use_.store(false, std::memory_order_release);
        else
            ::operator delete(pointer);
    }

private:
    // Asio needs 248 bytes for a read or a wait of a stream.
    alignas(std::max_align_t) std::byte storage_[384];
    std::atomic<bool> in_use_ = false;
};

/// The memory must outlive the handler.
template <class T>
class handler_allocator {
public:
    using value_type = T;

    explicit handler_allocator(handler_memory& memory) noexcept : memory_(&memory) {}
    template <class U>
    // NOLINTNEXTLINE(google-explicit-constructor): an allocator converts to its rebound kind
    handler_allocator(handler_allocator<U> const& other) noexcept : memory_(other.memory_)
    {}

    T* allocate(std::size_t n) { return static_cast<T*>(memory_->allocate(n * sizeof(T))); }
    void deallocate(T* pointer, std::size_t) noexcept { memory_->deallocate(pointer); }

    template <class U>
    friend bool operator==(handler_allocator const& a, handler_allocator<U> const& b) noexcept
    {
        return a.memory_ == b.memory_;
    }

private:
    template <class>
    friend class handler_allocator;
    handler_memory* memory_;
};

} // namespace redlock::net
