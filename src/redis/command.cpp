// SPDX-License-Identifier: BSL-1.0
#include "redis/command.hpp"

#include "redis/writer.hpp"

namespace redlock::redis {

void append_command(std::string& out, std::span<std::string_view const> args)
{
    append_all(out, "*", digits(args.size()), crlf);
    for (auto const argument : args)
        append_argument(out, argument);
}

void append_command(std::string& out, std::initializer_list<std::string_view> args)
{
    append_command(out, std::span{args.begin(), args.size()});
}

std::string joined_name(std::string_view before, std::string_view what)
{
    std::string name;
    name.reserve(before.size() + what.size());
    return name.append(before).append(what);
}

} // namespace redlock::redis
