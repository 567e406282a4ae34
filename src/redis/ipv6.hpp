// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace redlock::redis {

using ipv6_bytes = std::array<std::uint8_t, 16>;

/// The text forms of RFC 4291, section 2.2, without a zone. Here because systems declare inet_pton in different headers.
[[nodiscard]] std::optional<ipv6_bytes> parse_ipv6(std::string_view text) noexcept;

/// One text for each address, to compare with other hosts: an IPv4-mapped address is the IPv4 address in it. No host name
/// is equal to it.
[[nodiscard]] std::string canonical(ipv6_bytes const&);

} // namespace redlock::redis
