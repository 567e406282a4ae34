// SPDX-License-Identifier: BSL-1.0
#include "engine/configuration.hpp"

#include "core/tally.hpp"
#include "core/validity.hpp"
#include "engine/words.hpp"
#include "kind/multi.hpp"
#include "kind/semaphore.hpp"
#include "redis/command.hpp"
#include "redis/server_words.hpp"
#include "redis/url.hpp"
#include <redlock/detail/error_access.hpp>
#include <redlock/error.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

namespace redlock::detail {

using std::chrono::milliseconds;

namespace {

constexpr std::size_t max_name = 512;
constexpr std::size_t longest_word = 512;
/// Beyond this a key is a leak, and times lose their meaning.
constexpr milliseconds longest_time{std::chrono::hours{24}};

std::string text(milliseconds time)
{
    return std::to_string(time.count()) + " ms";
}

void require(bool condition, std::string message)
{
    if (!condition)
        misconfigured(std::move(message));
}

void require_positive(milliseconds time, std::string const& what)
{
    require(time > milliseconds::zero() && time <= longest_time,
            what + " must be more than zero and at most 24 hours, not " + text(time) +
                (time == milliseconds::zero() ? " (a time below 1 ms becomes 0)" : ""));
}

/// \param which names the URL in messages, because the URL itself may contain a password
redis::endpoint parse(std::string const& url, std::string const& which)
{
    auto parsed = redis::parse_url(url);
    if (auto const* const error = std::get_if<redis::url_error>(&parsed))
        misconfigured(which + ": " + error->message);
    return std::get<redis::endpoint>(std::move(parsed));
}

tls_settings merged(tls_settings common, redis::endpoint const& where)
{
    if (where.tls_ca || where.tls_ca_dir) {
        common.ca_file = where.tls_ca.value_or("");
        common.ca_dir = where.tls_ca_dir.value_or("");
    }
    if (where.tls_cert || where.tls_key) {
        common.cert_file = where.tls_cert.value_or("");
        common.key_file = where.tls_key.value_or("");
    }
    if (where.tls_sni)
        common.server_name = *where.tls_sni;
    if (where.tls_verify)
        common.insecure = !*where.tls_verify;
    return common;
}

void secure(net::peer& peer, tls_settings const& common, net::machine& on)
{
    tls_settings const settings = merged(common, peer.where);
    require(settings.cert_file.empty() == settings.key_file.empty(),
            peer.name + ": a client certificate and its key go together; only one is given");
    try {
        peer.tls = on.make_tls_context(settings);
    } catch (net::tls_error const& e) {
        misconfigured(peer.name + ": " + e.what());
    }
    // For a group it is the host of the server that is connected to.
    std::string const host = peer.where.group.empty() ? peer.where.host : std::string();
    peer.server_name = settings.server_name.empty() ? host : settings.server_name;
    peer.verify = !settings.insecure;
}

std::shared_ptr<net::peer const> make_peer(redis::endpoint where, config const& settings, net::machine& on)
{
    auto peer = std::make_shared<net::peer>();
    peer->name = redis::display(where);
    peer->handshake = {.username = where.username.empty() ? settings.username : where.username,
                       .password = where.password.empty() ? settings.password : where.password,
                       .client_name = where.client_name.value_or(settings.client_name),
                       .database = where.database,
                       .protocol = where.protocol.value_or(3),
                       .group = !where.group.empty()};
    require(peer->handshake.username.empty() || !peer->handshake.password.empty(),
            peer->name + (where.username.empty() ? ": config::username is given without config::password"
                                                 : ": a user name without a password"));
    if (where.username.empty() && where.password.empty())
        peer->credentials_provider = settings.credentials_provider;
    require(!where.sentinel_username || where.sentinel_password,
            peer->name + ": sentinel_username is given without sentinel_password");
    require(where.group.empty() || !where.durable.value_or(false),
            peer->name +
                ": durable=true cannot be true of a group, which may forget votes when its master changes");
    peer->keep_alive = where.keepalive.value_or(true);
    peer->connect_timeout = where.connect_timeout.value_or(settings.reconnect.connect_timeout);
    require_positive(peer->connect_timeout, peer->name + ": connect_timeout");
    peer->where = std::move(where);
    if (peer->where.transport == redis::endpoint::kind::tls)
        secure(*peer, settings.tls, on);
    return peer;
}

/// The longer a group's master may be silent, the longer its successor is waited for.
constexpr milliseconds longest_rest{10'000};

net::node_terms make_terms(redis::endpoint const& where, config const& settings)
{
    auto const response = where.command_timeout.value_or(settings.health.response_timeout);
    auto const common = settings.health.check_interval;
    auto const check_interval = where.health_check_interval.value_or(common.value_or(milliseconds::zero()));
    require_positive(response, where.command_timeout ? redis::display(where) + ": command_timeout"
                                                     : "health.response_timeout");
    if (common)
        require(*common > milliseconds::zero(), "health.check_interval must be more than zero, not " +
                                                    text(*common) + "; std::nullopt disables the check");
    net::node_terms terms{
        settings.reconnect.min_delay, settings.reconnect.max_delay, response,
        std::min<milliseconds>(check_interval, std::chrono::years{100})}; // more could not be reckoned with
    if (where.group.empty())
        return terms;
    require(check_interval > milliseconds::zero() && check_interval <= longest_rest,
            redis::display(where) +
                ": health.check_interval must be more than zero and at most 10 s for a group, not " +
                text(check_interval));
    terms.longest_silence = response + check_interval;
    return terms;
}

/// An answer, and the last one before it, may each have been on their way for as long as one may be waited for.
core::admission_terms make_admission_terms(redis::endpoint const& where, config const& settings,
                                           net::node_terms const& terms)
{
    return {.assume_fresh = settings.admission.assume_fresh,
            .durable = where.durable.value_or(settings.admission.durable_nodes),
            .trust_restarted_nodes = settings.admission.trust_restarted_nodes,
            .trust_promoted = settings.admission.trust_promoted,
            .allow_cluster_node = settings.admission.allow_cluster_node,
            .allow_eviction = settings.admission.allow_eviction,
            .trust_server_clocks = settings.admission.trust_server_clocks,
            .trust_replication = settings.admission.trust_replication,
            .longest_unheard = terms.longest_silence + 2 * terms.response_timeout};
}

void check_times(config const& settings)
{
    require_positive(settings.reconnect.min_delay, "reconnect.min_delay");
    require_positive(settings.reconnect.max_delay, "reconnect.max_delay");
    require(settings.reconnect.min_delay <= settings.reconnect.max_delay,
            "reconnect.min_delay (" + text(settings.reconnect.min_delay) +
                ") is above reconnect.max_delay (" + text(settings.reconnect.max_delay) + ")");
    if (settings.node_timeout)
        require_positive(*settings.node_timeout, "node_timeout");
    if (auto const longest_ttl = settings.admission.longest_ttl)
        require(*longest_ttl > milliseconds::zero() && *longest_ttl <= 2 * longest_time,
                "admission.longest_ttl must be more than zero and at most 48 hours, not " +
                    text(*longest_ttl));
    for (auto const& [what, size] : {std::pair{"key_prefix", settings.key_prefix.size()},
                                     std::pair{"client_name", settings.client_name.size()}})
        require(size <= longest_word, std::string(what) + " has " + std::to_string(size) +
                                          " bytes, more than " + std::to_string(longest_word));
    // The server would refuse HELLO for it, and with it the protocol.
    require(std::ranges::all_of(settings.client_name, [](char c) { return c > ' ' && c < '\x7f'; }),
            "client_name must be visible ASCII without spaces, not \"" + redis::quote(settings.client_name) +
                '"');
}

} // namespace

void misconfigured(std::string message, std::string_view lock)
{
    std::string const whose = lock.empty() ? "" : title(lock) + ": ";
    throw error_access::make(errc::misconfigured, whose + "misconfigured: " + std::move(message), {}, {},
                             std::string(lock.substr(0, max_name)));
}

namespace {

/// Named authorities or a key suggest encryption, which only the URL's scheme enables.
void check_tls_is_used(config const& settings, std::vector<std::shared_ptr<net::peer const>> const& peers)
{
    tls_settings const& tls = settings.tls;
    bool const given = tls.insecure || !tls.ca_file.empty() || !tls.ca_dir.empty() ||
                       !tls.cert_file.empty() || !tls.key_file.empty() || !tls.server_name.empty();
    bool const used = std::ranges::any_of(peers, [](auto const& peer) { return peer->tls != nullptr; });
    require(!given || used, "tls settings are given, but no node's URL begins with rediss:// or valkeys://");
}

} // namespace

// rule N1
client_settings check(config const& settings, net::machine& on)
{
    require(!settings.nodes.empty(), "no nodes: at least one URL is needed");
    require(settings.nodes.size() <= core::max_nodes, std::to_string(settings.nodes.size()) +
                                                          " nodes are more than " +
                                                          std::to_string(core::max_nodes));
    require(!settings.credentials_provider || (settings.username.empty() && settings.password.empty()),
            "config::credentials_provider is given together with config::username or config::password");
    check_times(settings);

    client_settings checked;
    for (std::string const& url : settings.nodes) {
        redis::endpoint where = parse(url, "node URL " + std::to_string(checked.peers.size() + 1) + " of " +
                                               std::to_string(settings.nodes.size()));
        for (auto const& earlier : checked.peers)
            require(!redis::same_server(earlier->where, where),
                    earlier->name + " and " + redis::display(where) + " are one server, which has one vote");
        checked.terms.push_back(make_terms(where, settings));
        checked.admission.push_back(make_admission_terms(where, settings, checked.terms.back()));
        checked.peers.push_back(make_peer(std::move(where), settings, on));
        checked.names.push_back(checked.peers.back()->name);
    }
    check_tls_is_used(settings, checked.peers);
    checked.node_timeout = settings.node_timeout.value_or(milliseconds::zero());
    checked.connect_timeout =
        std::ranges::max(checked.peers, {}, &net::peer::connect_timeout)->connect_timeout;
    checked.longest_ttl = settings.admission.longest_ttl.value_or(milliseconds::zero());
    checked.key_prefix = settings.key_prefix;
    checked.watcher = settings.observer;
    return checked;
}

namespace {

void check_retry(retry_policy const& retry)
{
    require_positive(retry.min_delay, "retry.min_delay");
    require_positive(retry.max_delay, "retry.max_delay");
    require(retry.min_delay <= retry.max_delay, "retry.min_delay (" + text(retry.min_delay) +
                                                    ") is above retry.max_delay (" + text(retry.max_delay) +
                                                    ")");
    require(retry.outage_patience >= milliseconds::zero() && retry.outage_patience <= 365 * longest_time,
            "retry.outage_patience must be zero or up to a year, not " + text(retry.outage_patience));
}

void check_handover(handover_policy const& handover)
{
    require(handover.batch > 0, "handover.batch must be at least 1, not 0");
    require_positive(handover.period, "handover.period");
}

} // namespace

milliseconds slack_of(lock_options const& options)
{
    return options.slack.value_or(core::default_slack(options.ttl));
}

core::duration node_timeout_of(lock_options const& options, client_settings const& client)
{
    if (options.node_timeout)
        return *options.node_timeout;
    if (client.node_timeout > core::duration::zero())
        return client.node_timeout;
    return core::default_node_timeout(options.ttl);
}

namespace {

constexpr milliseconds longest_fence{std::chrono::hours{24 * 366}};

/// A fence must outlive every lease by far, or its node would count anew while others remember.
milliseconds shortest_fence(lock_options const& options)
{
    return 10 * core::key_ttl(options.ttl, slack_of(options));
}

/// Other clients rely on the same value. They would let a restarted node vote while this lock's key is still missing
/// (C6).
void check_promised_length(milliseconds key_ttl, core::duration longest_key_life)
{
    require(longest_key_life == core::duration::zero() || key_ttl <= longest_key_life,
            "ttl and slack are " + text(key_ttl) + " together, above admission.longest_ttl (" +
                text(std::chrono::duration_cast<milliseconds>(longest_key_life)) +
                "), which no lock on these nodes may exceed");
}

} // namespace

milliseconds fence_ttl_of(all_options const& options)
{
    return options.fence.fence_ttl.value_or(
        std::max<milliseconds>(std::chrono::hours{24}, shortest_fence(options)));
}

void check_name(std::string_view name)
{
    for (std::string_view const kept : kind::kept_names())
        require(!name.ends_with(kept),
                "a name that ends in '" + std::string(kept) + "' is reserved for the library's own keys");
    require(!name.empty(), "the lock's name is empty");
    require(name.size() <= max_name, "the lock's name has " + std::to_string(name.size()) +
                                         " bytes, more than " + std::to_string(max_name));
}

namespace {

/// Returns the hash tag, by which a cluster places the key: between the first "{" and the next "}".
std::string_view hash_tag(std::string_view key)
{
    auto const from = key.find('{');
    auto const to = from == key.npos ? key.npos : key.find('}', from + 1);
    return to == key.npos ? std::string_view() : key.substr(from + 1, to - from - 1);
}

bool allows_cluster(client_settings const& client)
{
    return std::ranges::any_of(client.admission, &core::admission_terms::allow_cluster_node);
}

/// A node of a cluster refuses a script whose keys belong to different slots. The marker is one of them.
void check_marker_tag(kind::lock_kind const& type, client_settings const& client)
{
    bool const tagged = !hash_tag(redis::joined_name(client.key_prefix, redis::marker_name)).empty();
    require(
        tagged || !type.marked || !allows_cluster(client),
        "fenced locks and elections on nodes of a cluster (admission.allow_cluster_node) need a hash tag in "
        "key_prefix, as in \"{locks}:\"; one in the name is not enough");
}

void check_lock(std::string_view name, all_options const& options, kind::lock_kind const& type,
                client_settings const& client)
{
    check_name(name);
    check_marker_tag(type, client);
    require_positive(options.ttl, "ttl");
    auto const slack = slack_of(options);
    require(slack >= milliseconds::zero() && slack <= longest_time,
            "slack must not be negative, nor above 24 hours, but is " + text(slack));
    check_promised_length(core::key_ttl(options.ttl, slack), client.longest_ttl);
    if (options.node_timeout)
        require_positive(*options.node_timeout, "node_timeout");
    if (options.progress_within)
        require_positive(*options.progress_within, "progress_within");
    if (options.max_hold)
        require_positive(*options.max_hold, "max_hold");

    core::duration const node_timeout = node_timeout_of(options, client);
    core::duration const left = core::validity(options.ttl);
    require(left > node_timeout,
            "ttl " + text(options.ttl) +
                " is too small: clock drift takes 1 % and 2 ms of it, and a round trip may take " +
                text(std::chrono::ceil<milliseconds>(node_timeout)) + " (node_timeout)");
    if (std::optional<milliseconds> const fence = options.fence.fence_ttl; type.counts() && fence)
        require(*fence >= shortest_fence(options) && *fence <= longest_fence,
                "fence_ttl " + text(*fence) + " is not between ten times ttl and slack (" +
                    text(shortest_fence(options)) + ") and a year");
    check_retry(options.retry);
    check_handover(options.handover);
}

} // namespace

// rule V5
void check(std::string_view name, all_options const& options, kind::lock_kind const& type,
           client_settings const& client)
{
    try {
        check_lock(name, options, type, client);
    } catch (lock_error const& e) {
        if (name.empty())
            throw;
        throw error_access::make(e.code(), title(name) + ": " + e.what(), {}, {},
                                 std::string(name.substr(0, max_name)));
    }
}

// rule P1
kind::lock_terms checked_permits(std::string_view name, unsigned limit, unsigned count)
{
    if (limit == 0 || limit > kind::most_permits)
        misconfigured("a semaphore has 1 to " + std::to_string(kind::most_permits) + " permits, not " +
                          std::to_string(limit),
                      name);
    if (count == 0 || count > limit)
        misconfigured(std::to_string(count) + " permits cannot be had at once of a semaphore that has " +
                          std::to_string(limit),
                      name);
    return kind::terms_of({static_cast<std::uint16_t>(limit), static_cast<std::uint16_t>(count)});
}

namespace {

/// A node of a cluster has all keys of one script, or refuses it.
// rule M1
void check_hash_tags(std::vector<std::string_view> const& names, client_settings const& client)
{
    auto const tag_of = [&](std::string_view name) {
        return std::string(hash_tag(client.key_prefix + std::string(name)));
    };
    std::string const first = tag_of(names.front());
    bool const same =
        std::ranges::all_of(names, [&](std::string_view name) { return tag_of(name) == first; });
    require(same && !first.empty(),
            "several names are locked at once on nodes of a cluster (admission.allow_cluster_node), which "
            "need one hash tag: {tag}a, {tag}b");
}

} // namespace

void check(std::vector<std::string_view> const& names, all_options const& options,
           kind::lock_kind const& type, client_settings const& client)
{
    require(!names.empty(), "a lock of several names has none");
    require(names.size() <= kind::most_names, "a lock of several names has " + std::to_string(names.size()) +
                                                  " of them, more than " + std::to_string(kind::most_names));
    std::size_t together = 0;
    for (std::string_view const name : names) {
        check(name, options, type, client);
        together += client.key_prefix.size() + name.size();
    }
    require(together <= kind::longest_names, "the names of a lock have " + std::to_string(together) +
                                                 " bytes together, each with its key prefix; the most is " +
                                                 std::to_string(kind::longest_names));
    if (allows_cluster(client))
        check_hash_tags(names, client);
}

} // namespace redlock::detail
