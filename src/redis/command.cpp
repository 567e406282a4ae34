#include "redis/command.hpp"

#include "redis/scripts.hpp"

#include <array>
#include <cassert>
#include <charconv>

namespace redlock::redis {
namespace {

constexpr std::string_view crlf = "\r\n";

class digits {
public:
    explicit digits(std::uint64_t number)
        : end_(std::to_chars(text_.data(), text_.data() + text_.size(), number).ptr)
    {}
    digits(digits const&) = delete;
    digits& operator=(digits const&) = delete;

    explicit operator std::string_view() const
    {
        return {text_.data(), static_cast<std::size_t>(end_ - text_.data())};
    }

private:
    std::array<char, 20> text_;
    char* end_;
};

/// Grows the text once for all of its parts: a command has a dozen.
template <class... Parts>
void append_all(std::string& out, Parts const&... parts)
{
    std::size_t const before = out.size();
    out.resize(before + (std::string_view(parts).size() + ...));
    char* at = out.data() + before;
    ((at += std::string_view(parts).copy(at, std::string::npos)), ...);
}

void append_header(std::string& out, char type, std::size_t count)
{
    append_all(out, std::string_view(&type, 1), digits(count), crlf);
}

void append_argument(std::string& out, std::string_view argument)
{
    append_all(out, std::string_view("$"), digits(argument.size()), crlf, argument, crlf);
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

std::string argument(std::uint64_t number)
{
    std::string text;
    append_argument(text, std::string_view(digits(number)));
    return text;
}

std::string milliseconds(std::chrono::milliseconds time)
{
    assert(time.count() > 0);
    return argument(static_cast<std::uint64_t>(time.count()));
}

/// Of that length in any case, which makes copying it cheap.
std::string_view checked(std::string_view nonce)
{
    assert(nonce.size() == nonce_length);
    return {nonce.data(), nonce_length};
}

constexpr std::string_view nonce_header = "$32\r\n";
static_assert(nonce_length == 32);

/// What stands before a command's nonce, behind which `rest` follows.
void append_keyed(std::string& out, std::string_view head, lock_key const& key, std::string_view nonce,
                  std::string_view rest)
{
    append_all(out, head, std::string_view("$"), digits(key.prefix.size() + key.name.size()), crlf,
               key.prefix, key.name, crlf, nonce_header, checked(nonce), crlf, rest);
}

void append_question(std::string& out, std::string_view head, lock_key const& key)
{
    append_all(out, head, digits(key.prefix.size() + key.name.size()), crlf, key.prefix, key.name, crlf);
}

// Every fenced script has three keys and five arguments.
constexpr std::size_t fenced_key_count = 3;
constexpr std::size_t fenced_arguments = fenced_key_count + 5;

/// Made when first asked for: `prepare_commands` does.
template <script const& Called, std::size_t Keys = fenced_key_count, std::size_t Arguments = fenced_arguments>
script_heads const& heads()
{
    static script_heads const made{Called, Keys, Arguments};
    return made;
}

constexpr auto& extend_heads = heads<scripts::extend, 1, 3>;
constexpr auto& release_heads = heads<scripts::release, 1, 2>;

} // namespace

void prepare_commands()
{
    for (auto const prepare :
         {extend_heads, release_heads, heads<scripts::fenced_vote>, heads<scripts::fenced_raise>,
          heads<scripts::fenced_extend>, heads<scripts::fenced_adopt>})
        (void)prepare();
}

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

lock_commands::lock_commands(std::chrono::milliseconds key_ttl)
    : vote_options_("$2\r\nNX\r\n$2\r\nPX\r\n" + milliseconds(key_ttl)), ttl_(milliseconds(key_ttl))
{}

void lock_commands::append_vote(std::string& out, lock_key const& key, std::string_view nonce) const
{
    append_keyed(out, "*6\r\n$3\r\nSET\r\n", key, nonce, vote_options_);
}

void lock_commands::append_extend(std::string& out, lock_key const& key, std::string_view nonce,
                                  script_form form) const
{
    append_keyed(out, extend_heads()[form], key, nonce, ttl_);
}

void append_release(std::string& out, lock_key const& key, std::string_view nonce, script_form form)
{
    append_keyed(out, release_heads()[form], key, nonce, {});
}

void append_time_left(std::string& out, lock_key const& key)
{
    append_question(out, "*2\r\n$4\r\nPTTL\r\n$", key);
}

void append_owner(std::string& out, lock_key const& key)
{
    append_question(out, "*2\r\n$3\r\nGET\r\n$", key);
}

void append_fence(std::string& out, lock_key const& key)
{
    append_all(out, std::string_view("*2\r\n$3\r\nGET\r\n$"),
               digits(key.prefix.size() + key.name.size() + fence_suffix.size()), crlf, key.prefix, key.name,
               fence_suffix, crlf);
}

std::string name_beside(std::string_view before, std::string_view what)
{
    std::string name;
    name.reserve(before.size() + what.size());
    return name.append(before).append(what);
}

fenced_commands::fenced_commands(std::string_view key_prefix, std::chrono::milliseconds key_ttl,
                                 std::chrono::milliseconds fence_ttl)
{
    append_argument(constant_, name_beside(key_prefix, marker_name));
    append_all(constant_, milliseconds(key_ttl), milliseconds(fence_ttl), nonce_header);
}

void fenced_commands::append_vote(std::string& out, call const& c) const
{
    append(out, heads<scripts::fenced_vote>()[c.form], c);
}

void fenced_commands::append_raise(std::string& out, call const& c) const
{
    append(out, heads<scripts::fenced_raise>()[c.form], c);
}

void fenced_commands::append_extend(std::string& out, call const& c) const
{
    append(out, heads<scripts::fenced_extend>()[c.form], c);
}

void fenced_commands::append_adopt(std::string& out, call const& c) const
{
    append(out, heads<scripts::fenced_adopt>()[c.form], c);
}

void fenced_commands::append(std::string& out, std::string_view head, call const& c) const
{
    constexpr std::string_view dollar = "$";
    auto const& [prefix, name] = c.key;
    std::size_t const length = prefix.size() + name.size();
    digits const number(c.number);
    std::string_view const shown(number);
    append_all(out, head, dollar, digits(length), crlf, prefix, name, crlf, dollar,
               digits(length + fence_suffix.size()), crlf, prefix, name, fence_suffix, crlf, constant_,
               checked(c.nonce), crlf, dollar, digits(shown.size()), crlf, shown, crlf);
}

void fenced_commands::append_marker(std::string& out, std::string_view marker)
{
    append_argument(out, marker);
}

} // namespace redlock::redis
