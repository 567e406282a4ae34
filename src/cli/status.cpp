#include "cli/query.hpp"
#include "cli/verbs.hpp"
#include "core/fencing.hpp"
#include "core/tally.hpp"
#include "redis/command.hpp"
#include "redis/server_words.hpp"
#include "redis/text_number.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>

namespace redlock::cli {

namespace {

using nlohmann::json;

/// Who knows a whole token can release the lock.
constexpr std::size_t shown_of_token = 8;

/// The key on one node.
struct sighting {
    interview const* node;
    bool known = false;   ///< whether it is there
    std::string holder{}; ///< whoever it is; empty: nobody
    bool no_lock = false; ///< another type under the key, which is in the way of every lock
    std::string shown{};  ///< of the holder
    std::optional<std::chrono::milliseconds> left{};
    std::string fence{};
    bool no_expiry = false;
    std::string trouble{};
};

std::string trouble_of(interview const& node)
{
    net::failure const& why = *node.failed;
    return std::string(to_string(why.result)) + (why.detail.empty() ? "" : " (" + why.detail + ')');
}

sighting look(interview const& node)
{
    sighting seen{.node = &node};
    if (node.failed) {
        seen.trouble = trouble_of(node);
        return seen;
    }
    answer const& owner = node.answers[0];
    answer const& left = node.answers[1];
    seen.known = !owner.refused() || owner.text.starts_with("WRONGTYPE");
    if (owner.is(answer::kind::text)) {
        seen.holder = owner.text;
        seen.shown = redis::printable(owner.text.substr(0, shown_of_token)) + "...";
    } else if (seen.known && owner.refused()) {
        seen.shown = "(not a lock)";
        seen.no_lock = true;
    } else if (owner.refused()) {
        seen.trouble = redis::quote(owner.text);
    }
    if (auto const why = why_no_lock(owner, left); !why.empty())
        seen.trouble = "no lock: " + std::string(why);
    seen.no_expiry = left.is(answer::kind::number) && left.number == -1;
    if (left.is(answer::kind::number) && left.number >= 0)
        seen.left = std::chrono::milliseconds{left.number};
    std::uint64_t fence = 0;
    if (node.answers[2].is(answer::kind::text) && redis::read_number(node.answers[2].text, fence))
        seen.fence = std::to_string(core::fencing_token(fence));
    if (node.facts.replica)
        seen.trouble = "replica";
    return seen;
}

struct verdict {
    std::string holder{}; ///< as shown; of a majority
    unsigned votes = 0;   ///< of whoever has the most
    unsigned free = 0;
    enum class kind : std::uint8_t { held, free, blocked, unknown };
    kind says = kind::unknown; ///< whatever those that cannot be asked would say
};

std::string_view to_string(verdict::kind says)
{
    switch (says) {
    case verdict::kind::held: return "held";
    case verdict::kind::free: return "free";
    case verdict::kind::blocked: return "blocked";
    case verdict::kind::unknown: break;
    }
    return "unknown";
}

int status_of(verdict::kind says)
{
    switch (says) {
    case verdict::kind::held: return exit_status::success;
    case verdict::kind::free: return exit_status::not_held;
    case verdict::kind::blocked: return exit_status::conflict;
    case verdict::kind::unknown: break;
    }
    return exit_status::no_quorum;
}

verdict judge(std::vector<sighting> const& nodes)
{
    verdict v;
    std::map<std::string, unsigned> holders;
    unsigned unknown = 0;
    for (sighting const& s : nodes) {
        unknown += s.known ? 0U : 1U;
        v.free += s.known && s.holder.empty() && !s.no_lock ? 1U : 0U;
        if (!s.known || s.holder.empty())
            continue;
        unsigned const votes = ++holders[s.holder];
        if (votes > v.votes) {
            v.votes = votes;
            v.holder = s.shown;
        }
    }
    unsigned const majority = core::majority(static_cast<unsigned>(nodes.size()));
    if (v.votes >= majority)
        v.says = verdict::kind::held;
    else if (v.free >= majority)
        v.says = verdict::kind::free;
    else if (v.votes + unknown < majority && v.free + unknown < majority)
        v.says = verdict::kind::blocked; // nobody holds it, and nobody can get it
    return v;
}

json to_json(sighting const& s)
{
    json row{{"node", s.node->node}, {"reachable", !s.node->failed}};
    if (!s.shown.empty())
        row["holder"] = s.shown;
    if (s.left)
        row["pttl_ms"] = s.left->count();
    if (!s.fence.empty())
        row["fence"] = s.fence;
    if (!s.node->failed) {
        row["role"] = s.node->facts.replica ? "replica" : "master";
        row["round_trip_us"] = s.node->round_trip.count();
    }
    if (!s.trouble.empty())
        row["trouble"] = s.trouble;
    return row;
}

std::string time_left(sighting const& s)
{
    if (s.left)
        return seconds(*s.left);
    return s.shown.empty() ? "-" : s.no_expiry ? "no expiry" : "?";
}

std::string to_text(std::string const& headline, std::vector<sighting> const& nodes)
{
    std::vector<std::vector<std::string>> rows{{"NODE", "HOLDER", "LEFT", "FENCE", "ROUND TRIP", ""}};
    for (sighting const& s : nodes)
        rows.push_back({s.node->node, s.known ? s.shown.empty() ? "-" : s.shown : "?", time_left(s),
                        s.fence.empty() ? "-" : s.fence,
                        s.node->failed ? "-" : std::to_string(s.node->round_trip.count()) + " us",
                        s.trouble});
    return headline + '\n' + table(rows);
}

/// "held by 4f1c... on 2 of 3 nodes", "blocked: free on 1 of 3 nodes"
std::string headline(verdict const& v, std::size_t nodes)
{
    auto const counted = [nodes](unsigned some) {
        return " on " + std::to_string(some) + " of " + std::to_string(nodes) + " nodes";
    };
    std::string const said(to_string(v.says));
    switch (v.says) {
    case verdict::kind::held: return said + " by " + v.holder + counted(v.votes);
    case verdict::kind::free: return said + counted(v.free);
    default: return said + ": free" + counted(v.free);
    }
}

} // namespace

int status(options const& o, output const& out)
{
    std::string const key = o.client.key_prefix + o.name;
    std::string const fence = redis::name_beside(key, redis::fence_suffix);
    questions asked;
    asked.ask({"GET", key});
    asked.ask({"PTTL", key});
    asked.ask({"GET", fence});
    auto const interviews = ask_nodes(o.client, asked);

    std::vector<sighting> nodes;
    for (interview const& node : interviews)
        nodes.push_back(look(node));
    verdict const v = judge(nodes);
    bool const held = v.says == verdict::kind::held;
    json rows = json::array();
    for (sighting const& s : nodes)
        rows.push_back(to_json(s));
    json object{
        {"name", o.name}, {"status", std::string(to_string(v.says))}, {"votes", v.votes}, {"nodes", rows}};
    if (held)
        object["holder"] = v.holder;
    out.result(object, to_text(o.name + ": " + headline(v, nodes.size()), nodes));
    return status_of(v.says);
}

} // namespace redlock::cli
