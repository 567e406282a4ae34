// SPDX-License-Identifier: BSL-1.0
#include "cli/child.hpp"
#include "cli/exit_status.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/session.hpp"
#include "cli/supervisor.hpp"
#include "cli/verbs.hpp"
#include "kind/election.hpp"
#include "redis/server_words.hpp"
#include <redlock/election.hpp>
#include <redlock/error.hpp>
#include <redlock/leadership.hpp>

#include <boost/asio/ip/host_name.hpp>
#include <boost/system/error_code.hpp>

#include <unistd.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>

namespace redlock::cli {

namespace {

/// The process stays in the fleet while the servers are away.
options never_discouraged(options o)
{
    o.fenced = true; // so that the lock of the election tells its holder
    o.lock.retry.outage_patience = std::chrono::hours{24 * 365};
    if (o.value.size() > kind::longest_value)
        throw failure(exit_status::usage, "--value has at most " + std::to_string(kind::longest_value) +
                                              " bytes, not " + std::to_string(o.value.size()));
    if (o.value.empty())
        o.value = boost::asio::ip::host_name() + ':' + std::to_string(::getpid());
    return o;
}

std::string in_words(leadership const& held, options const& o)
{
    return "'" + o.shown_name() + "': leading in term " + std::to_string(held.term()) + " as " +
           redis::printable(o.value);
}

void resign(session& s, leadership& held, options const& o, output const& out)
{
    auto const ec = s.wait([&](auto handler) { held.resign(std::move(handler)); });
    if (!ec || ec == errc::lease_lost)
        out.note("resigned", "'" + o.shown_name() + "' resigned", {{"name", o.name}});
    else
        out.warn("resignation_failed",
                 "'" + o.shown_name() + "' was not given up everywhere and expires by itself",
                 {{"name", o.name}, {"error", ec.message()}});
}

} // namespace

int elect(options const& given, output const& out)
{
    options const o = never_discouraged(given);
    check_times(o);
    session s(o, out);
    election seat = as_usage([&] { return election(s.locks(), o.name, o.lock); });
    for (;;) {
        leadership held = s.campaign(seat, o.value);
        lease_facts const facts(held.lease(), o.lock);
        out.note("elected", in_words(held, o), facts.json());
        int status = 0;
        supervisor guard(s, held.lease(), o, out); // is told of the end that the resignation causes
        try {
            child command(s.context(), o.command, facts.variables());
            status = guard.watch(command);
        } catch (failure const&) {
            resign(s, held, o, out);
            s.settle();
            throw;
        }
        resign(s, held, o, out);
        int const asked = s.caught().asked_to_end(); // perhaps while the command was being stopped
        if (guard.stopped() && asked == 0)           // another process may lead by now
            continue;
        s.settle();
        if (guard.stopped())
            s.caught().die_of(asked);
        return status;
    }
}

} // namespace redlock::cli
