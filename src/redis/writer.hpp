// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "redis/script.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

// Writes the commands that are sent often.
namespace redlock::redis {

inline constexpr std::string_view crlf = "\r\n";

class digits {
public:
    explicit digits(std::uint64_t number)
        : end_(std::to_chars(text_.data(), text_.data() + text_.size(), number).ptr)
    {}
    digits(digits const&) = delete;
    digits& operator=(digits const&) = delete;

    explicit operator std::string_view() const
    {
        return {text_.data(), static_cast<std::size_t>(end_ - text_.data())};
    }

private:
    std::array<char, 20> text_;
    char* end_;
};

/// Joins the parts before it appends them: a command has a dozen.
template <class... Parts>
void append_all(std::string& out, Parts const&... parts)
{
    constexpr std::size_t usual = 256;
    std::array<char, usual> joined;
    if ((std::string_view(parts).size() + ...) > usual)
        return void((out.append(std::string_view(parts)), ...));
    char* end = joined.data();
    ((end = std::ranges::copy(std::string_view(parts), end).out), ...);
    out.append(joined.data(), static_cast<std::size_t>(end - joined.data()));
}

inline void append_argument(std::string& out, std::string_view argument)
{
    append_all(out, "$", digits(argument.size()), crlf, argument, crlf);
}

/// A call of a script, whose keys and arguments follow.
class script_call {
public:
    /// \param arguments number of keys and of the arguments after them
    constexpr script_call(script const& called, unsigned keys, unsigned arguments)
        : called_(called), keys_(keys), words_(3 + arguments)
    {
        add("*");
        add_number(words_);
        add("\r\n$7\r\nEVALSHA\r\n$40\r\n");
        add(called.sha1);
        add("\r\n$1\r\n");
        add_number(keys_);
        add(crlf);
    }

    [[nodiscard]] constexpr std::string_view by_hash() const { return {by_hash_.data(), size_}; }
    void append_text(std::string& out) const
    {
        constexpr std::string_view name = "\r\n$4\r\nEVAL\r\n$";
        constexpr std::string_view keys = "\r\n$1\r\n";
        append_all(out, "*", digits(words_), name, digits(called_.text.size()), crlf, called_.text, keys,
                   digits(keys_), crlf);
    }

private:
    constexpr void add(std::string_view part)
    {
        for (char const c : part)
            by_hash_[size_++] = c;
    }
    constexpr void add_number(unsigned below_100)
    {
        if (below_100 >= 10)
            by_hash_[size_++] = static_cast<char>('0' + below_100 / 10);
        by_hash_[size_++] = static_cast<char>('0' + below_100 % 10);
    }

    script const& called_;
    unsigned keys_;
    unsigned words_;
    std::array<char, 96> by_hash_{};
    std::size_t size_ = 0;
};

} // namespace redlock::redis
