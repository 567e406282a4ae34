// SPDX-License-Identifier: BSL-1.0
#include "redis/error_class.hpp"

#include <algorithm>
#include <array>

namespace redlock {

std::string_view to_string(server_error error) noexcept
{
    switch (error) {
    case server_error::none: return "no error";
    case server_error::noscript: return "NOSCRIPT";
    case server_error::readonly: return "READONLY";
    case server_error::masterdown: return "MASTERDOWN";
    case server_error::loading: return "LOADING";
    case server_error::busy: return "BUSY";
    case server_error::misconf: return "MISCONF";
    case server_error::noreplicas: return "NOREPLICAS";
    case server_error::oom: return "OOM";
    case server_error::clusterdown: return "CLUSTERDOWN";
    case server_error::tryagain: return "TRYAGAIN";
    case server_error::moved: return "MOVED";
    case server_error::ask: return "ASK";
    case server_error::noauth: return "NOAUTH";
    case server_error::wrongpass: return "WRONGPASS";
    case server_error::noperm: return "NOPERM";
    case server_error::noproto: return "NOPROTO";
    case server_error::wrongtype: return "WRONGTYPE";
    case server_error::no_database: return "no such database";
    case server_error::max_clients: return "too many clients";
    case server_error::denied: return "DENIED";
    case server_error::unknown_command: return "unknown command";
    case server_error::syntax: return "syntax error";
    case server_error::other: return "error";
    }
    return "error";
}

namespace redis {
namespace {

struct rule {
    std::string_view start;
    server_error error;
};

constexpr std::array known_words{
    rule{"NOSCRIPT", server_error::noscript},
    rule{"READONLY", server_error::readonly},
    rule{"MASTERDOWN", server_error::masterdown},
    rule{"LOADING", server_error::loading},
    rule{"BUSY", server_error::busy},
    rule{"MISCONF", server_error::misconf},
    rule{"NOREPLICAS", server_error::noreplicas},
    rule{"OOM", server_error::oom},
    rule{"CLUSTERDOWN", server_error::clusterdown},
    rule{"TRYAGAIN", server_error::tryagain},
    rule{"MOVED", server_error::moved},
    rule{"ASK", server_error::ask},
    rule{"NOAUTH", server_error::noauth},
    rule{"WRONGPASS", server_error::wrongpass},
    rule{"NOPERM", server_error::noperm},
    rule{"NOPROTO", server_error::noproto},
    rule{"WRONGTYPE", server_error::wrongtype},
    rule{"DENIED", server_error::denied},
};

// Texts after "ERR ", in lower case. Redis before 6 and several managed services have no error codes for these.
constexpr std::array sentences{
    rule{"unknown command", server_error::unknown_command},
    rule{"unknown subcommand", server_error::unknown_command},
    rule{"unknown redis command", server_error::unknown_command},
    rule{"this redis command is not allowed from script", server_error::unknown_command},
    rule{"syntax error", server_error::syntax},
    rule{"wrong number of arguments", server_error::syntax},
    rule{"db index is out of range", server_error::no_database},
    rule{"invalid db index", server_error::no_database},
    rule{"select is not allowed in cluster mode", server_error::no_database},
    rule{"max number of clients", server_error::max_clients},
    rule{"key should be of string type", server_error::wrongtype}, // DELEX
    rule{"the user executing the script", server_error::noperm},
    rule{"acl failure in script", server_error::noperm},
    rule{"invalid password", server_error::wrongpass},
    rule{"auth <password> called without any password", server_error::wrongpass},
    rule{"client sent auth, but no password is set", server_error::wrongpass},
    rule{"operation not permitted", server_error::noauth},
    rule{"unsupported protocol version", server_error::noproto},
};

constexpr char lower_letter(char c) noexcept
{
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool starts_with_lower(std::string_view text, std::string_view start) noexcept
{
    return text.size() >= start.size() && std::equal(start.begin(), start.end(), text.begin(),
                                                     [](char a, char b) { return a == lower_letter(b); });
}

// Redis before 7 wraps an error inside a script: "Error running script (call to f_<sha>): @user_script:1: WRONGTYPE …".
// The position is given once or twice, and the error with or without its dash.
std::string_view error_inside_script(std::string_view text) noexcept
{
    constexpr std::string_view place = "@user_script:";
    auto const found = text.rfind(place);
    if (found == std::string_view::npos)
        return {};
    text.remove_prefix(found + place.size());
    auto const end = text.find(": ");
    if (end == std::string_view::npos)
        return {};
    text.remove_prefix(end + 2);
    if (text.starts_with('-'))
        text.remove_prefix(1);
    return text;
}

server_error classify_sentence(std::string_view text) noexcept
{
    for (auto const& candidate : sentences)
        if (starts_with_lower(text, candidate.start))
            return candidate.error;
    return server_error::other;
}

server_error classify_word(std::string_view text) noexcept
{
    auto const word = text.substr(0, text.find(' '));
    for (auto const& candidate : known_words)
        if (word == candidate.start)
            return candidate.error;
    return server_error::other;
}

} // namespace

// rule A4
server_error classify(std::string_view error_text) noexcept
{
    constexpr std::string_view generic = "ERR ";
    if (!error_text.starts_with(generic))
        return classify_word(error_text);
    error_text.remove_prefix(generic.size());
    if (starts_with_lower(error_text, "error running script")) {
        auto const inner = error_inside_script(error_text);
        auto const word = classify_word(inner);
        return word != server_error::other ? word : classify_sentence(inner);
    }
    return classify_sentence(error_text);
}

/// "... has no permissions to access one of the keys used as arguments", and since 7.2 "No permissions to access a key".
bool is_about_keys(std::string_view error_text) noexcept
{
    auto const object = error_text.find(" to access ");
    return classify(error_text) == server_error::noperm && object != std::string_view::npos &&
           error_text.find(" key", object) != std::string_view::npos;
}

// rule A8
bool permanent(server_error error) noexcept
{
    switch (error) {
    // Credentials, rights and the server's abilities do not change by themselves.
    case server_error::noauth:
    case server_error::wrongpass:
    case server_error::noperm:
    case server_error::noproto:
    case server_error::denied:
    case server_error::unknown_command:
    case server_error::syntax:
    case server_error::no_database:
    // Other data under our key: waiting for it to go away would hide that two programs share a name.
    case server_error::wrongtype:
    // The slot belongs to another node permanently, and a vote must stay on the node it was configured for.
    case server_error::moved: return true;

    // A failover or an operator's REPLICAOF makes a replica a master without any change here.
    case server_error::readonly:
    case server_error::masterdown:
    case server_error::noreplicas:
    // These end when the server has finished something: loading, a script, a slot migration, an election.
    case server_error::loading:
    case server_error::busy:
    case server_error::tryagain:
    case server_error::ask:
    case server_error::clusterdown:
    // The server tries to save again by itself; keys expire; clients leave.
    case server_error::misconf:
    case server_error::oom:
    case server_error::max_clients:
    // Sending the script text resolves it.
    case server_error::noscript:
    // An unknown error may be temporary; giving a node up permanently needs a known reason.
    case server_error::other:
    case server_error::none: return false;
    }
    return false;
}

} // namespace redis
} // namespace redlock
