#include <redlock/testing/made_up_lease.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <optional>

using namespace redlock;
using redlock::testing::made_up_lease;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(made_up_leases)

BOOST_AUTO_TEST_CASE(are_valid_until_they_are_not)
{
    boost::asio::io_context context;
    made_up_lease made(context);
    lease& held = made.get();
    BOOST_TEST(held.valid());
    BOOST_TEST(held.fencing_token() == 0U);
    BOOST_TEST((held.remaining() > 9s));
    std::optional<boost::system::error_code> told;
    held.lost([&](boost::system::error_code ec) { told = ec; });
    made.suspect();
    BOOST_TEST(!held.valid());
    BOOST_TEST((held.state() == lease_state::suspect));
    BOOST_TEST(!told.has_value());
    made.confirm();
    BOOST_TEST(held.valid());
    made.lose();
    BOOST_TEST(!held.valid());
    BOOST_TEST_REQUIRE(told.has_value());
    BOOST_TEST((*told == errc::lease_lost));
    BOOST_TEST((held.cause() == loss_cause::refused));
}

BOOST_AUTO_TEST_CASE(have_the_token_that_the_test_wants)
{
    boost::asio::io_context context;
    made_up_lease made(context, (7U << 10U) + 3, "account");
    BOOST_TEST(made.get().valid());
    BOOST_TEST(made.get().fencing_token() == (7U << 10U) + 3);
    made.suspect();
    made.lose();
    BOOST_CHECK_THROW(made_up_lease(context, 7), lock_error);
}

BOOST_AUTO_TEST_SUITE_END()
