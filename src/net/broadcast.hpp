// SPDX-License-Identifier: BSL-1.0
#pragma once

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
/// sent something else or ends its connection, and write them when there are many, and at the end of the turn.
class broadcast {
public:
    /// So many bytes are written at once, so that servers work on them while this client goes on. They read no more at a time.
    static constexpr std::size_t piece = std::size_t{16} * 1024;

    void add(node& each) { nodes_.push_back(&each); }

    /// May a command be sent? Asks the nodes once, until the next commands are handed over.
    [[nodiscard]] bool ensure_can_send() noexcept { return has_room() || open(); }
    /// To send a command, append its bytes to `output()`, then call `expect`. Only after `ensure_can_send()`.
    [[nodiscard]] std::string& output() { return bytes_; }
    void expect(reply_sink& sink, std::uint32_t tag)
    {
        awaited_.push_back({&sink, tag});
        if (awaited_.size() == 1)
            begin();
        if (bytes_.size() >= piece)
            write();
    }
    [[nodiscard]] std::size_t bytes() const { return bytes_.size(); }
    [[nodiscard]] std::size_t commands() const { return awaited_.size(); }
    void hand_over() noexcept { end(false); }
    void write() noexcept { end(true); }

private:
    [[nodiscard]] bool has_room() const
    {
        return awaited_.size() < commands_limit_ && bytes_.size() < bytes_limit_;
    }
    [[nodiscard]] bool open() noexcept;
    [[nodiscard]] bool reserve() noexcept;
    void begin() noexcept;
    void end(bool writes) noexcept
    {
        commands_limit_ = 0;
        if (!awaited_.empty())
            distribute(writes);
    }
    void distribute(bool writes) noexcept;

    std::vector<node*> nodes_;
    std::string bytes_;
    std::vector<awaited_reply> awaited_;
    /// Below these limits each node has room for another command; zero when they have not been asked.
    std::size_t commands_limit_ = 0;
    std::size_t bytes_limit_ = 0;
};

} // namespace redlock::net
