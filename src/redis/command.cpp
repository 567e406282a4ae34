#include "redis/command.hpp"

#include "redis/scripts.hpp"

#include <array>
#include <cassert>
#include <charconv>

namespace redlock::redis {
namespace {

constexpr std::string_view crlf = "\r\n";

void append_header(std::string& out, char type, std::size_t count)
{
    std::array<char, 20> digits;
    auto const end = std::to_chars(digits.data(), digits.data() + digits.size(), count).ptr;
    out.push_back(type);
    out.append(digits.data(), end);
    out.append(crlf);
}

void append_argument(std::string& out, std::string_view argument)
{
    append_header(out, '$', argument.size());
    out.append(argument).append(crlf);
}

// A script call up to its key. `arguments` counts what follows the key.
std::string script_head(script const& called, script_form form, std::size_t arguments)
{
    std::string head;
    append_header(head, '*', 4 + arguments);
    append_argument(head, form == script_form::hash ? "EVALSHA" : "EVAL");
    append_argument(head, form == script_form::hash ? called.sha1 : called.text);
    append_argument(head, "1");
    return head;
}

struct script_heads {
    std::string hash;
    std::string text;

    script_heads(script const& called, std::size_t arguments)
        : hash{script_head(called, script_form::hash, arguments)},
          text{script_head(called, script_form::text, arguments)}
    {}

    std::string const& operator[](script_form form) const noexcept
    {
        return form == script_form::hash ? hash : text;
    }
};

} // namespace

void append_command(std::string& out, std::span<std::string_view const> args)
{
    append_header(out, '*', args.size());
    for (auto const argument : args)
        append_argument(out, argument);
}

void append_command(std::string& out, std::initializer_list<std::string_view> args)
{
    append_command(out, std::span{args.begin(), args.size()});
}

lock_commands::lock_commands(std::string_view key, std::chrono::milliseconds key_ttl)
{
    assert(key_ttl.count() > 0);
    append_argument(key_, key);
    append_header(key_, '$', nonce_length);
    append_argument(ttl_, std::to_string(key_ttl.count()));
}

void lock_commands::append_vote(std::string& out, std::string_view nonce) const
{
    assert(nonce.size() == nonce_length);
    constexpr std::string_view head = "*6\r\n$3\r\nSET\r\n";
    constexpr std::string_view options = "\r\n$2\r\nNX\r\n$2\r\nPX\r\n";
    out.append(head).append(key_).append(nonce).append(options).append(ttl_);
}

void lock_commands::append_release(std::string& out, std::string_view nonce, script_form form) const
{
    assert(nonce.size() == nonce_length);
    static script_heads const heads{scripts::release, 1};
    out.append(heads[form]).append(key_).append(nonce).append(crlf);
}

void lock_commands::append_extend(std::string& out, std::string_view nonce, script_form form) const
{
    assert(nonce.size() == nonce_length);
    static script_heads const heads{scripts::extend, 2};
    out.append(heads[form]).append(key_).append(nonce).append(crlf).append(ttl_);
}

} // namespace redlock::redis
