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

// A script call up to its keys. `arguments` counts the keys and what follows them.
std::string script_head(script const& called, script_form form, std::size_t keys, std::size_t arguments)
{
    std::string head;
    append_header(head, '*', 3 + arguments);
    append_argument(head, form == script_form::hash ? "EVALSHA" : "EVAL");
    append_argument(head, form == script_form::hash ? called.sha1 : called.text);
    append_argument(head, std::to_string(keys));
    return head;
}

struct script_heads {
    std::string hash;
    std::string text;

    script_heads(script const& called, std::size_t keys, std::size_t arguments)
        : hash{script_head(called, script_form::hash, keys, arguments)},
          text{script_head(called, script_form::text, keys, arguments)}
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
    key_size_ = key_.size();
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
    static script_heads const heads{scripts::release, 1, 2};
    out.append(heads[form]).append(key_).append(nonce).append(crlf);
}

void lock_commands::append_extend(std::string& out, std::string_view nonce, script_form form) const
{
    assert(nonce.size() == nonce_length);
    static script_heads const heads{scripts::extend, 1, 3};
    out.append(heads[form]).append(key_).append(nonce).append(crlf).append(ttl_);
}

void lock_commands::append_time_left(std::string& out) const
{
    out.append("*2\r\n$4\r\nPTTL\r\n").append(key_, 0, key_size_);
}

void lock_commands::append_owner(std::string& out) const
{
    out.append("*2\r\n$3\r\nGET\r\n").append(key_, 0, key_size_);
}

std::string name_beside(std::string_view before, std::string_view what)
{
    std::string name;
    name.reserve(before.size() + what.size());
    return name.append(before).append(what);
}

void append_mark(std::string& out, std::string_view key_prefix, std::string_view incarnation,
                 std::chrono::nanoseconds quarantine, std::string_view trust)
{
    auto const length = std::chrono::ceil<std::chrono::milliseconds>(quarantine);
    append_command(out, {"EVAL", scripts::mark.text, "2", name_beside(key_prefix, marker_name),
                         name_beside(key_prefix, quarantine_name), incarnation,
                         std::to_string(length.count()), trust});
}

// Every fenced script has three keys and five arguments.
namespace {

constexpr std::size_t fenced_key_count = 3;
constexpr std::size_t fenced_arguments = fenced_key_count + 5;

} // namespace

fenced_commands::fenced_commands(fenced_keys const& keys, std::chrono::milliseconds key_ttl,
                                 std::chrono::milliseconds fence_ttl)
{
    assert(key_ttl.count() > 0 && fence_ttl.count() > 0);
    for (std::string_view const key : {keys.lock, keys.fence, keys.marker})
        append_argument(keys_, key);
    append_argument(keys_, std::to_string(key_ttl.count()));
    append_argument(keys_, std::to_string(fence_ttl.count()));
    append_header(keys_, '$', nonce_length);
}

void fenced_commands::append_vote(std::string& out, call const& c) const
{
    static script_heads const heads{scripts::fenced_vote, fenced_key_count, fenced_arguments};
    out.append(heads[c.form]);
    append_rest(out, c);
}

void fenced_commands::append_raise(std::string& out, call const& c) const
{
    static script_heads const heads{scripts::fenced_raise, fenced_key_count, fenced_arguments};
    out.append(heads[c.form]);
    append_rest(out, c);
}

void fenced_commands::append_extend(std::string& out, call const& c) const
{
    static script_heads const heads{scripts::fenced_extend, fenced_key_count, fenced_arguments};
    out.append(heads[c.form]);
    append_rest(out, c);
}

void fenced_commands::append_rest(std::string& out, call const& c) const
{
    assert(c.nonce.size() == nonce_length);
    std::array<char, 20> digits;
    auto const end = std::to_chars(digits.data(), digits.data() + digits.size(), c.number).ptr;
    out.append(keys_).append(c.nonce).append(crlf);
    append_argument(out, {digits.data(), static_cast<std::size_t>(end - digits.data())});
    append_argument(out, c.marker);
}

} // namespace redlock::redis
