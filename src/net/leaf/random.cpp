// SPDX-License-Identifier: BSL-1.0
#include "net/leaf/random.hpp"

#include <chrono>
#include <exception>
#include <functional>
#include <random>
#include <thread>

namespace redlock::net {

namespace {

/// Without randomness of the system, the time is the seed: it only has to make pauses differ.
std::minstd_rand::result_type first_seed() noexcept
{
    try {
        return std::random_device{}();
    } catch (std::exception const&) {
        auto const now = std::chrono::steady_clock::now().time_since_epoch().count();
        auto const thread = std::hash<std::thread::id>()(std::this_thread::get_id());
        return static_cast<std::minstd_rand::result_type>(now) ^
               static_cast<std::minstd_rand::result_type>(thread);
    }
}

} // namespace

core::random_fraction random_bits() noexcept
{
    thread_local std::minstd_rand generator{first_seed()};
    return static_cast<core::random_fraction>(generator()) << 1;
}

} // namespace redlock::net
