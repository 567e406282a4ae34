// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace redlock::test {

/// Another program that takes locks, driven by lines:
///
///     acquire NAME TTL_MS     held VALUE | busy
///     adopt NAME VALUE        adopted: goes on with a lock that another client took
///     extend TTL_MS           extended | failed WHY
///     release                 released | failed WHY
///
/// It begins with a line of its own, "ready" or "absent WHAT". It ends when its standard input does, so it does
/// not outlive a test that crashed. Every wait is bounded.
class interop_partner {
public:
    explicit interop_partner(std::vector<std::string> const& command);
    ~interop_partner();
    interop_partner(interop_partner const&) = delete;
    interop_partner& operator=(interop_partner const&) = delete;

    /// Empty: it is ready. Otherwise what is missing on this machine.
    std::string const& absent() const noexcept { return absent_; }

    std::string ask(std::string const& line);

private:
    std::string read_line();

    pid_t pid_ = -1;
    int to_ = -1;
    int from_ = -1;
    std::string received_;
    std::string absent_;
};

/// Returns the path of a file in the directory of these sources.
std::string interop_program(std::string const& name);

/// The directory of the Node.js clients that npm has installed, inside the build tree. Empty, with a message, if it
/// could not.
std::string node_modules();

} // namespace redlock::test
