// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "net/machine.hpp"
#include "net/process_page.hpp"
#include "redis/command.hpp"

#include <array>
#include <cstddef>
#include <string_view>

namespace redlock::detail {

/// The owner's random value of one attempt, as it stands in the key.
class nonce {
public:
    nonce() = default;
    explicit nonce(std::array<char, redis::nonce_length> const& text) : text_(text) {}
    /// \param text of that length
    explicit nonce(std::string_view text) { text.copy(text_.data(), text_.size()); }
    [[nodiscard]] std::string_view text() const { return {text_.data(), text_.size()}; }

private:
    std::array<char, redis::nonce_length> text_{};
};

/// Fresh nonces from the machine's generator, drawn a page at a time because a single draw costs
/// more than a vote. A forked child finds the page empty, so no two processes use one nonce.
class nonce_source {
public:
    /// \param where they are kept; must outlive the source, as the machine must, and keeps nothing else
    nonce_source(net::machine&, net::process_page& where);

    /// \throws std::runtime_error when there is no randomness to be had; a later call may succeed
    [[nodiscard]] nonce next();

private:
    static constexpr std::size_t random_bytes = 16;
    struct stock;

    void refill();

    net::machine& machine_;
    stock* stock_;
    bool wiped_on_fork_;
};

} // namespace redlock::detail
