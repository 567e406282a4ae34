#pragma once

#include "core/fencing.hpp"

#include <compare>
#include <cstdint>

namespace redlock::model {

using core::fence;
/// Milliseconds of a server's wall clock.
using millis = std::int64_t;
/// Zero: none.
using nonce = std::uint32_t;
using marker = std::uint32_t;

/// A key that may expire: as in Redis it is gone when the clock is past its expiry, and still there when it is at it.
template <class Value>
struct key {
    Value value{};
    millis expires = 0;

    [[nodiscard]] bool exists() const { return value != Value{}; }
    friend auto operator<=>(key const&, key const&) = default;
};

/// What a node answers.
struct reply {
    enum class kind : std::uint8_t { ok, nil, number, held, stranger, error };
    kind what = kind::nil;
    std::uint64_t number = 0; ///< of `held`: the fence
    millis left = 0;          ///< of `held`

    friend auto operator<=>(reply const&, reply const&) = default;
};

/// The arguments that the fenced scripts share.
struct fenced_call {
    millis px = 0;
    millis fence_px = 0;
    nonce owner = 0;
    std::uint64_t number = 0; ///< the proposal, or the token
    marker expected = 0;
};

/// One server as seen by one lock: its three keys and its clock. A plain value; the operations do what
/// src/redis/scripts/*.lua and `SET key nonce NX PX` do, which the differential test compares with a real server.
struct fake_node {
    key<nonce> lock;
    key<fence> counter;
    marker mark = 0;
    millis clock = 0;

    reply vote(nonce owner, millis px);
    reply release(nonce owner);
    reply extend(nonce owner, millis px);
    /// PTTL, of a key that has an expiry.
    reply look();
    reply fenced_vote(fenced_call const&);
    reply fenced_raise(fenced_call const&);
    reply fenced_extend(fenced_call const&);

    /// Keys that are past their expiry are as good as gone; two nodes that only differ in them become equal.
    void drop_expired();
    void advance(millis by) { clock += by; }
    /// Without durable data, or FLUSHALL.
    void forget() { *this = {.lock = {}, .counter = {}, .mark = 0, .clock = clock}; }
    /// Starts with the data of an earlier moment.
    void restore(fake_node const& earlier);

    friend auto operator<=>(fake_node const&, fake_node const&) = default;

private:
    void set_counter(fence value, millis px) { counter = {value, clock + px}; }
    [[nodiscard]] bool strange(marker expected) const { return expected != 0 && mark != expected; }
};

} // namespace redlock::model
