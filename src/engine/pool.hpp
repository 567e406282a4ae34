// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace redlock::detail {

/// Objects that are used again and again, and live as long as the pool.
template <class T>
class pool {
public:
    /// \throws std::bad_alloc
    template <class... Arguments>
    T& take(Arguments&... arguments)
    {
        if (free_.empty()) {
            if (free_.capacity() == all_.size()) // room for giving it back
                free_.reserve(2 * all_.size() + 1);
            all_.push_back(std::make_unique<T>(arguments..., *this));
            return *all_.back();
        }
        T& one = *free_.back();
        free_.pop_back();
        return one;
    }
    void recycle(T& one) noexcept { free_.push_back(&one); }

    /// Visits all objects, in use or not. There may be more of them afterwards.
    template <class Visitor>
    void for_each(Visitor const& visit)
    {
        for (std::size_t i = 0; i != all_.size(); ++i)
            visit(*all_[i]);
    }

private:
    std::vector<std::unique_ptr<T>> all_;
    std::vector<T*> free_;
};

} // namespace redlock::detail
