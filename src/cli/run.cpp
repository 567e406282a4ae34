// SPDX-License-Identifier: BSL-1.0
#include "cli/child.hpp"
#include "cli/exit_status.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/session.hpp"
#include "cli/supervisor.hpp"
#include "cli/verbs.hpp"
#include <redlock/error.hpp>
#include <redlock/lease.hpp>

#include <boost/system/error_code.hpp>

#include <nlohmann/json.hpp>
#include <string>

namespace redlock::cli {

namespace {

void tell_release(options const& o, output const& out, session const& s, boost::system::error_code ec)
{
    if (!ec)
        return out.note("released", "'" + o.shown_name() + "' released", {{"name", o.name}});
    bool const lost = ec == errc::lease_lost;
    std::string const troubles = lost ? "" : s.troubles();
    out.warn("release_failed",
             "'" + o.shown_name() + "' was " +
                 (lost ? "lost before it was released" : "not released everywhere and expires by itself") +
                 (troubles.empty() ? "" : "; " + troubles),
             {{"name", o.name}, {"error", ec.message()}, {"detail", troubles}});
}

} // namespace

int run(options const& o, output const& out)
{
    check_times(o);
    session s(o, out);
    lease held = s.acquire();
    lease_facts const facts(held, o.lock);
    out.note("acquired",
             "'" + o.shown_name() + "' acquired after " + seconds(held.waited()) + " with " +
                 std::to_string(held.votes()) + " votes",
             facts.json());
    int status = 0;
    supervisor guard(s, held, o, out); // the lease tells it of its end, which the release below is
    try {
        child command(s.context(), o.command, facts.variables());
        status = guard.watch(command);
    } catch (failure const&) {
        static_cast<void>(s.release(held));
        throw;
    }
    tell_release(o, out, s, s.release(held));
    return status;
}

} // namespace redlock::cli
