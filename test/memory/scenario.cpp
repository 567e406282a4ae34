// SPDX-License-Identifier: BSL-1.0
#include "scenario.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace redlock::test {

config installation::settings() const
{
    config made{.nodes = urls()};
    made.admission.assume_fresh = true;
    made.reconnect = {.min_delay = 1ms, .max_delay = 10ms, .connect_timeout = 300ms};
    return made;
}

std::size_t installation::immortal_keys()
{
    std::size_t found = 0;
    for (probe& ask : probes)
        for (std::string const& key : ask.keys())
            found += ask.pttl(key) == -1 && !key.starts_with("redlock") ? 1 : 0;
    return found;
}

void installation::forget_everything()
{
    for (probe& ask : probes)
        for (std::string const& key : ask.keys())
            if (!key.starts_with("redlock"))
                ask.command({"DEL", key});
}

installation& installed(std::size_t nodes)
{
    static std::map<std::size_t, installation> all;
    return all.try_emplace(nodes, nodes).first->second;
}

namespace {

/// Both are valid, and must not be.
bool must_not_be_at_once(lease const& one, lease const& other)
{
    auto const slots = other.permits();
    bool const share = std::ranges::any_of(
        one.permits(), [&](auto slot) { return std::ranges::find(slots, slot) != slots.end(); });
    return one.valid() && other.valid() && (one.permits().empty() || slots.empty() || share);
}

} // namespace

void scenario::run_a_little()
{
    if (context.stopped())
        context.restart();
    try {
        context.run_one_for(1ms);
    } catch (std::bad_alloc const&) {
        ++thrown;
    }
    for (lease const* one : watched)
        for (lease const* other : watched)
            two_at_once = two_at_once || (one < other && must_not_be_at_once(*one, *other));
}

void scenario::take(client& from, lease& into)
{
    error_code result;
    bool done = false;
    mutex(from, "lock", some_lease()).acquire([&](error_code ec, lease got) {
        result = ec;
        into = std::move(got);
        done = true;
    });
    if (!run_until([&] { return done; }) || result)
        throw std::runtime_error("the lock cannot be had while memory is there");
}

namespace {

std::string at(std::size_t allocation, scenario const& s)
{
    return "allocation " + std::to_string(allocation) + ", " + std::to_string(s.thrown) + " out of run()";
}

/// Memory is back: the client works.
void check_recovery(scenario& s, std::string const& where)
{
    if (!s.locks)
        s.locks.emplace(s.context.get_executor(), s.servers.settings());
    lease again;
    begun_operation got;
    got.begin([&](auto handler) { s.lock().acquire(std::move(handler)); });
    BOOST_TEST(s.run_until([&] { return got.settled(); }), "never acquired again: " << where);
    BOOST_TEST(!got.ec, "acquired again: " << got.ec.message() << ", " << where);
    BOOST_TEST(got.granted.valid(), "a valid lease: " << where);
    begun_operation over;
    over.begin([&](auto handler) { got.granted.release(std::move(handler)); });
    BOOST_TEST(s.run_until([&] { return over.settled(); }), "never released again: " << where);
}

void check_end(scenario& s, std::string const& where)
{
    begun_operation ended;
    ended.begin([&](auto handler) { s.locks->shutdown(std::move(handler)); });
    BOOST_TEST(s.run_until([&] { return ended.settled(); }), "never shut down: " << where);
    BOOST_TEST(ended.completions == 1U, where);
    s.locks.reset();
    s.run_a_little();
    BOOST_TEST(s.servers.immortal_keys() == 0U, "keys without an end: " << where);
}

struct way {
    std::size_t nodes;
    std::size_t in_a_row; ///< number of allocations that fail in a row
    bool inside;          ///< it is begun in a handler of the client's executor
    bool all_of_act;      ///< each allocation of act() is tried
    std::size_t first;    ///< the remainder of those that are tried otherwise
};

enum class failure : std::uint8_t { none, of_act, later };

failure play(scenario& s, std::size_t allocation, way const& how)
{
    s.prepare();
    bool begun = false;
    bool of_act = false;
    std::optional<failing_new> failing;
    auto const begin = [&] {
        begun = true;
        s.act();
        of_act = failing->has_failed();
    };
    if (how.inside)
        asio::post(s.context, begin);
    failing.emplace(allocation, how.in_a_row);
    if (!how.inside)
        begin();
    auto end = std::chrono::steady_clock::now() + 2s;
    bool failed = false;
    // However late it is: the handler that begins it writes to this frame.
    while (!begun || (!s.done() && std::chrono::steady_clock::now() < end && !failing->is_over())) {
        s.run_a_little();
        if (!std::exchange(failed, failing->has_failed()) && failed) // the other ones may not be needed
            end = std::chrono::steady_clock::now() + 50ms;
    }
    return of_act ? failure::of_act : failing->has_failed() ? failure::later : failure::none;
}

/// MEMORY_THOROUGH: 1.
bool tries_all()
{
    static char const* const thorough = std::getenv("MEMORY_THOROUGH"); // NOLINT(concurrency-mt-unsafe)
    return thorough && *thorough == '1';
}

bool is_tried(std::size_t allocation, failure of_the_last, way const& how)
{
    constexpr std::size_t first_ones = 4;
    constexpr std::size_t stride = 11;
    return tries_all() || allocation <= first_ones || allocation % stride == how.first ||
           (how.all_of_act && of_the_last == failure::of_act);
}

void sweep(make_scenario make, way const& how)
{
    installation& servers = installed(how.nodes);
    std::size_t allocation = 0;
    std::size_t runs = 0;
    for (auto failed = failure::of_act; failed != failure::none; ++runs) {
        do
            ++allocation;
        while (!is_tried(allocation, failed, how));
        auto const s = make(servers);
        failed = play(*s, allocation, how);
        s->mend();
        std::string const where = at(allocation, *s);
        BOOST_TEST(s->run_until([&] { return s->done(); }), "never completed: " << where);
        BOOST_TEST(!s->two_at_once, "two leases at once: " << where);
        BOOST_TEST((s->thrown == 0 || s->may_throw()), "thrown out of run(): " << where);
        if (failed == failure::none)
            BOOST_TEST((s->succeeded() && s->thrown == 0), "nothing failed, and it did not succeed");
        s->retire();
        check_recovery(*s, where);
        check_end(*s, where);
        servers.forget_everything();
    }
    BOOST_TEST_MESSAGE("up to allocation " << allocation << ", " << runs << " runs");
}

} // namespace

void sweep(make_scenario make)
{
    for (way const how :
         {way{3, 1, false, true, 0}, {3, 1, true, false, 1}, {3, 4, false, false, 2}, {3, 4, true, false, 3}})
        BOOST_TEST_CONTEXT(how.in_a_row << " in a row" << (how.inside ? ", inside a handler" : ""))
    sweep(make, how);
    BOOST_TEST_CONTEXT("one node")
    sweep(make, {1, 1, true, false, 4});
}

void sweep_once(make_scenario make)
{
    for (std::size_t const nodes : {3U, 1U})
        BOOST_TEST_CONTEXT(nodes << " nodes")
    sweep(make, {nodes, 1, true, nodes == 3, nodes});
}

} // namespace redlock::test
