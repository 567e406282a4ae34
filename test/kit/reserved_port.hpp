// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>

namespace redlock::test {

/// A port that stays ours while no server listens on it: bound, never listening, with SO_REUSEADDR. Our server can listen
/// on it, too, and the kernel gives it to no other process.
class reserved_port {
public:
    explicit reserved_port(std::uint16_t wanted);
    ~reserved_port();
    reserved_port(reserved_port&& other) noexcept;
    reserved_port& operator=(reserved_port&& other) noexcept;
    std::uint16_t number() const noexcept { return number_; }

private:
    int socket_ = -1;
    std::uint16_t number_ = 0;
};

} // namespace redlock::test
