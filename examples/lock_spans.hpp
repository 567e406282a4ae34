// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <redlock/redlock.hpp>

#include <opentelemetry/trace/span.h>
#include <opentelemetry/trace/span_context.h>
#include <opentelemetry/trace/span_startoptions.h>
#include <opentelemetry/trace/tracer.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// To be copied: an observer that makes spans.

/// Makes a span of each acquisition, with its waits, votes and attempts as events, and one of each lease. A span is made
/// when it ends, since only then its operation is known; the events of the library say how long it took.
///
/// Events name a lock, not an operation. If operations of one client compete for a lock, the votes go into the span of
/// the first that ends after them.
class lock_spans final : public redlock::observer {
    using span = opentelemetry::trace::Span;
    using clock = std::chrono::system_clock;

public:
    explicit lock_spans(opentelemetry::nostd::shared_ptr<opentelemetry::trace::Tracer> tracer)
        : tracer_(std::move(tracer))
    {}

    /// From now on the spans of this lock are children of `of`, or of no span if it is not valid. Call it on the
    /// client's executor.
    void parent(std::string const& resource, opentelemetry::trace::SpanContext const& of)
    {
        parents_.insert_or_assign(resource, of);
    }

    void on_wait(redlock::wait_event const& e) noexcept override
    {
        note(e.resource, [at = clock::now(), before = e.before, in_queue = e.in_queue](span& of) {
            of.AddEvent(
                "wait", at,
                {{"redlock.before", static_cast<std::int64_t>(before)}, {"redlock.in_queue", in_queue}});
        });
    }

    void on_vote(redlock::vote_event const& e) noexcept override
    {
        if (e.extension)
            return;
        note(e.resource, [at = clock::now(), node = std::string(e.node), result = to_string(e.result),
                          trip = in_us(e.round_trip), detail = std::string(e.detail)](span& of) {
            of.AddEvent("vote", at,
                        {{"redlock.node", node},
                         {"redlock.result", text(result)},
                         {"redlock.round_trip_us", trip},
                         {"redlock.detail", detail}});
        });
    }

    void on_attempt(redlock::attempt_event const& e) noexcept override
    {
        note(e.resource, [at = clock::now(), result = in_words(e.result), granted = e.granted](span& of) {
            of.AddEvent("attempt", at, {{"redlock.result", result}, {"redlock.granted", granted}});
        });
    }

    void on_acquire(redlock::acquire_event const& e) noexcept override
    {
        auto const made = begin("redlock.acquire", e.resource, e.waited);
        made->SetAttribute("redlock.attempts", e.attempts);
        made->SetAttribute("redlock.result", in_words(e.result));
        if (e.attempts != 0)
            for (auto const& add : std::exchange(noted(e.resource), {}))
                add(*made);
        // A lock that another client has is no failure. Everything else needs attention.
        if (e.result && e.result != redlock::errc::contended &&
            e.result != boost::asio::error::operation_aborted)
            made->SetStatus(opentelemetry::trace::StatusCode::kError, in_words(e.result));
        made->End();
    }

    void on_lease(redlock::lease_event const& e) noexcept override
    {
        using enum redlock::lease_event::kind;
        if (e.what != lost && e.what != released && e.what != handed_over && e.what != detached)
            return;
        auto const made = begin("redlock.hold", e.resource, e.held);
        made->SetAttribute("redlock.end", text(to_string(e.what)));
        made->SetAttribute("redlock.votes", e.votes);
        made->SetAttribute("redlock.nodes", e.node_count);
        made->SetAttribute("redlock.shared", e.shared);
        if (e.what == lost) {
            made->SetAttribute("redlock.cause", text(to_string(e.cause)));
            made->SetStatus(opentelemetry::trace::StatusCode::kError, text(e.detail));
        }
        made->End();
    }

private:
    using event = std::function<void(span&)>;
    static constexpr std::size_t most_events = 128; // the SDK's own limit of a span, too

    static opentelemetry::nostd::string_view text(std::string_view s) { return {s.data(), s.size()}; }
    static std::string in_words(boost::system::error_code ec) { return ec ? ec.message() : "acquired"; }
    static std::int64_t in_us(std::chrono::nanoseconds time)
    {
        return std::chrono::duration_cast<std::chrono::microseconds>(time).count();
    }

    std::vector<event>& noted(std::string_view resource)
    {
        auto const known = noted_.find(resource);
        return known != noted_.end() ? known->second : noted_[std::string(resource)];
    }

    void note(std::string_view resource, event e)
    {
        if (auto& events = noted(resource); events.size() < most_events)
            events.push_back(std::move(e));
    }

    opentelemetry::nostd::shared_ptr<span> begin(char const* name, std::string_view resource,
                                                 std::chrono::nanoseconds ago)
    {
        opentelemetry::trace::StartSpanOptions options;
        options.start_system_time = opentelemetry::common::SystemTimestamp(clock::now() - ago);
        options.start_steady_time =
            opentelemetry::common::SteadyTimestamp(std::chrono::steady_clock::now() - ago);
        if (auto const known = parents_.find(resource); known != parents_.end())
            options.parent = known->second;
        return tracer_->StartSpan(name, {{"redlock.resource", text(resource)}}, options);
    }

    opentelemetry::nostd::shared_ptr<opentelemetry::trace::Tracer> tracer_;
    std::map<std::string, std::vector<event>, std::less<>> noted_;
    std::map<std::string, opentelemetry::trace::SpanContext, std::less<>> parents_;
};
