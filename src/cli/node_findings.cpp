// SPDX-License-Identifier: BSL-1.0
#include "cli/answer.hpp"
#include "cli/findings.hpp"
#include "cli/lock_use.hpp"
#include "cli/output.hpp"
#include "cli/query.hpp"
#include "cli/trials.hpp"
#include "engine/admissions.hpp"
#include "net/connect.hpp"
#include "redis/command.hpp"
#include "redis/error_class.hpp"
#include "redis/info.hpp"
#include "redis/server_words.hpp"
#include "redis/text_number.hpp"
#include <redlock/node_outcome.hpp>
#include <redlock/server_error.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::cli {

using namespace std::chrono_literals;

namespace {

/// Notes a missing right to the command, or to its object.
/// \param object its pattern; empty: a right to the object is not noted
void note_missing(std::set<std::string>& missing, answer const& said, std::string const& right,
                  std::string const& object)
{
    auto const error = said.refused() ? redis::classify(said.text) : server_error::none;
    if (error != server_error::noperm && error != server_error::unknown_command)
        return;
    bool const of_object = said.text.find(" to access ") != std::string::npos;
    if (!of_object || !object.empty())
        missing.insert(of_object ? object : '+' + right);
}

/// "+zadd, +zcard"
std::string list_of(std::set<std::string> const& some)
{
    std::string words;
    for (std::string const& one : some)
        words.append(words.empty() ? "" : ", ").append(one);
    return words;
}

/// Examines one node and adds its findings.
class node_examination {
public:
    node_examination(interview const& node, examination const& terms, std::vector<finding>& found)
        : node_(node), terms_(terms), found_(found)
    {}

    void all();

private:
    void add(severity grade, std::string id, std::string what, std::string advice)
    {
        found_.push_back({std::move(id), grade, node_.node, std::move(what), std::move(advice)});
    }
    [[nodiscard]] answer const& said(question q) const { return cli::said(node_, q); }
    [[nodiscard]] std::string info(std::string const& name) const
    {
        auto const found = info_.find(name);
        return found == info_.end() ? std::string() : found->second;
    }
    [[nodiscard]] std::uint64_t number(std::string const& name) const
    {
        std::uint64_t value = 0;
        return redis::read_number(info(name), value) ? value : 0;
    }
    [[nodiscard]] std::string setting(question q) const
    {
        return said(q).list.size() == 2 ? said(q).list[1] : std::string();
    }

    void reach();
    void read_info();
    void blind_spots();
    void role();
    void memory();
    void age();
    void persistence();
    void replicas();
    void group();
    void clock();
    void speed();
    void security();
    void rights();
    void votes_for_a_key();
    void scripts();
    void uses();
    std::span<answer const> judge(lock_use, std::span<answer const> told);
    void untried();
    [[nodiscard]] bool is_forbidden(question) const;
    void must_be_allowed(question, std::string const& lost, std::string const& needs);
    void should_be_allowed(question, std::string const& right, std::string const& without);

    interview const& node_;
    examination const& terms_;
    std::vector<finding>& found_;
    std::map<std::string, std::string> info_{};
};

void node_examination::all()
{
    if (node_.failed)
        return reach();
    if (is_strange(node_))
        return add(severity::error, "no-redis", "does not answer as a Redis server does",
                   "correct address or port: is it a proxy, or another service?");
    read_info();
    blind_spots();
    role();
    memory();
    age();
    persistence();
    replicas();
    clock();
    speed();
    security();
    rights();
}

void node_examination::reach()
{
    net::failure const& why = *node_.failed;
    bool const refused = why.result == node_result::refused;
    if (why.detail.find(net::tls_port_question) != std::string::npos)
        return add(severity::error, "tls", "cannot be reached: " + why.detail,
                   "rediss:// where the port speaks TLS, redis:// where it does not; or start the server");
    if (why.detail.find(net::hung_up_question) != std::string::npos)
        return add(severity::error, "hung-up", "cannot be reached: " + why.detail,
                   "rediss:// where the port speaks TLS; the server itself instead of a proxy");
    if (why.detail.starts_with(net::no_redis_server))
        return add(severity::error, "no-redis", "is " + why.detail, "correct address or port");
    if (refused && why.error == server_error::other)
        return add(severity::error, "no-redis", "does not answer as a Redis server does: " + why.detail,
                   "correct address or port: is it a proxy, or another service?");
    add(severity::error, refused ? "refused" : "unreachable",
        std::string(refused ? "refuses the connection" : "cannot be reached") +
            (why.detail.empty() ? "" : ": " + why.detail),
        refused ? "correct user, password or the server's state"
                : "start the server, or correct address, network or TLS");
}

void node_examination::read_info()
{
    std::string_view text = said(question::info).text;
    if (said(question::info).refused())
        return add(severity::warning, "no-info",
                   std::string("INFO is not permitted: ") +
                       (node_.called_durable ? "" : "each new connection counts as a restart; ") +
                       "replicas, eviction and second names go unnoticed",
                   "permit +info");
    while (!text.empty()) {
        auto const line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        auto const colon = line.find(':');
        if (colon != std::string_view::npos)
            info_.emplace(line.substr(0, colon),
                          redis::printable(line.substr(colon + 1, line.find_last_not_of('\r') - colon)));
    }
}

/// Reports fields of INFO that the library would read, and this server does not have (rule N6).
void node_examination::blind_spots()
{
    if (said(question::info).refused())
        return;
    auto const info = node_.facts.info.value_or(redis::server_info{});
    auto const missing = [this](bool told, std::string const& what, std::string const& without) {
        if (!told)
            add(severity::warning, "blind-spot", "INFO does not tell " + what + ": " + without,
                "a server of its own, without a proxy");
    };
    missing(!info.run_id.empty(), "run_id",
            !info.replid.empty() ? "restarts that keep the data set, and a second name, go unnoticed"
            : node_.called_durable
                ? "a second name goes unnoticed"
                : "each new connection counts as a restart, and a second name goes unnoticed");
    missing(info.uptime.has_value(), "uptime_in_seconds",
            "each new client waits before the node votes for it");
    missing(node_.facts.role_known, "role", "replicas go unnoticed");
    missing(info.may_evict.has_value(), "maxmemory and maxmemory_policy", "eviction goes unnoticed");
}

void node_examination::role()
{
    if (node_.facts.replica)
        add(severity::error, "replica", "is a replica, and does not vote",
            "name its master, and count the two as one");
    if (info("loading") == "1")
        add(severity::error, "loading", "still loads its data, and does not vote yet", "wait");
    if (node_.facts.cluster)
        add(severity::error, "cluster",
            "is a cluster node, and does not vote: a failover promotes a replica without the last locks",
            "use servers of their own");
    if (node_.facts.protocol < 3)
        add(severity::warning, "resp2", "speaks RESP2 only: waiters are not woken, and ask again",
            "Redis 6 or later, without a proxy");
}

void node_examination::memory()
{
    std::uint64_t const limit = number("maxmemory");
    std::string const policy = info("maxmemory_policy");
    if (limit == 0)
        return;
    if (node_.facts.info && node_.facts.info->may_evict == true)
        add(severity::error, "eviction",
            "may evict locks when memory is short (maxmemory-policy " + policy + "), and does not vote",
            "CONFIG SET maxmemory-policy noeviction");
    else if (number("used_memory") > limit / 10 * 9)
        add(severity::warning, "memory",
            "uses more than 90 % of maxmemory: when it is full, it takes no locks",
            "raise maxmemory, or keep other data elsewhere");
}

void node_examination::age()
{
    auto const left = youth_left(node_, terms_);
    if (left == 0ns)
        return;
    if (terms_.client.admission.assume_fresh)
        return add(severity::info, "young",
                   "was started a short time ago, is taken for new (REDLOCK_ASSUME_FRESH), and votes at once",
                   "nothing, unless it was restarted: then without REDLOCK_ASSUME_FRESH");
    auto const info = node_.facts.info.value_or(redis::server_info{});
    if (info.promoted)
        return add(severity::warning, "promoted",
                   "was promoted, or followed another server: clients that meet it first wait " +
                       seconds(left) + for_which_locks(terms_),
                   "wait; the first client that waits spares the others, if they may use the key '" +
                       redis::joined_name(terms_.client.key_prefix, redis::marker_name) + "'");
    add(severity::warning, "young",
        (info.uptime ? "was started a short time ago" : "does not tell its age") +
            std::string(" and may have forgotten locks: votes in ") + seconds(left) + for_which_locks(terms_),
        "wait; where it is certainly new: REDLOCK_ASSUME_FRESH=1");
}

void node_examination::persistence()
{
    if (node_.called_durable && !node_.facts.forgetful.empty())
        add(severity::error, "not-durable",
            "is called durable, but " + std::string(node_.facts.forgetful) +
                ": after a restart it does not vote for a while all the same",
            "correct the setting, or remove durable=true");
    else if (node_.called_durable)
        add(severity::info, "durable", "is called durable: votes again at once after a restart", "");
    else if (node_.facts.durable)
        add(severity::info, "may-be-durable",
            "keeps locks through a crash as it is set now: after a restart it does not vote for a while",
            "nothing, or durable=true in its URL, if it was never started otherwise and its volume is its "
            "own");
    else
        add(severity::info, "not-durable",
            "may forget locks in a crash" +
                std::string(setting(question::save).empty() ? "" : " (snapshots alone do not help)") +
                ": after a restart it does not vote for a while",
            "nothing, or: appendonly yes, appendfsync always, no-appendfsync-on-rewrite no, and durable=true "
            "in "
            "its URL");
    if (info("rdb_last_bgsave_status") == "err" && setting(question::stop_writes) == "yes")
        add(severity::error, "misconf", "cannot save, and therefore takes no locks",
            "repair the disk, or set stop-writes-on-bgsave-error no");
    if (info("aof_last_write_status") == "err")
        add(severity::error, "misconf", "cannot write its append-only file", "repair the disk");
}

void node_examination::replicas()
{
    if (node_.facts.group)
        return group();
    if (number("connected_slaves") != 0)
        add(severity::warning, "replicas",
            "has " + info("connected_slaves") +
                " replica(s): one that is promoted in its place lacks the latest locks, and does not vote "
                "for a while",
            "no automatic failover to a replica, or no replicas");
    if (std::string const needed = setting(question::min_replicas); !needed.empty() && needed != "0")
        add(severity::warning, "min-replicas",
            "takes no locks while fewer than " + needed + " replica(s) are in touch",
            "min-replicas-to-write 0");
}

void node_examination::group()
{
    if (auto const against = detail::objection(node_.facts, {}))
        return add(
            severity::error, "group", "does not vote: " + against->detail,
            "min-replicas-to-write and min-replicas-max-lag on all its servers, and permit +config|get");
    add(severity::info, "group",
        "is a group of " + std::to_string(node_.facts.known_replicas + 1) + " servers, whose master is " +
            node_.facts.master,
        "");
}

void node_examination::clock()
{
    if (!node_.ahead)
        return add(severity::warning, "no-time",
                   "TIME is not permitted: steps of its clock go unnoticed, and only plain locks work, and "
                   "those of several names",
                   "permit +time");
    auto const certain = std::chrono::abs(*node_.ahead) - node_.round_trip;
    if (certain > terms_.slack)
        add(severity::warning, "clock",
            "its clock is " + seconds(std::chrono::abs(*node_.ahead)) +
                (*node_.ahead > 0us ? " ahead of" : " behind") +
                " this machine's: setting it right in one step would end locks early",
            "let chrony or ntpd slew all clocks");
}

void node_examination::speed()
{
    if (node_.round_trip > terms_.node_timeout)
        add(severity::error, "slow",
            "answers after " + seconds(node_.round_trip) + ", later than the per-node timeout of " +
                seconds(terms_.node_timeout),
            "a nearer server, or a longer ttl");
    else if (node_.round_trip > terms_.node_timeout / 4)
        add(severity::warning, "slow",
            "answers after " + seconds(node_.round_trip) + "; the per-node timeout is " +
                seconds(terms_.node_timeout),
            "a nearer server, or a longer ttl");
    std::uint64_t const most = number("maxclients");
    if (most != 0 && number("connected_clients") > most / 10 * 9)
        add(severity::warning, "clients", "has more than 90 % of the connections that it accepts",
            "raise maxclients");
}

void node_examination::security()
{
    if (node_.how == interview::transport::unverified)
        add(severity::warning, "unverified",
            "its certificate is not verified: anybody in between can forge votes",
            "--cacert, and no tls_verify=false");
    if (node_.how == interview::transport::plain)
        add(severity::info, "plain",
            "is reached without TLS: anybody in between can read passwords and forge votes",
            "rediss://, or a network of its own");
}

/// Servers do not say which command of a script is refused.
void node_examination::must_be_allowed(question q, std::string const& lost, std::string const& needs)
{
    if (!said(q).refused() || (is_untried(node_, terms_) && is_about_keys(said(q))))
        return;
    auto const error = redis::classify(said(q).text);
    if (error == server_error::readonly || error == server_error::loading)
        return; // reported already
    bool const by_right = error == server_error::noperm || error == server_error::unknown_command;
    add(severity::error, by_right ? "rights" : "no-vote", lost + ": " + redis::quote(said(q).text),
        "permit " + (is_about_keys(said(q)) ? "the lock's keys" : needs) +
            ": docs/server-checklist.md, \"Rights\"");
}

void node_examination::should_be_allowed(question q, std::string const& right, std::string const& without)
{
    if (said(q).refused() && redis::classify(said(q).text) == server_error::noperm && !is_about_keys(said(q)))
        add(severity::warning, "rights", right + " is not permitted: " + without, "permit +" + right);
}

/// The trials are asked after everything else.
void node_examination::uses()
{
    if (is_shut_out(node_, terms_))
        return;
    std::span<answer const> rest = node_.answers;
    rest = rest.subspan(static_cast<std::size_t>(question::mark) + (terms_.prepares ? 1 : 0));
    for (lock_use const what : terms_.uses)
        rest = judge(what, rest);
}

/// All these rights are needed: a vote is a script.
/// \param told answers to these trials and to further ones
/// \return the answers to the further ones
std::span<answer const> node_examination::judge(lock_use what, std::span<answer const> told)
{
    std::set<std::string> missing;
    for (trial const& one : trials_of(what, terms_.client.key_prefix, terms_.lock, node_)) {
        note_missing(missing, told.front(), std::string(one.right), one.object);
        told = told.subspan(1);
    }
    note_missing(missing, said(question::pttl), "pttl", {});
    note_missing(missing, said(question::mget), "mget", {}); // the right to other keys
    if (what == lock_use::queue) {
        note_missing(missing, said(question::tracking), "client|tracking", {});
        if (node_.facts.protocol < 3)
            missing.insert("RESP3");
    } else if (!node_.ahead && what != lock_use::several_names) {
        missing.insert("+time");
    }
    if (missing.empty())
        return told;
    auto const words = words_of(what);
    bool const others_work = what == lock_use::queue || what == lock_use::fenced_permits;
    add(others_work ? severity::warning : severity::error, std::string(words.id),
        std::string(words.without) + "; missing: " + redis::printable(list_of(missing)),
        std::string(words.advice));
    return told;
}

bool node_examination::is_forbidden(question q) const
{
    auto const error = said(q).refused() ? redis::classify(said(q).text) : server_error::none;
    return (error == server_error::noperm && !is_about_keys(said(q))) ||
           error == server_error::unknown_command;
}

/// If a server compares by itself, plain locks need no scripts (rule K8).
void node_examination::scripts()
{
    auto const native = native_form(node_);
    bool const compares =
        native && !said(question::native_extend).refused() && !said(question::native_release).refused();
    bool const forbidden =
        is_forbidden(question::extend) || is_forbidden(question::release) || is_forbidden(question::by_hash);
    if (compares && forbidden)
        return add(severity::warning, "no-scripts",
                   "plain locks work, but fenced locks, readers and writers do not, and it keeps no queue: " +
                       redis::quote(
                           said(is_forbidden(question::extend) ? question::extend : question::by_hash).text),
                   "permit +eval, +evalsha, +get, +pexpire, +del: docs/server-checklist.md, \"Rights\"");
    must_be_allowed(question::extend, "a lock cannot be renewed", "+eval, +get, +pexpire");
    must_be_allowed(question::release, "a lock cannot be released", "+eval, +get, +del");
    if (said(question::by_hash).text.find("evalsha") != std::string::npos) // and not inside the script
        must_be_allowed(question::by_hash, "locks are neither renewed nor released by a script's hash",
                        "+evalsha");
    if (native && is_forbidden(question::native_release))
        add(severity::info, "rights",
            "its command that compares is not permitted: locks are released by a script",
            native == redis::script_form::delex ? "permit +delex" : "permit +delifeq");
}

/// Tried on a key of its own, with the library's own commands: no rule of an ACL has to be read.
void node_examination::rights()
{
    if (terms_.by_key)
        votes_for_a_key();
    should_be_allowed(question::tracking, "client|tracking", "waiters are not woken, and ask again");
    uses();
    untried();
    if (said(question::save).refused())
        add(severity::info, "no-config", "CONFIG GET is not permitted: whether it is durable cannot be seen",
            "permit +config|get");
}

void node_examination::votes_for_a_key()
{
    must_be_allowed(question::vote, "a lock cannot be taken", "+set");
    scripts();
    should_be_allowed(question::pttl, "pttl",
                      "waiters do not know when a lock expires, and fenced locks do not work");
    should_be_allowed(question::mget, "mget", "fenced locks do not work");
    if (is_about_keys(said(question::mget)) && !is_shut_out(node_, terms_))
        add(severity::warning, "rights",
            "the marker's key or the fence's is not permitted: fenced locks do not work",
            "docs/server-checklist.md, \"Rights\"");
}

void node_examination::untried()
{
    if (is_untried(node_, terms_))
        add(severity::warning, "unchecked",
            "the rights to a lock's keys were not tried: the key '" + terms_.client.key_prefix +
                probe_of(terms_.lock) + "' is not permitted",
            terms_.lock.empty() ? "redlock doctor NAME, with the name of a lock"
                                : "permit that key, too: docs/server-checklist.md, \"Rights\"");
    else if (terms_.by_key && said(question::vote).is(answer::kind::null))
        add(severity::warning, "unchecked",
            "the rights were not tried to the end: the key '" + terms_.client.key_prefix +
                probe_of(terms_.lock) + "' is there already",
            "once more in two seconds; if it is there then, delete it");
}

} // namespace

void examine_node(interview const& node, examination const& terms, std::vector<finding>& found)
{
    node_examination(node, terms, found).all();
}

} // namespace redlock::cli
