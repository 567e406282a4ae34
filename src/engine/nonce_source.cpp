// SPDX-License-Identifier: BSL-1.0
// rule A3
#include "engine/nonce_source.hpp"

#include <stdexcept>

namespace redlock::detail {

namespace {

constexpr char digit(unsigned value)
{
    return static_cast<char>(value + (value < 10 ? '0' : 'a' - 10));
}

} // namespace

/// The content of the page.
struct nonce_source::stock {
    std::size_t nonces_left; ///< nonces not yet handed out; a wiped page has none
    unsigned char bytes[255 * random_bytes];
};

nonce_source::nonce_source(net::machine& from, net::process_page& page)
    : machine_(from), stock_(reinterpret_cast<stock*>(page.room().data())),
      wiped_on_fork_(page.wiped_on_fork())
{
    static_assert(sizeof(stock) <= net::process_page::storage_size);
}

void nonce_source::refill()
{
    if (!machine_.draw(stock_->bytes))
        throw std::runtime_error("redlock: no randomness for nonces");
    // If a fork cannot be noticed, no nonces are kept.
    stock_->nonces_left = wiped_on_fork_ ? sizeof(stock_->bytes) / random_bytes : 1;
}

nonce nonce_source::next()
{
    if (stock_->nonces_left == 0)
        refill();
    unsigned char const* const raw = stock_->bytes + --stock_->nonces_left * random_bytes;
    std::array<char, redis::nonce_length> text;
    // Reckoned, not looked up in a table of digits: so the compiler can work on eight bytes or more in one step.
    for (std::size_t i = 0; i != random_bytes; ++i) {
        text[2 * i] = digit(raw[i] >> 4U);
        text[2 * i + 1] = digit(raw[i] & 15U);
    }
    return nonce(text);
}

} // namespace redlock::detail
