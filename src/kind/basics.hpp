// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "kind/kind.hpp"
#include "redis/command.hpp"
#include "redis/resp.hpp"
#include "redis/script.hpp"
#include "redis/writer.hpp"

#include <array>
#include <cassert>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

// The common parts of the kinds.
namespace redlock::kind {

struct named_script {
    request what;
    redis::script const* is; ///< null: the request is a command
};

/// The scripts of a kind.
constexpr std::array<redis::script const*, request_count>
scripts_of(std::initializer_list<named_script> named)
{
    std::array<redis::script const*, request_count> found{};
    for (named_script const& one : named)
        found[static_cast<std::size_t>(one.what)] = one.is;
    return found;
}

constexpr std::string_view nonce_header = "$32\r\n";
static_assert(redis::nonce_length == 32);

/// The fixed length makes copying cheap.
inline std::string_view checked(std::string_view nonce)
{
    assert(nonce.size() == redis::nonce_length);
    return {nonce.data(), redis::nonce_length};
}

/// Appends the text before the key, the key, the nonce, and the rest.
void append_keyed(std::string& out, std::string_view head, command_arguments const&, std::string_view rest);
void append_keyed(std::string& out, redis::script_call const&, redis::script_form, command_arguments const&,
                  std::string_view rest);

/// Appends the call, the lock's key, the second key with the suffix, and the rest.
template <class... Rest>
void append_with_second_key(std::string& out, redis::script_call const& call, redis::script_form form,
                            redis::lock_key const& key, std::string_view suffix, Rest const&... rest)
{
    constexpr std::string_view dollar = "$";
    auto const& [prefix, name, several] = key;
    std::size_t const length = prefix.size() + name.size();
    if (form == redis::script_form::text)
        call.append_text(out);
    redis::append_all(out, form == redis::script_form::hash ? call.by_hash() : std::string_view(), dollar,
                      redis::digits(length), redis::crlf, prefix, name, redis::crlf, dollar,
                      redis::digits(length + suffix.size()), redis::crlf, prefix, name, suffix, redis::crlf,
                      rest...);
}

/// Appends a call of any script, up to its first key.
void append_call_head(std::string& out, redis::script const&, redis::script_form, std::size_t keys,
                      std::size_t arguments);
/// Appends a lock's key with a suffix.
void append_key(std::string& out, redis::lock_key const&, std::string_view suffix);

/// Appends an argument.
inline void append_number(std::string& out, std::uint64_t number)
{
    redis::append_argument(out, std::string_view(redis::digits(number)));
}
[[nodiscard]] std::string milliseconds(std::chrono::milliseconds);

/// Appends a release that compares the nonce, a request of the queue, or GET and PTTL of the key. With client tracking,
/// every command that reads the key makes the server report its next change.
void append_common(std::string& out, request, command_arguments const&, redis::script_form);

/// Appends the script `give_back` for this request: a release serves the queue, but names no previous owner.
void append_give_back(std::string& out, redis::script_form, command_arguments const&, request, waiter_kind);
/// Appends its arguments.
void append_release_arguments(std::string& out, command_arguments const&, request, waiter_kind);

/// True if the key holds another type: then it is not ours.
[[nodiscard]] bool is_of_other_type(redis::resp_node const&);
/// Reads the answer of a script that returns 1, 2 or something else.
[[nodiscard]] answer read_script(redis::resp_node const&);
/// Reads the answer to the common requests.
[[nodiscard]] answer read_common(request, redis::resp_node const&);

/// Reads the key observation from a refusal, an entry in the queue, or a question. Empty: the reply tells nothing.
[[nodiscard]] key_observation read_common_observation(request, redis::resp_node const&);

/// "<word> <milliseconds left> <number> <start of the owner's nonce>": another client has the lock.
struct refusal {
    std::uint64_t number = 0;
    key_observation seen{};
};
[[nodiscard]] std::optional<refusal> read_refusal(std::string_view word, redis::resp_node const&);
/// "QUEUED": positions in the queue come first.
[[nodiscard]] bool is_queued(redis::resp_node const&);

/// Returns enough of the nonce to tell owners apart, and too little to act in their name.
[[nodiscard]] std::uint64_t owner_id(std::string_view nonce);

} // namespace redlock::kind
