// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace redlock::bench {

/// Counts the commands in a client's bytes, which may come in any pieces: arrays of bulk strings.
class command_counter {
public:
    /// \return how many commands began in these bytes
    std::uint64_t count(std::string_view bytes)
    {
        std::uint64_t begun = 0;
        while (!bytes.empty())
            if (skip_ > 0)
                skip(bytes);
            else
                begun += read_head(bytes) ? 1U : 0U;
        return begun;
    }

private:
    void skip(std::string_view& bytes)
    {
        auto const gone = bytes.size() < skip_ ? bytes.size() : skip_;
        bytes.remove_prefix(gone);
        skip_ -= gone;
    }

    /// Reads one character of "*3" or "$12". \return whether a command begins with it
    bool read_head(std::string_view& bytes)
    {
        char const next = bytes.front();
        bytes.remove_prefix(1);
        if (next == '*' || next == '$') {
            type_ = next;
            number_ = 0;
        } else if (next >= '0' && next <= '9') {
            number_ = number_ * 10 + static_cast<std::size_t>(next - '0');
        } else if (next == '\n' && type_ == '$') {
            skip_ = number_ + 2;
        }
        return next == '*';
    }

    char type_ = 0;
    std::size_t number_ = 0;
    std::size_t skip_ = 0;
};

} // namespace redlock::bench
