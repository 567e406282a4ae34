// SPDX-License-Identifier: BSL-1.0
#include "cli/exit_status.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/session.hpp"
#include "cli/verbs.hpp"
#include "redis/server_words.hpp"
#include <redlock/election.hpp>
#include <redlock/leader_info.hpp>
#include <redlock/with_diagnostics.hpp>

#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace redlock::cli {

namespace {

/// "scheduler: led by app-3:8080 in term 1785499200000000"
std::string in_words(options const& o, leader_info const& found)
{
    if (found.vacant)
        return o.shown_name() + ": nobody leads\n";
    return o.shown_name() + ": led by " + redis::printable(found.value) + " in term " +
           std::to_string(found.term) + (found.confirmed ? "" : " (not confirmed by a majority)") + '\n';
}

nlohmann::json to_json(options const& o, leader_info const& found)
{
    nlohmann::json object{{"name", o.name}, {"vacant", found.vacant}, {"confirmed", found.confirmed}};
    if (!found.vacant) {
        object["term"] = found.term;
        object["revision"] = found.revision;
        object["value"] = found.value;
    }
    return object;
}

} // namespace

int leader(options const& o, output const& out)
{
    session s(o, out);
    s.end_by_signals();
    election const seat = as_usage([&] { return election(s.locks(), o.name, o.lock); });
    leader_info found;
    std::exception_ptr why;
    bool done = false;
    seat.leader(with_diagnostics([&](std::exception_ptr e, leader_info told) {
        why = std::move(e);
        found = std::move(told);
        done = true;
    }));
    s.run_until(done);
    if (why)
        std::rethrow_exception(why);
    out.result(to_json(o, found), in_words(o, found));
    return found.vacant ? exit_status::not_held : exit_status::success;
}

} // namespace redlock::cli
