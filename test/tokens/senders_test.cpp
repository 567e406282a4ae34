// SPDX-License-Identifier: BSL-1.0
#include "tokens/waiting.hpp"

#include <exception>
#include <exec/asio/use_sender.hpp>
#include <optional>
#include <stdexec/execution.hpp>
#include <utility>

using namespace redlock;
using namespace redlock::test;

namespace {

struct end_of_sender {
    std::optional<lease> granted;
    std::exception_ptr failure;
    bool stopped = false;
    stdexec::inplace_stop_source stop;
};

struct receiver {
    using receiver_concept = stdexec::receiver_t;
    struct environment {
        stdexec::inplace_stop_token token;
        [[nodiscard]] auto query(stdexec::get_stop_token_t) const noexcept { return token; }
    };

    void set_value(lease got) noexcept { end->granted = std::move(got); }
    void set_error(std::exception_ptr why) noexcept { end->failure = std::move(why); }
    void set_stopped() noexcept { end->stopped = true; }
    [[nodiscard]] environment get_env() const noexcept { return {end->stop.get_token()}; }

    end_of_sender* end;
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(senders, waiting)

BOOST_AUTO_TEST_CASE(acquisition_ends_with_a_value_an_error_or_a_stop)
{
    mutex const other = nodes.lock("other");
    end_of_sender granted;
    auto first = stdexec::connect(other.acquire(exec::asio::use_sender), receiver{&granted});
    stdexec::start(first);
    nodes.run_until([&] { return granted.granted.has_value(); });
    BOOST_TEST(granted.granted->valid());

    end_of_sender refused;
    auto second = stdexec::connect(other.try_acquire(exec::asio::use_sender), receiver{&refused});
    stdexec::start(second);
    nodes.run_until([&] { return refused.failure != nullptr; });
    BOOST_TEST(code_of(refused.failure) == errc::contended);

    end_of_sender waits;
    auto third = stdexec::connect(lock.acquire(exec::asio::use_sender), receiver{&waits});
    stdexec::start(third);
    until_waiting();
    waits.stop.request_stop();
    nodes.run_until([&] { return waits.stopped; });
    granted.granted.reset();
    must_have_left_nothing();
}

BOOST_AUTO_TEST_SUITE_END()
