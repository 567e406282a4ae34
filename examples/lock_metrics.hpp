// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <redlock/redlock.hpp>

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

// To be copied: an observer that counts.

inline double in_seconds(std::chrono::nanoseconds time)
{
    return std::chrono::duration<double>(time).count();
}

/// Every series is looked up before it is needed: an event costs atomic additions, and the short mutex of a histogram.
/// Clients may share a registry; each has an observer of its own, since each calls it on its own executor. No series
/// has the name of a lock in it: there may be as many names as there are seats in the world.
class lock_metrics final : public redlock::observer {
public:
    explicit lock_metrics(prometheus::Registry& registry) : registry_(registry)
    {
        for (auto const& [result, label] : results())
            for (auto const& [last, word] : last_failures())
                ends_.emplace_back(end{result, last},
                                   &counter("redlock_acquire_total", {{"result", label}, {"last", word}}));
        for (auto cause : {redlock::loss_cause::expired, redlock::loss_cause::refused,
                           redlock::loss_cause::stalled, redlock::loss_cause::max_hold})
            losses_.emplace_back(cause,
                                 &counter("redlock_lost_total", {{"cause", std::string(to_string(cause))}}));
        smallest_spare_.Set(std::numeric_limits<double>::infinity());
    }

    void on_node(redlock::node_event const& e) noexcept override
    {
        of(e.node).up.Set(e.state == redlock::node_state::ready ? 1 : 0);
    }

    void on_vote(redlock::vote_event const& e) noexcept override
    {
        node_metrics& node = of(e.node);
        if (e.round_trip > std::chrono::nanoseconds{0})
            node.round_trip.Observe(in_seconds(e.round_trip));
        switch (e.result) {
        case redlock::node_result::timed_out: return node.timed_out.Increment();
        case redlock::node_result::unreachable: return node.unreachable.Increment();
        case redlock::node_result::refused: return node.refused.Increment();
        case redlock::node_result::quarantined: return node.quarantined.Increment();
        case redlock::node_result::held_by_other:
            if (e.extension) // otherwise it is contention, and no error
                node.key_gone.Increment();
            return;
        case redlock::node_result::granted:
        case redlock::node_result::free: // only inspections answer this
        case redlock::node_result::pending: return;
        }
    }

    void on_acquire(redlock::acquire_event const& e) noexcept override
    {
        count(ends_, end{e.result, e.last_failure});
        if (!e.result)
            acquire_seconds_.Observe(in_seconds(e.waited));
    }

    void on_lease(redlock::lease_event const& e) noexcept override
    {
        using enum redlock::lease_event::kind;
        switch (e.what) {
        case acquired: return held_.Increment();
        case renewed:
            note_failures(e);
            extended_.Increment();
            return note_spare(in_seconds(e.spare));
        case renewal_failed: return extension_failed_.Increment(); // the rest of the row is told at its end
        case stalled: return extension_stalled_.Increment();
        case lost: count(losses_, e.cause); return note_end(e);
        case released: released_.Increment(); return note_end(e);
        case handed_over: handed_over_.Increment(); return note_end(e);
        case detached: detached_.Increment(); return note_end(e);
        case suspect: return; // lost, or renewed, within the slack
        case downgraded: return;
        }
    }

    void on_linger(redlock::linger_event const& e) noexcept override { of(e.node).lingering.Increment(); }

private:
    using seconds = prometheus::Histogram::BucketBoundaries;
    inline static seconds const round_trips{.0001, .00025, .0005, .001, .0025, .005,
                                            .01,   .025,   .05,   .1,   .25,   .5};
    inline static seconds const waits{.0005, .001, .0025, .005, .01, .025, .05, .1,
                                      .25,   .5,   1,     2.5,  5,   10,   30};
    inline static seconds const holds{.001, .01, .1, .5, 1, 5, 10, 30, 60, 300, 900, 3600};
    inline static seconds const spares{.05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60};

    /// The result, and how the last attempt failed.
    using end = std::pair<boost::system::error_code, boost::system::error_code>;

    struct node_metrics {
        std::string name;
        prometheus::Gauge& up;
        prometheus::Histogram& round_trip;
        prometheus::Counter &timed_out, &unreachable, &refused, &quarantined, &key_gone, &lingering;
    };

    /// At most 63, and made at a node's first event, which is that its connection is being made.
    node_metrics& of(std::string_view node)
    {
        for (node_metrics& known : nodes_)
            if (known.name == node)
                return known;
        std::string const name(node);
        auto const error = [&](char const* kind) -> prometheus::Counter& {
            return counter("redlock_node_errors_total", {{"node", name}, {"kind", kind}});
        };
        return nodes_.emplace_back(
            node_metrics{name, gauge("redlock_node_up", {{"node", name}}),
                         histogram("redlock_round_trip_seconds", round_trips, {{"node", name}}),
                         error("timed_out"), error("unreachable"), error("refused"), error("quarantined"),
                         error("key_gone"), counter("redlock_linger_total", {{"node", name}})});
    }

    static std::vector<std::pair<boost::system::error_code, std::string>> results()
    {
        using redlock::errc;
        return {{boost::system::error_code(), "acquired"},
                {errc::contended, "contended"},
                {errc::timed_out, "timed_out"},
                {errc::no_quorum, "no_quorum"},
                {errc::too_slow, "too_slow"},
                {errc::shut_down, "shut_down"},
                {boost::asio::error::operation_aborted, "cancelled"}};
    }

    static std::vector<std::pair<boost::system::error_code, std::string>> last_failures()
    {
        using redlock::errc;
        return {{boost::system::error_code(), "none"},
                {errc::contended, "contended"},
                {errc::no_quorum, "no_quorum"},
                {errc::too_slow, "too_slow"}};
    }

    template <class Key>
    static void count(std::vector<std::pair<Key, prometheus::Counter*>> const& by_key, Key const& key)
    {
        for (auto const& [known, count] : by_key)
            if (known == key)
                return count->Increment();
    }

    void note_spare(double spare)
    {
        spare_seconds_.Observe(spare);
        if (spare < smallest_spare_.Value())
            smallest_spare_.Set(spare);
    }

    void note_failures(redlock::lease_event const& e)
    {
        if (e.failed > 1)
            extension_failed_.Increment(e.failed - 1);
    }

    void note_end(redlock::lease_event const& e)
    {
        note_failures(e);
        held_.Decrement();
        hold_seconds_.Observe(in_seconds(e.held));
    }

    /// Returns the help text of a metric.
    static std::string help(std::string_view name)
    {
        constexpr std::pair<std::string_view, std::string_view> texts[] = {
            {"redlock_acquire_total",
             "Acquisitions that ended, by result and by how the last attempt failed"},
            {"redlock_acquire_seconds", "Time from the call until the lease was acquired"},
            {"redlock_extend_total",
             "Renewals of leases: renewed, failed rounds, stalled by lack of progress"},
            {"redlock_lost_total", "Leases that were lost, by cause"},
            {"redlock_release_total", "Leases that ended without a loss: released, handed over, detached"},
            {"redlock_held", "Leases held now"},
            {"redlock_hold_seconds", "Time for which a lease was held"},
            {"redlock_spare_seconds", "Validity left at each renewal"},
            {"redlock_smallest_spare_seconds", "Smallest validity left at a renewal so far"},
            {"redlock_round_trip_seconds", "Time until a server answered a vote or an extension"},
            {"redlock_node_up", "1 while the server votes, otherwise 0"},
            {"redlock_node_errors_total", "Votes and extensions that a server did not grant, by kind"},
            {"redlock_linger_total", "Keys that a server may keep until they expire"}};
        return std::string(
            std::ranges::find(texts, name, &std::pair<std::string_view, std::string_view>::first)->second);
    }

    // The same registry, name and labels give the same series again.
    prometheus::Counter& counter(char const* name, prometheus::Labels const& labels)
    {
        return prometheus::BuildCounter().Name(name).Help(help(name)).Register(registry_).Add(labels);
    }
    prometheus::Gauge& gauge(char const* name, prometheus::Labels const& labels = {})
    {
        return prometheus::BuildGauge().Name(name).Help(help(name)).Register(registry_).Add(labels);
    }
    prometheus::Histogram& histogram(char const* name, seconds const& buckets,
                                     prometheus::Labels const& labels = {})
    {
        return prometheus::BuildHistogram()
            .Name(name)
            .Help(help(name))
            .Register(registry_)
            .Add(labels, buckets);
    }

    prometheus::Registry& registry_;
    std::deque<node_metrics> nodes_;
    std::vector<std::pair<end, prometheus::Counter*>> ends_;
    std::vector<std::pair<redlock::loss_cause, prometheus::Counter*>> losses_;
    prometheus::Counter& extended_ = counter("redlock_extend_total", {{"result", "renewed"}});
    prometheus::Counter& extension_failed_ = counter("redlock_extend_total", {{"result", "failed"}});
    prometheus::Counter& extension_stalled_ = counter("redlock_extend_total", {{"result", "stalled"}});
    prometheus::Counter& released_ = counter("redlock_release_total", {{"result", "released"}});
    prometheus::Counter& handed_over_ = counter("redlock_release_total", {{"result", "handed_over"}});
    prometheus::Counter& detached_ = counter("redlock_release_total", {{"result", "detached"}});
    prometheus::Gauge& held_ = gauge("redlock_held");
    prometheus::Gauge& smallest_spare_ = gauge("redlock_smallest_spare_seconds");
    prometheus::Histogram& acquire_seconds_ = histogram("redlock_acquire_seconds", waits);
    prometheus::Histogram& hold_seconds_ = histogram("redlock_hold_seconds", holds);
    prometheus::Histogram& spare_seconds_ = histogram("redlock_spare_seconds", spares);
};
