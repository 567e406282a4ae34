// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::world {

/// The Lua of one server. It runs scripts as Redis does, with the same libraries and the same conversion of values.
class lua {
public:
    /// Executes one command. Its reply is by RESP2.
    using executor = std::function<std::string(std::vector<std::string> const&)>;

    struct script {
        std::string_view text;
        std::string_view sha1;
        std::span<std::string const> keys;
        std::span<std::string const> arguments;
        std::string_view nil; ///< a reply, as the caller's version of the protocol has it
    };

    /// \throws std::bad_alloc
    lua();
    ~lua();

    /// \returns the reply's bytes
    /// \throws std::bad_alloc
    [[nodiscard]] std::string run(script const&, executor const&);

private:
    class machine;
    std::unique_ptr<machine> machine_;
};

} // namespace redlock::world
