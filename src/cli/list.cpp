// SPDX-License-Identifier: BSL-1.0
#include "cli/exit_status.hpp"
#include "cli/key_survey.hpp"
#include "cli/lock_list.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/query.hpp"
#include "cli/screen.hpp"
#include "cli/verbs.hpp"
#include "core/tally.hpp"
#include "redis/server_words.hpp"
#include <redlock/node_outcome.hpp>

#include <cstddef>
#include <ctime>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace redlock::cli {

namespace {

using nlohmann::json;

/// All nodes' answers to one question for their locks.
struct listing {
    lock_list found{};
    std::vector<node_words> troubles{};
    std::size_t nodes = 0;
    std::size_t answered = 0;
};

std::string words_of(interview const& node, key_survey const& survey)
{
    if (node.failed)
        return trouble_of(*node.failed);
    std::string const trouble = survey.trouble();
    return trouble.empty() && node.facts.replica ? "replica" : trouble;
}

listing ask_for_locks(options const& o)
{
    survey_terms const terms{
        .key_prefix = o.client.key_prefix, .beginning = o.name, .all = o.all, .limit = o.limit};
    std::vector<key_survey> surveys(o.client.nodes.size(), key_survey(terms));
    auto const interviews = converse(o.client, [&](std::size_t node, interview const& so_far) {
        return surveys[node].next(so_far.answers, clock_of(so_far));
    });
    listing all{.nodes = interviews.size()};
    std::vector<keys_of_node> keys;
    for (std::size_t i = 0; i != interviews.size(); ++i) {
        bool const answered = !interviews[i].failed && surveys[i].complete();
        all.answered += answered ? 1U : 0U;
        keys.push_back(answered ? surveys[i].take() : keys_of_node());
        if (std::string trouble = words_of(interviews[i], surveys[i]); !trouble.empty())
            all.troubles.push_back({interviews[i].node, std::move(trouble)});
    }
    all.found = merge(keys, o.limit);
    return all;
}

std::string words_of_limit(std::size_t limit)
{
    return "more than " + std::to_string(limit) +
           " names: these are the first ones (a longer PREFIX lists fewer, --limit more)";
}

/// Did enough nodes answer to know the locks?
bool is_known(listing const& all)
{
    return all.answered >= core::majority(static_cast<unsigned>(all.nodes));
}

std::string words_of_empty(listing const& all)
{
    if (is_known(all))
        return "no locks\n";
    return "unknown: " + std::to_string(all.answered) + " of " + std::to_string(all.nodes) +
           " nodes could be listed\n";
}

std::string to_text(listing const& all, std::size_t limit)
{
    std::string text = words_of_empty(all);
    if (!all.found.locks.empty()) {
        std::vector<std::vector<std::string>> rows{{"NAME", "KIND", "HOLDER", "LEFT", "NODES", "WAITING"}};
        for (listed_lock const& lock : all.found.locks)
            rows.push_back({redis::quote_name(lock.name), std::string(lock.kind), lock.holder,
                            lock.left ? seconds(*lock.left) : "no expiry",
                            std::to_string(lock.nodes) + " of " + std::to_string(all.nodes),
                            lock.waiting ? std::to_string(*lock.waiting) : "?"});
        text = table(rows);
    }
    if (all.found.is_cut)
        text += words_of_limit(limit) + '\n';
    if (all.troubles.empty())
        return text;
    std::vector<std::vector<std::string>> rows{{"NODE", "TROUBLE"}};
    for (auto const& [node, words] : all.troubles)
        rows.push_back({node, words});
    return text + table(rows);
}

json to_json(listed_lock const& lock, std::size_t nodes)
{
    json row{{"name", lock.name},     {"kind", lock.kind},
             {"holder", lock.holder}, {"holder_kind", std::string(to_string(lock.who))},
             {"votes", lock.nodes},   {"nodes", nodes}};
    if (lock.left)
        row["pttl_ms"] = lock.left->count();
    if (lock.waiting)
        row["waiting"] = *lock.waiting;
    if (lock.who == holder_kind::readers)
        row["readers"] = lock.shared_by;
    if (lock.who == holder_kind::permits)
        row["permits_taken"] = lock.shared_by;
    return row;
}

/// An array has no place for these.
void tell_troubles(listing const& all, std::size_t limit, output const& out)
{
    for (auto const& [node, words] : all.troubles)
        out.warn("trouble", node + ": " + words, {{"node", node}, {"trouble", words}});
    if (all.found.is_cut)
        out.warn("cut", words_of_limit(limit), {{"limit", limit}});
}

/// The time on this machine: "07:14:01".
std::string time_of_day()
{
    std::time_t const now = std::time(nullptr);
    std::tm parts{};
    char text[16];
    return {text, std::strftime(text, sizeof text, "%T", ::localtime_r(&now, &parts))};
}

void print_list(listing const& all, options const& o, output const& out)
{
    if (o.json) {
        json rows = json::array();
        for (listed_lock const& lock : all.found.locks)
            rows.push_back(to_json(lock, all.nodes));
        tell_troubles(all, o.limit, out);
        return out.result(rows, {});
    }
    std::string const text = to_text(all, o.limit);
    out.result({}, o.watch ? in_place(time_of_day() + '\n' + text) : text);
}

[[noreturn]] void watch(options const& o, output const& out)
{
    end_at_interrupt();
    for (;;) {
        print_list(ask_for_locks(o), o, out);
        std::this_thread::sleep_for(*o.watch);
    }
}

} // namespace

int list(options const& o, output const& out)
{
    if (o.watch)
        watch(o, out);
    listing const all = ask_for_locks(o);
    print_list(all, o, out);
    return is_known(all) ? exit_status::success : exit_status::no_quorum;
}

} // namespace redlock::cli
