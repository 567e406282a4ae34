// SPDX-License-Identifier: BSL-1.0
#include "cli/exit_status.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/session.hpp"
#include "cli/verbs.hpp"
#include <redlock/error.hpp>
#include <redlock/lease.hpp>

#include <nlohmann/json.hpp>
#include <string>

// Leases that no process holds: acquired by one process, extended and released by others.
namespace redlock::cli {

namespace {

void tell(output const& out, lease_facts const& facts)
{
    std::string text;
    for (auto const& [name, value] : facts.variables())
        text += "export " + name + '=' + shell_quoted(value) + '\n';
    if (facts.token == 0) // a token of a lock around this one would be taken for this one's
        text += "unset REDLOCK_TOKEN\n";
    out.result(facts.json(), text);
}

/// An operation on another process's lease also needs the time to connect.
options patient(options o)
{
    o.lock.renew = false;
    o.lock.node_timeout = unhurried(o.lock);
    return o;
}

[[noreturn]] void fail(options const& o, lock_error const& why)
{
    if (why.code() == errc::lease_lost)
        throw failure(exit_status::not_held, "'" + o.shown_name() + "' is not held with this owner token" +
                                                 (o.token != 0 ? " and fencing token" : "") + " (any more)");
    throw failure_of(why, why.outcomes(), o);
}

} // namespace

int acquire(options const& given, output const& out)
{
    options o = given;
    o.lock.renew = false;
    session s(o, out);
    lease held = s.acquire();
    if (o.fenced)
        s.complete(held);
    s.heed_signal(held);
    try {
        tell(out, lease_facts(held, o.lock));
    } catch (failure const&) { // nobody has the token, and the lock would be taken until it expires
        static_cast<void>(s.release(held));
        throw;
    }
    held.detach();
    s.settle(); // more than a majority of the nodes is better
    return exit_status::success;
}

int extend(options const& given, output const& out)
{
    options const o = patient(given);
    session s(o, out);
    s.end_by_signals();
    lease held = as_usage([&] { return s.adopt(o.owner, o.token); });
    auto const ec = s.extend(held);
    lease_facts const facts(held, o.lock);
    if (ec) {
        lock_error const why = held.explain(ec);
        held.detach();
        s.settle();
        fail(o, why);
    }
    held.detach(); // before the output: the lease stays, also if the output fails
    try {
        tell(out, facts);
    } catch (failure const&) {
        s.settle();
        throw;
    }
    s.settle();
    return exit_status::success;
}

/// A fenced key and a plain one are deleted in the same way.
int release(options const& given, output const& out)
{
    options o = patient(given);
    o.fenced = false;
    o.client.admission.longest_ttl = {}; // limits the locks that the client makes; this one has its own ttl
    session s(o, out);
    s.end_by_signals();
    lease held = as_usage([&] { return s.adopt(o.owner); });
    auto const ec = s.release(held);
    if (ec)
        fail(o, held.explain(ec));
    out.result({{"name", o.name}, {"released", true}}, "");
    return exit_status::success;
}

} // namespace redlock::cli
