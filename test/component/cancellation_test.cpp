// SPDX-License-Identifier: BSL-1.0
#include "component/lone_client.hpp"

#include <boost/asio/post.hpp>
#include <boost/test/unit_test.hpp>

using namespace redlock;
using namespace redlock::test;

namespace {

/// Longer than any operation that ends by itself; contended ones go round in attempts and pauses.
constexpr unsigned max_steps = 48;

void forget_others(std::string const& name)
{
    if (name.find("contended") != std::string::npos)
        real_servers::get().command({"DEL", "resource"});
}

/// The client goes on as if nothing had been: the reply that arrives now belongs to this vote.
void check_usable(lone_client& s)
{
    s.acquire("after");
    BOOST_TEST(s.held.valid());
    BOOST_TEST(real_servers::get().holders("after", s.held.nonce()) >= 2U);
    BOOST_TEST(s.release() == error_code());
}

/// False when the operation was over before it could be cancelled.
bool cancel_after(operation const& op, unsigned steps, asio::cancellation_type type, bool inside)
{
    auto& servers = real_servers::get();
    lone_client s(servers.settings());
    op.prepare(s);
    op.start(s);
    bool const more = s.run_steps(steps);
    bool const in_time = !s.result->done();
    if (inside)
        asio::post(s.context, [&] { s.cancel.emit(type); });
    else
        s.cancel.emit(type);
    run_until(s.context, [&] { return s.result->done(); });

    BOOST_TEST(s.result->completions == 1U);
    bool const aborted = s.result->ec == asio::error::operation_aborted;
    BOOST_TEST((aborted || !s.result->ec), s.result->ec.message());
    if (aborted)
        BOOST_TEST(s.result->granted.empty());

    forget_others(op.name);
    s.result->granted = {};
    s.held = {};
    run_dry(s.context);
    BOOST_TEST(s.result->completions == 1U);
    BOOST_TEST(servers.empty());
    if (!op.name.starts_with("shutdown"))
        check_usable(s);
    run_dry(s.context);
    BOOST_TEST(servers.empty());
    return in_time && more;
}

/// All types but `none` are one to the library: one of them is tried after each number of steps, the others now and then.
constexpr unsigned now_and_then = 3;

void sweep(asio::cancellation_type type, bool inside, unsigned stride = 1)
{
    real_servers::get().clear();
    for (operation const& op : all_operations())
        for (unsigned steps = 0; steps < max_steps; steps += stride)
            BOOST_TEST_CONTEXT(op.name << ", cancelled after " << steps << " steps")
            {
                if (!cancel_after(op, steps, type, inside))
                    break;
            }
}

} // namespace

BOOST_AUTO_TEST_SUITE(cancellation)

// rule A6
BOOST_AUTO_TEST_CASE(terminal_cancellation_at_every_step_completes_operation_once)
{
    sweep(asio::cancellation_type::terminal, false);
}

BOOST_AUTO_TEST_CASE(partial_cancellation_at_every_step_completes_operation_once)
{
    sweep(asio::cancellation_type::partial, false, now_and_then);
}

BOOST_AUTO_TEST_CASE(total_cancellation_at_every_step_completes_operation_once)
{
    sweep(asio::cancellation_type::total, false, now_and_then);
}

BOOST_AUTO_TEST_CASE(cancellation_inside_a_handler_completes_operation_once)
{
    sweep(asio::cancellation_type::terminal, true);
}

BOOST_AUTO_TEST_CASE(cancellation_of_type_none_is_ignored)
{
    lone_client s(real_servers::get().settings());
    s.lock().acquire(s.handler());
    s.run_steps(3);
    s.cancel.emit(asio::cancellation_type::none);
    run_until(s.context, [&] { return s.result->done(); });
    BOOST_TEST(s.result->ec == error_code());
    BOOST_TEST(s.result->granted.valid());
    s.result->granted = {};
    run_dry(s.context);
}

/// The operation's place in the client is used again by the next one, which a late signal must not meet.
BOOST_AUTO_TEST_CASE(late_cancellation_does_not_affect_next_operation)
{
    lone_client s(real_servers::get().settings());
    s.lock("first").acquire(s.handler());
    run_until(s.context, [&] { return s.result->done(); });
    BOOST_TEST(s.result->ec == error_code());

    auto const second = std::make_shared<outcome>();
    s.lock("second").acquire(keeps_outcome{second});
    s.run_steps(1);
    s.cancel.emit(asio::cancellation_type::terminal);
    run_until(s.context, [&] { return second->done(); });
    BOOST_TEST(second->ec == error_code());
    BOOST_TEST(second->granted.valid());
    second->granted = {};
    s.result->granted = {};
    run_dry(s.context);
    BOOST_TEST(real_servers::get().empty());
}

/// Two operations that wait for the same end are cancelled one by one.
BOOST_AUTO_TEST_CASE(cancellation_of_one_wait_for_the_end_leaves_the_other)
{
    lone_client s(real_servers::get().settings());
    s.acquire("held");
    s.held.ended(s.handler());
    auto const other = std::make_shared<outcome>();
    s.held.ended(keeps_outcome{other});
    s.run_steps(4);
    s.cancel.emit(asio::cancellation_type::total);
    run_until(s.context, [&] { return s.result->done(); });
    BOOST_TEST(s.result->ec == asio::error::operation_aborted);
    BOOST_TEST(!other->done());
    BOOST_TEST(s.held.valid());
    BOOST_TEST(s.release() == error_code());
    run_dry(s.context);
    BOOST_TEST((other->end == lease_end::released));
    BOOST_TEST(other->completions == 1U);
}

BOOST_AUTO_TEST_SUITE_END()
