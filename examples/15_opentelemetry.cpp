// SPDX-License-Identifier: BSL-1.0
// Spans of locks, with opentelemetry-cpp: an observer that makes a span of each acquisition and each lease, below the
// span of the request that asked.
// Run: 15_opentelemetry      starts three Redis servers of its own, kills two, prints the spans and checks them
#include "local_redis.hpp"
#include "lock_spans.hpp"
#include <redlock/redlock.hpp>

#include <boost/asio.hpp>

#include <opentelemetry/exporters/memory/in_memory_span_data.h>
#include <opentelemetry/exporters/memory/in_memory_span_exporter.h>
#include <opentelemetry/sdk/trace/simple_processor.h>
#include <opentelemetry/sdk/trace/span_data.h>
#include <opentelemetry/sdk/trace/tracer_provider.h>
#include <opentelemetry/trace/tracer.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

namespace asio = boost::asio;
namespace otel = opentelemetry;
using boost::system::error_code;
using namespace std::chrono_literals;
using tracer = otel::nostd::shared_ptr<otel::trace::Tracer>;
using finished = std::vector<std::unique_ptr<otel::sdk::trace::SpanData>>;

/// A request with a span of its own. The lock's spans become its children.
asio::awaitable<void> book(redlock::mutex seat, tracer spans, lock_spans& locks)
{
    auto const request = spans->StartSpan("book");
    locks.parent("seat", request->GetContext());
    redlock::lease lease = co_await seat.acquire();
    error_code ec;
    redlock::lease none = co_await seat.try_acquire(asio::redirect_error(asio::use_awaitable, ec));
    co_await lease.release();
    locks.parent("seat", otel::trace::SpanContext::GetInvalid());
    request->End();
}

asio::awaitable<void> workload(redlock::client& locks, example::nodes& servers, tracer spans,
                               std::shared_ptr<lock_spans> observer)
{
    co_await book(redlock::mutex{locks, "seat"}, spans, *observer);

    redlock::mutex report{locks, "report", {.ttl = 1s, .node_timeout = 300ms}};
    redlock::lease lease = co_await report.acquire();
    servers.own[1]->kill();
    servers.own[2]->kill();
    co_await lease.ended();
    error_code why;
    redlock::lease none = co_await report.acquire_for(100ms, asio::redirect_error(asio::use_awaitable, why));
}

void print(finished const& spans)
{
    for (auto const& span : spans) {
        std::cout << "  " << span->GetName() << ' ' << span->GetDuration() / 1us << " us";
        if (span->GetStatus() == otel::trace::StatusCode::kError)
            std::cout << ": " << span->GetDescription();
        std::cout << '\n';
        for (auto const& event : span->GetEvents())
            std::cout << "    " << event.GetName() << '\n';
    }
}

void check(finished const& spans, example::promises& promises)
{
    auto const count = [&](auto wanted) { return std::ranges::count_if(spans, wanted); };
    auto const book = std::ranges::find_if(spans, [](auto const& span) { return span->GetName() == "book"; });
    promises.keep(book != spans.end() && count([&](auto const& span) {
                                             return span->GetParentSpanId() == (*book)->GetSpanId();
                                         }) == 3,
                  "two acquisitions and a lease are children of the request");
    promises.keep(count([](auto const& span) { return span->GetName() == "redlock.acquire"; }) == 4,
                  "a span for each acquisition");
    promises.keep(count([](auto const& span) {
                      return span->GetName() == "redlock.acquire" &&
                             std::ranges::count_if(span->GetEvents(), [](auto const& event) {
                                 return event.GetName() == "vote";
                             }) >= 2;
                  }) >= 2,
                  "with the votes of a majority");
    promises.keep(count([](auto const& span) {
                      return span->GetName() == "redlock.hold" &&
                             span->GetStatus() == otel::trace::StatusCode::kError &&
                             span->GetDuration() > 500ms;
                  }) == 1,
                  "a lease that was lost is an error");
}

int main()
{
    namespace memory = otel::exporter::memory;
    namespace sdk = otel::sdk::trace;
    auto exporter = std::make_unique<memory::InMemorySpanExporter>(); // yours sends them: OTLP, Zipkin
    auto const exported = exporter->GetData();
    sdk::TracerProvider provider(std::make_unique<sdk::SimpleSpanProcessor>(std::move(exporter)));
    tracer const spans = provider.GetTracer("redlock");
    auto const observer = std::make_shared<lock_spans>(spans);

    example::nodes servers(3);
    example::promises promises;
    asio::io_context context;
    redlock::client locks{
        context.get_executor(),
        {.nodes = servers.urls,
         .admission = {.assume_fresh = true}, // the servers are new: nothing was lost by a restart
         .observer = observer}};
    auto done = asio::co_spawn(context, workload(locks, servers, spans, observer), asio::use_future);
    context.run();
    done.get();

    finished const made = exported->GetSpans();
    print(made);
    check(made, promises);
    return promises.exit_code();
}
