// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <cstddef>
#include <new>

namespace redlock::detail {

/// Keeps freed blocks of one size for reuse. Any thread may take and give; one that meets another there goes to the heap
/// instead of waiting.
class block_cache {
public:
    explicit block_cache(std::size_t block_size) : block_size_(block_size) {}
    block_cache(block_cache const&) = delete;
    block_cache& operator=(block_cache const&) = delete;

    ~block_cache()
    {
        while (void* const block = pop())
            ::operator delete(block);
    }

    void* take()
    {
        void* const block = pop();
        return block ? block : ::operator new(block_size_);
    }

    /// Null: there is no memory.
    void* try_take() noexcept
    {
        void* const block = pop();
        return block ? block : ::operator new(block_size_, std::nothrow);
    }

    void give(void* block) noexcept
    {
        if (busy_.test_and_set(std::memory_order_acquire)) {
            ::operator delete(block);
            return;
        }
        first_ = ::new (block) link{first_};
        busy_.clear(std::memory_order_release);
    }

private:
    struct link {
        link* next;
    };

    void* pop() noexcept
    {
        if (busy_.test_and_set(std::memory_order_acquire))
            return nullptr;
        link* const block = first_;
        if (block)
            first_ = block->next;
        busy_.clear(std::memory_order_release);
        return block;
    }

    std::size_t block_size_;
    link* first_ = nullptr;
    std::atomic_flag busy_;
};

} // namespace redlock::detail
