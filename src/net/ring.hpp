#pragma once

#include <cstddef>
#include <memory>
#include <utility>

namespace redlock::net {

/// A queue in one piece of memory that grows only when it is asked to. Two indexes and a mask: both ends are touched with
/// each reply, and the four pointers of `boost::circular_buffer` cost more there than all else that a node does with it.
template <class T>
class ring {
public:
    /// \param capacity a power of two
    explicit ring(std::size_t capacity) : slots_(std::make_unique<T[]>(capacity)), mask_(capacity - 1) {}

    [[nodiscard]] bool empty() const { return first_ == end_; }
    [[nodiscard]] std::size_t size() const { return end_ - first_; }
    [[nodiscard]] std::size_t room() const { return mask_ + 1 - size(); }
    [[nodiscard]] T& operator[](std::size_t index) { return slots_[(first_ + index) & mask_]; }
    [[nodiscard]] T& front() { return slots_[first_ & mask_]; }
    /// Only while there is room.
    void push_back(T const& one) { slots_[end_++ & mask_] = one; }
    void pop_front() { ++first_; }
    /// \throws std::bad_alloc
    void double_capacity()
    {
        ring larger(2 * (mask_ + 1));
        while (!empty()) {
            larger.push_back(front());
            pop_front();
        }
        *this = std::move(larger);
    }

private:
    std::unique_ptr<T[]> slots_;
    std::size_t mask_;
    std::size_t first_ = 0; ///< both go round, and are masked when they are used
    std::size_t end_ = 0;
};

} // namespace redlock::net
