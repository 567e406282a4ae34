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

using namespace std::chrono_literals;

void check_times(options const& o)
{
    auto const longest = longest_kill_after(o.lock);
    if (o.when_lost != on_loss::stop || (longest > 0ms && o.kill_after.value_or(0ms) <= longest))
        return;
    if (longest <= 0ms)
        throw failure(exit_status::usage, "--ttl " + o.ttl_as_typed +
                                              " is too short to stop a command in time: more than 100 ms");
    throw failure(exit_status::usage,
                  "--kill-after " + o.kill_after_as_typed + " and a margin of " +
                      seconds(stop_margin(o.lock)) + " do not fit into half of --ttl " + o.ttl_as_typed +
                      ": the command has to be gone before the lease ends; --kill-after may be " +
                      std::to_string(longest.count()) + " ms at most");
}

void tell_release(options const& o, output const& out, boost::system::error_code ec)
{
    if (!ec)
        out.note("released", "'" + o.name + "' released", {{"name", o.name}});
    else
        out.warn("release_failed",
                 "'" + o.name + "' was " +
                     (ec == errc::lease_lost ? "lost before it was released"
                                             : "not released everywhere and expires by itself"),
                 {{"name", o.name}, {"error", ec.message()}});
}

} // namespace

int run(options const& o, output const& out)
{
    check_times(o);
    session s(o, out);
    lease held = s.acquire();
    lease_facts const facts(held, o.lock);
    out.note("acquired",
             "'" + o.name + "' acquired after " + seconds(held.waited()) + " with " +
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
    tell_release(o, out, s.release(held));
    return status;
}

} // namespace redlock::cli
