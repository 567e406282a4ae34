#pragma once

#include <cstddef>
#include <vector>

namespace redlock::net {

/// A queue in one piece of memory that grows only when it is asked to. Two indexes and a mask: both ends are touched with
/// each reply, and the four pointers of `boost::circular_buffer` cost more there than all else that a node does with it.
template <class T>
class ring {
public:
    /// \param capacity a power of two
    explicit ring(std::size_t capacity) : slots_(capacity) {}

    [[nodiscard]] bool empty() const { return first_ == end_; }
    [[nodiscard]] std::size_t size() const { return end_ - first_; }
    [[nodiscard]] std::size_t room() const { return slots_.size() - size(); }
    [[nodiscard]] T& operator[](std::size_t index) { return slots_[(first_ + index) & (slots_.size() - 1)]; }
    [[nodiscard]] T& front() { return (*this)[0]; }
    /// Only while there is room.
    void push_back(T const& one) { slots_[end_++ & (slots_.size() - 1)] = one; }
    void pop_front() { ++first_; }
    /// \throws std::bad_alloc
    void double_capacity()
    {
        std::vector<T> larger(2 * slots_.size());
        std::size_t const count = size();
        for (std::size_t i = 0; i != count; ++i)
            larger[i] = (*this)[i];
        slots_.swap(larger);
        first_ = 0;
        end_ = count;
    }

private:
    std::vector<T> slots_;
    std::size_t first_ = 0; ///< both go round, and are masked when they are used
    std::size_t end_ = 0;
};

} // namespace redlock::net
