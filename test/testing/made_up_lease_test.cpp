// SPDX-License-Identifier: BSL-1.0
#include <redlock/testing/made_up_lease.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

using namespace redlock;
using redlock::testing::made_up_lease;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(made_up_leases)

BOOST_AUTO_TEST_CASE(made_up_lease_is_valid_until_lost)
{
    boost::asio::io_context context;
    made_up_lease made(context);
    lease& held = made.get();
    BOOST_TEST(held.valid());
    BOOST_TEST(held.fencing_token() == 0U);
    BOOST_TEST((held.remaining() > 9s));
    std::optional<lease_end> told;
    held.ended([&](boost::system::error_code, lease_end end) { told = end; });
    made.suspect();
    BOOST_TEST(!held.valid());
    BOOST_TEST((held.state() == lease_state::suspect));
    BOOST_TEST(!told.has_value());
    made.confirm();
    BOOST_TEST(held.valid());
    made.lose();
    BOOST_TEST(!held.valid());
    BOOST_TEST_REQUIRE(told.has_value());
    BOOST_TEST((*told == lease_end::lost));
    BOOST_TEST((held.cause() == loss_cause::expired));
}

BOOST_AUTO_TEST_CASE(made_up_lease_is_suspect_until_confirmed)
{
    boost::asio::io_context context;
    for (std::uint64_t const token : {0U, 4096U}) {
        made_up_lease made(context, token);
        for (int i = 0; i != 5; ++i)
            made.suspect();
        BOOST_TEST((made.get().state() == lease_state::suspect));
        made.confirm();
        BOOST_TEST(made.get().valid());
    }
}

BOOST_AUTO_TEST_CASE(made_up_lease_is_lost_for_chosen_cause)
{
    boost::asio::io_context context;
    for (std::uint64_t const token : {0U, 4096U})
        for (bool const suspect : {false, true})
            for (loss_cause const why : {loss_cause::expired, loss_cause::refused}) {
                made_up_lease made(context, token);
                if (suspect)
                    made.suspect();
                made.lose(why);
                BOOST_TEST((made.get().cause() == why));
                made.lose(why); // it is
            }
    made_up_lease made(context);
    BOOST_CHECK_EXCEPTION(made.lose(loss_cause::max_hold), std::invalid_argument, [](auto const& e) {
        return std::string(e.what()).find("max_hold") != std::string::npos;
    });
    BOOST_TEST(made.get().valid());
}

BOOST_AUTO_TEST_CASE(made_up_lease_that_ended_refuses_further_calls)
{
    boost::asio::io_context context;
    auto refuses = [](made_up_lease& made, std::string const& why) {
        auto const said = [&why](std::logic_error const& e) {
            return std::string(e.what()).find(why) != std::string::npos;
        };
        BOOST_CHECK_EXCEPTION(made.suspect(), std::logic_error, said);
        BOOST_CHECK_EXCEPTION(made.confirm(), std::logic_error, said);
        if (why != "lost")
            BOOST_CHECK_EXCEPTION(made.lose(), std::logic_error, said);
    };
    made_up_lease moved(context);
    lease const taken = std::move(moved.get());
    refuses(moved, "moved");
    made_up_lease released(context);
    released.get().release([](boost::system::error_code) {});
    refuses(released, "released");
    made_up_lease lost(context);
    lost.lose();
    refuses(lost, "lost");
}

BOOST_AUTO_TEST_CASE(made_up_lease_has_chosen_token)
{
    boost::asio::io_context context;
    made_up_lease made(context, (7U << 10U) + 3, "account");
    BOOST_TEST(made.get().valid());
    BOOST_TEST(made.get().fencing_token() == (7U << 10U) + 3);
    made.suspect();
    made.lose();
    BOOST_CHECK_EXCEPTION(made_up_lease(context, 7), lock_error, [](lock_error const& e) {
        return std::string(e.what()).find("1024") != std::string::npos;
    });
}

BOOST_AUTO_TEST_SUITE_END()
