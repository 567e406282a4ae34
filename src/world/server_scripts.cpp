// SPDX-License-Identifier: BSL-1.0
// How a server runs scripts.
#include "world/command.hpp"
#include "world/lua.hpp"
#include "world/reply.hpp"
#include "world/server.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <new>

namespace redlock::world {

namespace {

std::string sha1_of(std::string const& text)
{
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    std::size_t size = 0;
    if (EVP_Q_digest(nullptr, "SHA1", nullptr, text.data(), text.size(), digest.data(), &size) != 1)
        throw std::bad_alloc();
    constexpr std::string_view digits = "0123456789abcdef";
    std::string said;
    for (std::size_t i = 0; i != size; ++i)
        said.append({digits[digest[i] >> 4], digits[digest[i] & 15]});
    return said;
}

} // namespace

std::string server::eval(connection& c, words const& command)
{
    std::string const hash = sha1_of(command[1]);
    scripts_.emplace(hash, command[1]);
    return run_script(c, hash, command);
}

std::string server::evalsha(connection& c, words const& command)
{
    std::string const hash = lower(command[1]);
    return scripts_.contains(hash) ? run_script(c, hash, command)
                                   : reply::error("NOSCRIPT No matching script. Please use EVAL.");
}

/// SCRIPT FLUSH and SCRIPT LOAD.
std::string server::script(connection&, words const& command)
{
    std::string const what = lower(command[1]);
    if (what == "flush") {
        flush_scripts();
        return reply::status("OK");
    }
    if (what != "load" || command.size() != 3)
        return reply::error("ERR unknown subcommand or wrong number of arguments for '" + command[1] +
                            "'. Try SCRIPT HELP.");
    std::string const hash = sha1_of(command[2]);
    scripts_.emplace(hash, command[2]);
    return reply::bulk(hash);
}

std::string server::run_script(connection& c, std::string const& hash, words const& command)
{
    auto const keys = whole_number(command[2]);
    if (!keys)
        return reply::error("ERR value is not an integer or out of range");
    if (*keys < 0)
        return reply::error("ERR Number of keys can't be negative");
    std::span const rest = std::span(command).subspan(3);
    auto const count = static_cast<std::size_t>(*keys);
    if (count > rest.size())
        return reply::error("ERR Number of keys can't be greater than number of args");
    declared_ = rest.first(count);
    if (!is.forbidden_key.empty() && std::ranges::find(declared_, is.forbidden_key) != declared_.end())
        return reply::error(
            "NOPERM this user has no permissions to access one of the keys used as arguments");
    if (!lua_)
        lua_ = std::make_unique<lua>();
    connection inner{.in = {}, .out = {}, .authenticated = true};
    bool written = false;
    in_script_ = true;
    std::string said =
        lua_->run({.text = scripts_.at(hash),
                   .sha1 = hash,
                   .keys = declared_,
                   .arguments = rest.subspan(count),
                   .nil = c.resp3 ? "_\r\n" : "$-1\r\n"},
                  [&](words const& inside) { return answer_in_script(inner, inside, written); });
    in_script_ = false;
    return said;
}

/// \param written before: it is not stopped halfway for lack of memory
std::string server::answer_in_script(connection& c, words const& command, bool& written)
{
    auto const* const form = form_of(lower(command[0]));
    if (!form || !knows(*form))
        return reply::error("ERR Unknown Redis command called from script");
    if (command.size() < form->length)
        return reply::error("ERR Wrong number of args calling Redis command from script");
    if ((form->flags & not_in_scripts) != 0)
        return reply::error("ERR This Redis command is not allowed from script");
    if (std::string const no = refusal_in_script(*form, written); !no.empty())
        return reply::error(no);
    written |= (form->flags & writes) != 0;
    return execute(c, *form, command);
}

std::string server::refusal_in_script(command_form const& command, bool written) const
{
    std::string no = written ? "" : write_refusal(command);
    bool const memory_first = is.version == release::valkey_9_1 && no.starts_with("OOM");
    if (is.forbidden.contains(std::string(command.name)) && !memory_first)
        return "ERR The user executing the script can't run this command or subcommand";
    if (command.name == "publish" && is.forbidden_channels)
        return "ERR The user executing the script can't publish to the channel mentioned in the command";
    return no;
}

} // namespace redlock::world
