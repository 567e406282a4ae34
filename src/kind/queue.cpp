// SPDX-License-Identifier: BSL-1.0
#include "kind/queue.hpp"

#include "redis/command.hpp"

#include <cassert>
#include <cstddef>

namespace redlock::kind {

namespace {

/// Scripts read a position by its columns.
void append_digits(std::string& text, long long number, std::size_t count)
{
    std::string const digits = std::to_string(number);
    assert(digits.size() <= count);
    text.append(count - digits.size(), '0').append(digits);
}

} // namespace

std::string position(std::string_view nonce, waiter_kind kind, std::chrono::milliseconds window,
                     permits wanted, std::string_view channel)
{
    assert(nonce.size() == redis::nonce_length && window.count() > 0);
    std::string text(nonce);
    text += static_cast<char>(kind);
    append_digits(text, window.count(), 7);
    append_digits(text, wanted.count, 4);
    append_digits(text, wanted.limit, 4);
    return text.append(channel);
}

} // namespace redlock::kind
