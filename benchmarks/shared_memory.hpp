// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <sys/mman.h>

#include <new>
#include <stdexcept>

namespace redlock::bench {

/// One object on pages that this process shares with those it forks.
template <class T>
class shared_memory {
public:
    shared_memory()
        : memory_(::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
    {
        if (memory_ == MAP_FAILED)
            throw std::runtime_error{"mmap"};
        ::new (memory_) T;
    }
    shared_memory(shared_memory const&) = delete;
    shared_memory& operator=(shared_memory const&) = delete;
    ~shared_memory() { ::munmap(memory_, sizeof(T)); }

    T& operator*() const { return *static_cast<T*>(memory_); }
    T* operator->() const { return static_cast<T*>(memory_); }

private:
    void* memory_;
};

} // namespace redlock::bench
