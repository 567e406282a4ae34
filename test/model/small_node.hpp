// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/fencing.hpp"

#include <cstdint>

namespace redlock::model {

using core::fence;
/// Milliseconds of a server's wall clock.
using millis = std::int64_t;
/// Zero: none.
using nonce = std::uint32_t;

/// A key that may expire: as in Redis it is gone when the clock is past its expiry, but not yet at that moment.
template <class Value>
struct key {
    Value value{};
    millis expires = 0;

    [[nodiscard]] bool exists() const { return value != Value{}; }
    friend bool operator==(key const&, key const&) = default;
};

/// A node's answer.
struct reply {
    enum class kind : std::uint8_t { ok, nil, number, held };
    kind what = kind::nil;
    std::uint64_t number = 0; ///< `held`: the fence
    millis left = 0;          ///< `held`
};

/// The arguments that the fenced scripts share.
struct fenced_call {
    millis px = 0;
    millis fence_px = 0;
    nonce owner = 0;
    std::uint64_t number = 0; ///< the proposal, or the token
};

/// One server as seen by one lock: its two keys and its clock. A plain value; the operations do what
/// src/redis/scripts/*.lua and `SET key nonce NX PX` do. A test compares them with the simulation's server.
struct small_node {
    key<nonce> lock;
    key<fence> counter;
    millis clock = 0;

    reply vote(nonce owner, millis px);
    reply release(nonce owner);
    reply extend(nonce owner, millis px);
    reply fenced_vote(fenced_call const&);
    reply fenced_raise(fenced_call const&);
    reply fenced_extend(fenced_call const&);

    /// Removes keys that are past their expiry; two nodes that only differ in such keys become equal.
    void drop_expired();
    void advance(millis by) { clock += by; }
    /// Without durable data.
    void forget() { *this = {.lock = {}, .counter = {}, .clock = clock}; }

    friend bool operator==(small_node const&, small_node const&) = default;

private:
    void set_counter(fence value, millis px) { counter = {value, clock + px}; }
};

} // namespace redlock::model
