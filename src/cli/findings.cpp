// SPDX-License-Identifier: BSL-1.0
#include "cli/findings.hpp"

#include "cli/output.hpp"
#include "cli/trials.hpp"
#include "core/fencing.hpp"
#include "core/tally.hpp"
#include "engine/warnings.hpp"
#include "kind/fenced.hpp"
#include "kind/kind.hpp"
#include "redis/command.hpp"
#include "redis/error_class.hpp"
#include "redis/info.hpp"
#include "redis/server_words.hpp"
#include "redis/text_number.hpp"
#include <redlock/node_outcome.hpp>

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <utility>

namespace redlock::cli {

using namespace std::chrono_literals;

std::string_view to_string(severity grade) noexcept
{
    return grade == severity::error ? "error" : grade == severity::warning ? "warning" : "info";
}

namespace {

/// The longest life of the key on which the rights are tried.
constexpr std::chrono::milliseconds probe_ttl = 2s;

/// Can the node vote, apart from its age?
bool is_fit_to_vote(interview const& node, examination const& terms)
{
    if (node.failed || is_strange(node) || node.facts.replica || node.facts.cluster)
        return false;
    if (node.facts.info && (node.facts.info->loading || node.facts.info->may_evict == true))
        return false;
    return !terms.by_key || !said(node, question::vote).refused() || is_untried(node, terms);
}

/// The number of nodes that vote, and the time until they are a majority.
struct outlook {
    std::size_t voting = 0;
    std::optional<std::chrono::nanoseconds> wait{}; ///< nothing: waiting does not help
};

outlook look_ahead(std::vector<interview> const& nodes, examination const& terms)
{
    outlook seen;
    std::vector<std::chrono::nanoseconds> quarantines;
    for (interview const& node : nodes) {
        if (!is_fit_to_vote(node, terms))
            continue;
        if (auto const left = youth_left(node, terms); left > 0ns && !terms.client.admission.assume_fresh)
            quarantines.push_back(left);
        else
            ++seen.voting;
    }
    std::size_t const majority = core::majority(static_cast<unsigned>(nodes.size()));
    std::ranges::sort(quarantines);
    if (seen.voting >= majority)
        seen.wait = 0ns;
    else if (seen.voting + quarantines.size() >= majority)
        seen.wait = quarantines[majority - seen.voting - 1];
    return seen;
}

/// The longest time that a node keeps the lock's key, which was set for at least as long. Empty if no node has the key.
std::optional<std::chrono::milliseconds> seen_of_key(std::vector<interview> const& nodes,
                                                     examination const& terms)
{
    std::optional<std::chrono::milliseconds> longest;
    for (interview const& node : nodes)
        if (!node.failed && !is_strange(node) && !terms.lock.empty())
            if (answer const& left = said(node, question::lock_left);
                left.is(answer::kind::number) && left.number > 0)
                longest = std::max(longest.value_or(0ms), std::chrono::milliseconds{left.number});
    return longest;
}

/// A client judges by the ttl of its own lock; the key on a node only hints at that ttl.
/// \param own the terms that follow from the key
std::string words_of_own(examination const& own, outlook const& ahead)
{
    return "'" + redis::printable(own.lock) + "', whose key has " + seconds(own.key_ttl) + " left, " +
           (*ahead.wait == 0ns ? "perhaps at once" : "in at least " + seconds(*ahead.wait));
}

/// Reports too few voting nodes: a quarantine ends by itself, other reasons do not.
void quorum(std::vector<interview> const& nodes, examination const& terms, std::vector<finding>& found)
{
    auto const add = [&](outlook const& seen, std::string const& what, std::string advice) {
        found.push_back(
            {"no-quorum", severity::error, "",
             std::to_string(seen.voting) + " of " + std::to_string(nodes.size()) + " nodes can vote" + what,
             std::move(advice)});
    };
    outlook const ahead = look_ahead(nodes, terms);
    if (!ahead.wait)
        return add(ahead, ": no lock can be acquired", "see the nodes");
    std::string const advice = "wait; -t sets the ttl of the locks; if the servers are certainly new: "
                               "REDLOCK_ASSUME_FRESH=1";
    examination own = terms;
    auto const key = terms.client.admission.longest_ttl > 0ns ? std::nullopt : seen_of_key(nodes, terms);
    own.key_ttl = key.value_or(terms.key_ttl);
    outlook const own_ahead = look_ahead(nodes, own);
    if (*ahead.wait > 0ns)
        return add(ahead,
                   "; a majority again in " + seconds(*ahead.wait) + for_which_locks(terms) +
                       (key ? ", for " + words_of_own(own, own_ahead) : ""),
                   advice);
    if (*own_ahead.wait > 0ns)
        add(own_ahead, " for " + words_of_own(own, own_ahead), advice);
}

void count(std::vector<interview> const& nodes, std::vector<finding>& found)
{
    std::size_t const all = nodes.size();
    if (all == 1)
        found.push_back({"one-node", severity::warning, "",
                         "there is one node: without it there are no locks",
                         "three or five independent servers"});
    else if (all % 2 == 0)
        found.push_back({"even", severity::warning, "",
                         detail::describe_even_nodes(static_cast<unsigned>(all)), "an odd number of nodes"});
}

/// One server under two addresses has two votes of a majority.
void same_servers(std::vector<interview> const& nodes, std::vector<finding>& found)
{
    std::map<std::string, std::string> known;
    for (interview const& node : nodes) {
        if (node.failed || !node.facts.info || node.facts.info->run_id.empty())
            continue;
        auto const [first, fresh] = known.emplace(node.facts.info->run_id, node.node);
        if (!fresh)
            found.push_back({"same-server", severity::error, node.node,
                             "is the same server as " + first->second + " (equal run_id)",
                             "name each server once"});
    }
}

/// Tokens follow the date (rule F1): a fence far ahead of it was not counted by a client.
void fence(interview const& node, examination const& terms, std::vector<finding>& found)
{
    constexpr auto far = std::chrono::hours{24 * 366};
    core::fence value = 0;
    if (node.failed || terms.lock.empty() || is_strange(node))
        return;
    answer const& told = said(node, question::fence);
    if (!told.is(answer::kind::text))
        return;
    bool const readable = redis::read_number(told.text, value) && value < kind::fence_end;
    auto const today = std::chrono::system_clock::now().time_since_epoch() + node.ahead.value_or(0us);
    if (readable && std::chrono::milliseconds{value} < today + far)
        return;
    found.push_back(
        {"fence", readable ? severity::warning : severity::error, node.node,
         readable ? "the last fencing token is far ahead of the date: was it written by hand?"
                  : "the last fencing token is none that a lock can count on from, and fenced votes fail",
         "delete the key '" + redis::joined_name(terms.client.key_prefix + terms.lock, kind::fence_suffix) +
             "' on all nodes while nobody has the lock, and what the resource remembers with it"});
}

/// A vote takes every key of the lock's name for a lock, also a key that nobody will release.
void foreign_key(interview const& node, examination const& terms, std::vector<finding>& found)
{
    if (node.failed || terms.lock.empty() || is_strange(node))
        return;
    answer const& value = said(node, question::holder);
    answer const& left = said(node, question::lock_left);
    std::string const key = "has a key '" + redis::printable(terms.client.key_prefix + terms.lock) + '\'';
    switch (holder_of(value, left, said(node, question::whose))) {
    case holder_kind::maybe_readers:
        return found.push_back({"foreign-key", severity::warning, node.node,
                                key + " that is no string: readers or holders of permits have the lock, or "
                                      "it is no lock. The rights do not suffice to tell which",
                                "permit +eval, +mget, +pttl, +type, +zrange, +hget and +time; do not delete "
                                "the key unless you know that nobody has the lock as reader or holder of "
                                "permits"});
    case holder_kind::no_lock:
        return found.push_back({"foreign-key", severity::error, node.node,
                                key + " that is no lock: " + std::string(why_no_lock(value, left)) +
                                    ", and nobody gets this node's vote",
                                "ask who uses that key: take another name for the lock, or delete the key"});
    default: return;
    }
}

} // namespace

/// Computed from the uptime, as the library judges a server that it meets for the first time (rule N4).
std::chrono::nanoseconds youth_left(interview const& node, examination const& terms)
{
    auto const info = node.facts.info.value_or(redis::server_info{});
    if (node.called_durable && node.facts.forgetful.empty() && !info.promoted)
        return 0ns;
    std::chrono::nanoseconds const age =
        info.promoted ? waited_out(node, terms) : info.uptime.value_or(0s) - 1s;
    return std::max<std::chrono::nanoseconds>(
        quarantine_of(terms) - std::max<std::chrono::nanoseconds>(age, 0ns), 0ns);
}

bool is_about_keys(answer const& refusal)
{
    return refusal.refused() && redis::is_about_keys(refusal.text);
}

bool is_shut_out(interview const& node, examination const& terms)
{
    return is_about_keys(said(node, terms.by_key ? question::vote : question::pttl));
}

bool is_untried(interview const& node, examination const& terms)
{
    answer const& own = said(node, terms.by_key ? question::holder : question::lock_left);
    return is_shut_out(node, terms) && (terms.lock.empty() || !is_about_keys(own));
}

/// Is there an answer of a kind that no server gives to these commands?
bool is_strange(interview const& node)
{
    using kind = answer::kind;
    auto const is_one_of = [&](question q, std::initializer_list<kind> good) {
        return said(node, q).refused() || std::ranges::find(good, said(node, q).type) != good.end();
    };
    bool const voted = said(node, question::vote).is(kind::text);
    return !is_one_of(question::info, {kind::text}) || !is_one_of(question::vote, {kind::text, kind::null}) ||
           (voted && said(node, question::vote).text != "OK") || !is_one_of(question::pttl, {kind::number}) ||
           !is_one_of(question::get, {kind::text, kind::null}) ||
           !is_one_of(question::extend, {kind::number}) || !is_one_of(question::release, {kind::number}) ||
           !is_one_of(question::native_extend, {kind::number, kind::text, kind::null}) ||
           !is_one_of(question::native_release, {kind::number}) || !is_one_of(question::mget, {kind::list});
}

std::optional<redis::script_form> native_form(interview const& node)
{
    return node.facts.info ? node.facts.info->native : std::nullopt;
}

questions doctor_questions(std::string const& key_prefix, std::string const& lock, interview const& node,
                           std::string_view nonce)
{
    std::string const probe = probe_of(lock);
    auto const commands = kind::plain.make_commands(key_prefix, {probe_ttl, {}});
    kind::command_arguments const key{{key_prefix, probe}, nonce};
    std::string const marker = redis::joined_name(key_prefix, redis::marker_name);
    std::string const fence = redis::joined_name(key_prefix + probe, kind::fence_suffix);
    questions all;
    all.ask({"INFO"});
    all.ask({"CONFIG", "GET", "save"});
    all.ask({"CONFIG", "GET", "stop-writes-on-bgsave-error"});
    all.ask({"CONFIG", "GET", "min-replicas-to-write"});
    all.ask({"CLIENT", "TRACKING", "ON", "NOLOOP"});
    for (auto const what : {kind::request::vote, kind::request::time_left, kind::request::owner,
                            kind::request::extend, kind::request::release})
        commands->append(all.bytes, what, key, redis::script_form::text);
    commands->append(all.bytes, kind::request::release, key, redis::script_form::hash);
    for (auto const what : {kind::request::extend, kind::request::release})
        commands->append(all.bytes, what, key, native_form(node).value_or(redis::script_form::text));
    all.count += 8;
    all.ask({"MGET", key_prefix + probe, fence, marker});
    all.ask({"GET", redis::joined_name(key_prefix + lock, kind::fence_suffix)});
    for (auto const what : {kind::request::owner, kind::request::time_left, kind::request::whose})
        commands->append(all.bytes, what, {{key_prefix, lock}, nonce}, redis::script_form::text);
    all.count += 3;
    return all;
}

std::vector<finding> examine(std::vector<interview> const& nodes, examination const& terms)
{
    std::vector<finding> found;
    quorum(nodes, terms, found);
    count(nodes, found);
    same_servers(nodes, found);
    for (interview const& node : nodes) {
        examine_node(node, terms, found);
        fence(node, terms, found);
        foreign_key(node, terms, found);
        examine_marker(node, terms, found);
    }
    std::ranges::stable_sort(found, std::greater<>(),
                             &finding::grade); // the gravest first, in the order found
    return found;
}

} // namespace redlock::cli
