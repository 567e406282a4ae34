// SPDX-License-Identifier: BSL-1.0
#include "kit/native_right.hpp"

#include "kit/probe.hpp"
#include "kit/redis_server.hpp"

namespace redlock::test {

std::string const& native_right()
{
    static std::string const right = [] {
        redis_server const any;
        for (std::string const name : {"delex", "delifeq"})
            if (probe(any.port()).command({"COMMAND", "INFO", name}).find(name) != std::string::npos)
                return " +" + name;
        return std::string();
    }();
    return right;
}

} // namespace redlock::test
