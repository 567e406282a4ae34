// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/memory.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace redlock::net {

class node;
class reply_sink;

struct awaited_reply {
    reply_sink* sink;
    std::uint32_t tag;
};

/// Commands for all nodes alike, while all are connected. They are formatted once. All nodes take them over when one of them is
/// sent something else or ends its connection, and at the end of the turn, when they are written.
class broadcast {
public:
    void add(node& each) { nodes_.push_back(&each); }

    /// To send a command, append its bytes to `output()`, then call `expect`. Only after `reserve`.
    [[nodiscard]] std::string& output() { return bytes_; }
    void expect(reply_sink& sink, std::uint32_t tag)
    {
        awaited_.push_back({&sink, tag});
        if (awaited_.size() == 1)
            begin();
    }
    /// Takes memory for one more command of at most so many bytes. False: there is none.
    [[nodiscard]] bool reserve(std::size_t longest) noexcept
    {
        bool const fits =
            bytes_.capacity() - bytes_.size() >= longest && awaited_.size() != awaited_.capacity();
        return fits || core::if_memory_allows([&] {
                   bytes_.reserve(std::max(bytes_.size() + longest, 2 * bytes_.capacity()));
                   awaited_.reserve(std::max<std::size_t>(2 * awaited_.capacity(), 64));
               });
    }

    [[nodiscard]] std::size_t bytes() const { return bytes_.size(); }
    [[nodiscard]] std::size_t commands() const { return awaited_.size(); }
    void hand_over() noexcept
    {
        if (!awaited_.empty())
            end(false);
    }
    /// At the end of the turn.
    void write() noexcept
    {
        if (!awaited_.empty())
            end(true);
    }

private:
    void begin() noexcept;
    void end(bool writes) noexcept;

    std::vector<node*> nodes_;
    std::string bytes_;
    std::vector<awaited_reply> awaited_;
};

} // namespace redlock::net
