// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "world/timeline.hpp"

#include <string>

namespace redlock::world {

/// How a server speaks TLS. May change at any time.
struct tls_traits {
    std::string trouble{};        ///< the problem with its certificate; empty: none
    bool two_round_trips = false; ///< as before TLS 1.3
    bool hangs_up = false;        ///< in the midst of a handshake
    duration silent_until{};      ///< handshakes are not answered until then
};

/// The server's end of TLS on one connection.
class tls_end {
public:
    struct heard {
        std::string said{};   ///< to the server, in clear
        std::string answer{}; ///< in records
        bool over = false;    ///< it hangs up behind that
    };

    [[nodiscard]] bool established() const { return established_; }
    /// Takes out of `bytes` what is there in whole records.
    [[nodiscard]] heard receive(std::string& bytes, tls_traits const&);

private:
    void greet(heard&, std::string const& content, tls_traits const&);

    bool established_ = false;
};

} // namespace redlock::world
