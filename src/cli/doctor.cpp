// SPDX-License-Identifier: BSL-1.0
#include "cli/answer.hpp"
#include "cli/findings.hpp"
#include "cli/lock_use.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/query.hpp"
#include "cli/trials.hpp"
#include "cli/verbs.hpp"
#include "core/validity.hpp"
#include "engine/nonce_source.hpp"
#include "net/leaf/this_machine.hpp"
#include "net/process_page.hpp"
#include "redis/info.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace redlock::cli {

namespace {

using nlohmann::json;
using std::chrono::milliseconds;

std::string signed_ms(std::optional<std::chrono::microseconds> time)
{
    if (!time)
        return "?";
    std::string text(time->count() < 0 ? "" : "+");
    text += std::to_string(time->count() / 1000);
    return text += " ms";
}

json to_json(interview const& node, examination const& terms)
{
    json row{{"node", node.node}, {"reachable", !node.failed}};
    if (node.failed)
        return row;
    row["protocol"] = node.facts.protocol;
    row["round_trip_us"] = node.round_trip.count();
    if (node.ahead)
        row["clock_ahead_us"] = node.ahead->count();
    if (node.facts.info) {
        row["version"] = node.facts.info->version;
        row["run_id"] = node.facts.info->run_id;
        if (node.facts.info->uptime)
            row["uptime_s"] = node.facts.info->uptime->count();
        row["durable"] = node.facts.durable;
    }
    if (auto const marker = marker_of(node, terms)) {
        json shown{{"exists", marker->exists},
                   {"written_now", marker->written_now},
                   {"wait_ms", std::chrono::ceil<milliseconds>(marker->wait).count()}};
        if (marker->exists)
            shown["age_ms"] = marker->age.count();
        row["marker"] = shown;
    }
    return row;
}

json to_json(finding const& f)
{
    json object{{"id", f.id}, {"severity", to_string(f.grade)}, {"what", f.what}, {"advice", f.advice}};
    object["node"] = f.node.empty() ? json() : json(f.node);
    return object;
}

bool same_finding(finding const& a, finding const& b)
{
    return a.id == b.id && a.grade == b.grade && a.advice == b.advice && a.node.empty() == b.node.empty();
}

std::string line(severity grade, std::string const& subject, std::string const& what, std::string const& id)
{
    return std::string(to_string(grade)) + ": " + subject + what + " [" + id + "]\n";
}

/// A finding at several nodes is reported once, with one advice.
std::string group_text(std::vector<finding> const& same, std::size_t nodes)
{
    finding const& first = same.front();
    std::string text;
    bool const equal = std::ranges::count(same, first.what, &finding::what) == std::ssize(same);
    if (first.node.empty()) {
        text = line(first.grade, "", first.what, first.id);
    } else if (equal && same.size() > 1) {
        std::string subject = "all nodes";
        if (same.size() != nodes)
            for (subject.clear(); finding const& f : same)
                subject += (subject.empty() ? "" : ", ") + f.node;
        text = line(first.grade, subject + ": ", first.what, first.id);
    } else {
        for (finding const& f : same)
            text += line(f.grade, f.node + ' ', f.what, f.id);
    }
    return text + (first.advice.empty() ? "" : "    -> " + first.advice + '\n');
}

std::string to_text(std::vector<interview> const& nodes, std::vector<finding> const& found)
{
    std::vector<std::vector<std::string>> rows{{"NODE", "VERSION", "UP", "ROUND TRIP", "CLOCK"}};
    for (interview const& node : nodes) {
        auto const info = node.facts.info.value_or(redis::server_info{});
        rows.push_back({node.node, info.version.empty() ? "?" : info.version,
                        info.uptime ? std::to_string(info.uptime->count()) + " s" : "?",
                        node.failed ? "-" : std::to_string(node.round_trip.count()) + " us",
                        signed_ms(node.ahead)});
    }
    std::string text = table(rows) + '\n';
    std::vector<finding> rest = found;
    while (!rest.empty()) {
        finding const first = rest.front();
        auto const others =
            std::ranges::stable_partition(rest, [&](finding const& f) { return same_finding(f, first); });
        text += group_text({rest.begin(), others.begin()}, nodes.size());
        rest.erase(rest.begin(), others.begin());
    }
    return text;
}

milliseconds node_timeout(options const& o)
{
    return o.lock.node_timeout.value_or(core::default_node_timeout(o.lock.ttl));
}

/// Adds the uses that these uses imply.
std::set<lock_use> uses_to_try(std::set<lock_use> uses)
{
    if (uses.empty() || uses.contains(lock_use::several_names) || uses.contains(lock_use::election) ||
        uses.contains(lock_use::readers))
        uses.insert(lock_use::queue);
    if (uses.contains(lock_use::permits))
        uses.insert({lock_use::queue, lock_use::fenced_permits});
    return uses;
}

} // namespace

/// Returns the exit status of the gravest finding: 0 info, 1 warning, 2 error.
int doctor(options const& o, output const& out)
{
    milliseconds const slack = o.lock.slack.value_or(core::default_slack(o.lock.ttl));
    examination const terms{.client = o.client,
                            .lock = o.name,
                            .ttl = o.lock.ttl,
                            .key_ttl = core::key_ttl(o.lock.ttl, slack),
                            .slack = slack,
                            .node_timeout = node_timeout(o),
                            .prepares = o.prepare,
                            .by_key = o.uses != std::set{lock_use::permits},
                            .uses = uses_to_try(o.uses)};
    auto const here = net::this_machine();
    net::process_page page = here->make_page();
    detail::nonce_source nonces(*here, page);
    auto const nonce = nonces.next();
    auto const nodes = ask_nodes(o.client, [&](interview const& node) {
        questions all = doctor_questions(o.client.key_prefix, o.name, node, nonce.text());
        if (terms.prepares)
            ask_for_marker(all, o.client.key_prefix, node, nonces.next().text());
        for (lock_use const what : terms.uses)
            ask_for(what, all, o.client.key_prefix, o.name, node);
        return all;
    });
    auto const found = examine(nodes, terms);
    severity const worst = found.empty() ? severity::info : found.front().grade;
    json node_rows = json::array();
    for (interview const& node : nodes)
        node_rows.push_back(to_json(node, terms));
    json finding_rows = json::array();
    for (finding const& f : found)
        finding_rows.push_back(to_json(f));
    out.result({{"worst", to_string(worst)}, {"nodes", node_rows}, {"findings", finding_rows}},
               to_text(nodes, found));
    return static_cast<int>(worst);
}

} // namespace redlock::cli
