// SPDX-License-Identifier: BSL-1.0
#include "connected_scenario.hpp"

#include <boost/system/errc.hpp>

#include <algorithm>
#include <utility>

using namespace redlock;
using namespace redlock::test;

namespace {

/// The same servers, in another order: each keeps what is known of it.
struct changing : connected_scenario {
    using connected_scenario::connected_scenario;
    void prepare() override
    {
        connected_scenario::prepare();
        mine.emplace(lock());
        other_list = servers.urls();
        std::ranges::reverse(other_list);
    }
    void act() override { change(changed); }
    void change(begun_operation& with)
    {
        with.begin([&](auto handler) { locks->change_nodes(other_list, std::move(handler)); });
    }
    bool done() const override { return changed.settled(); }
    bool succeeded() const override { return !changed.ec; }
    void retire() override
    {
        BOOST_TEST(changed.completions == (changed.refused ? 0U : 1U));
        bool const known =
            !changed.ec || changed.ec == make_error_code(boost::system::errc::not_enough_memory);
        BOOST_TEST(known, changed.ec.message());
        begun_operation again; // independent of the first one's result
        change(again);
        BOOST_TEST(run_until([&] { return again.settled(); }), "no further change is completed");
        BOOST_TEST(!again.ec, again.ec.message());
        begun_operation got;
        got.begin([&](auto handler) { mine->acquire(std::move(handler)); });
        BOOST_TEST(run_until([&] { return got.settled(); }));
        BOOST_TEST(!got.ec, "a lock from before: " << got.ec.message());
    }
    std::optional<mutex> mine;
    std::vector<std::string> other_list;
    begun_operation changed;
};

/// One operation holds the lock, one waits for it, and one waits for the lease's end.
struct changing_under_way : changing {
    using changing::changing;
    void prepare() override
    {
        changing::prepare();
        take(*locks, held);
        watch(held);
        watch(waiting.granted);
        lost.begin([&](auto handler) { held.ended(std::move(handler)); });
        waiting.begin([&](auto handler) { mine->acquire(std::move(handler)); });
        run_a_little();
    }
    void act() override
    {
        changing::act();
        released.begin([&](auto handler) { held.release(std::move(handler)); });
    }
    void mend() override
    {
        if (released.refused || released.ec)
            held = {};
        BOOST_TEST(run_until([&] { return waiting.settled(); }), "who waited never got it");
        waiting.granted = {};
    }
    bool done() const override
    {
        return waiting.settled() && lost.settled() && released.settled() &&
               (changed.settled() || waiting.granted.valid());
    }
    bool succeeded() const override { return !waiting.ec && !released.ec; }
    void retire() override
    {
        BOOST_TEST(lost.completions == 1U);
        BOOST_TEST(waiting.completions == 1U);
        BOOST_TEST(released.completions == (released.refused ? 0U : 1U));
        held = {};
        waiting.granted = {};
        BOOST_TEST(run_until([&] { return changed.settled(); }), "the change is never completed");
        changing::retire();
    }
    lease held;
    begun_operation lost;
    begun_operation waiting;
    begun_operation released;
};

/// The first use of a lock that was made for the former nodes.
struct changed_before : changing {
    using changing::changing;
    void prepare() override
    {
        changing::prepare();
        change(changed);
        run_until([&] { return changed.settled(); });
    }
    void act() override
    {
        got.begin([&](auto handler) { mine->acquire(std::move(handler)); });
    }
    bool done() const override { return got.settled(); }
    bool succeeded() const override { return !got.ec && got.granted.valid(); }
    void retire() override
    {
        BOOST_TEST(got.completions == (got.refused ? 0U : 1U));
        got.granted = {};
        changing::retire();
    }
    begun_operation got;
};

/// The client has two lists of nodes to end.
struct shut_down_between : changing {
    using changing::changing;
    void prepare() override
    {
        changing::prepare();
        take(*locks, held);
        change(changed);
        run_a_little();
    }
    void act() override
    {
        ended.begin([&](auto handler) { locks->shutdown(std::move(handler)); });
    }
    void mend() override
    {
        if (!ended.begun || ended.ec)
            locks.reset();
    }
    bool done() const override { return ended.settled(); }
    bool succeeded() const override { return !ended.ec; }
    void retire() override
    {
        BOOST_TEST(ended.completions == (ended.refused ? 0U : 1U));
        BOOST_TEST(run_until([&] { return changed.settled(); }), "the change is never completed");
        BOOST_TEST(changed.completions == 1U);
        BOOST_TEST(!held.valid());
        held = {};
        locks.reset();
    }
    lease held;
    begun_operation ended;
};

} // namespace

BOOST_AUTO_TEST_SUITE(without_memory)

BOOST_AUTO_TEST_CASE(change_of_nodes_without_memory_fails_cleanly)
{
    sweep<changing>();
}

BOOST_AUTO_TEST_CASE(change_of_nodes_in_use_without_memory_fails_cleanly)
{
    sweep<changing_under_way>();
}

BOOST_AUTO_TEST_CASE(lock_from_before_a_change_without_memory_fails_cleanly)
{
    sweep<changed_before>();
}

BOOST_AUTO_TEST_CASE(shutdown_between_two_lists_without_memory_fails_cleanly)
{
    sweep<shut_down_between>();
}

BOOST_AUTO_TEST_SUITE_END()
