// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "kit/fault_proxy.hpp"

#include <cstdint>

namespace redlock::chaos {

/// A network namespace with nothing but loopback, for this thread, its later threads and its children. Packets are lost
/// there as between machines: the kernel sends them again, and no connection ends.
class own_network {
public:
    /// Enters a new namespace. Without the right to that, or without ip(8), the machine's network stays.
    own_network();
    [[nodiscard]] bool entered() const { return entered_; }

    /// Loses all packets to a TCP port, or all from it.
    void cut(std::uint16_t port, test::direction) const;
    void mend(std::uint16_t port, test::direction) const;

private:
    bool entered_;
};

} // namespace redlock::chaos
