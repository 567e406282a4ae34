#include "cli/findings.hpp"
#include "cli/verbs.hpp"
#include "core/validity.hpp"
#include "lock/nonce_source.hpp"
#include "redis/info.hpp"

#include <nlohmann/json.hpp>

namespace redlock::cli {

namespace {

using nlohmann::json;
using std::chrono::milliseconds;

std::string signed_ms(std::optional<std::chrono::microseconds> time)
{
    return time ? (time->count() < 0 ? "" : "+") + std::to_string(time->count() / 1000) + " ms" : "?";
}

json to_json(interview const& node)
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
        row["uptime_s"] = node.facts.info->uptime.count();
        row["durable"] = node.facts.durable;
    }
    return row;
}

json to_json(finding const& f)
{
    json object{{"id", f.id}, {"severity", to_string(f.grade)}, {"what", f.what}, {"advice", f.advice}};
    object["node"] = f.node.empty() ? json() : json(f.node);
    return object;
}

std::string to_text(std::vector<interview> const& nodes, std::vector<finding> const& found)
{
    std::vector<std::vector<std::string>> rows{{"NODE", "VERSION", "UP", "ROUND TRIP", "CLOCK"}};
    for (interview const& node : nodes) {
        bool const known = !node.failed && node.facts.info;
        rows.push_back({node.node, known ? node.facts.info->version : "?",
                        known ? std::to_string(node.facts.info->uptime.count()) + " s" : "?",
                        node.failed ? "-" : std::to_string(node.round_trip.count()) + " us",
                        signed_ms(node.ahead)});
    }
    std::string text = table(rows) + '\n';
    for (finding const& f : found)
        text += std::string(to_string(f.grade)) + ": " + (f.node.empty() ? "" : f.node + ' ') + f.what +
                " [" + f.id + "]\n" + (f.advice.empty() ? "" : "    -> " + f.advice + '\n');
    return text;
}

milliseconds node_timeout(options const& o)
{
    return o.lock.node_timeout.value_or(core::default_node_timeout(o.lock.ttl));
}

} // namespace

/// The exit status is that of the gravest finding: 0 info, 1 warning, 2 error.
int doctor(options const& o, output const& out)
{
    milliseconds const slack = o.lock.slack.value_or(core::default_slack(o.lock.ttl));
    examination const terms{o.client, core::key_ttl(o.lock.ttl, slack), slack, node_timeout(o)};
    std::string const probe = o.name.empty() ? "redlock-doctor" : o.name + ":redlock-doctor";
    lock::nonce_source nonces;
    auto const nodes =
        ask_nodes(o.client, doctor_questions(o.client.key_prefix, probe, nonces.next().text()));
    auto const found = examine(nodes, terms);
    severity const worst = found.empty() ? severity::info : found.front().grade;
    json node_rows = json::array();
    for (interview const& node : nodes)
        node_rows.push_back(to_json(node));
    json finding_rows = json::array();
    for (finding const& f : found)
        finding_rows.push_back(to_json(f));
    out.result({{"worst", to_string(worst)}, {"nodes", node_rows}, {"findings", finding_rows}},
               to_text(nodes, found));
    return static_cast<int>(worst);
}

} // namespace redlock::cli
