// SPDX-License-Identifier: BSL-1.0
#include "connected_scenario.hpp"

#include <utility>

using namespace redlock;
using namespace redlock::test;

namespace {

/// A handler that receives a leader's information.
template <class Handler>
struct hears {
    Handler over;

    void operator()(error_code ec, leader_info const&) const { over(ec); }
};
template <class Handler>
hears(Handler) -> hears<Handler>;

/// One client observes, asks, campaigns, and announces another value.
struct electing : connected_scenario {
    using connected_scenario::connected_scenario;
    ~electing() override { BOOST_TEST(observed.completions == (observed.refused ? 0U : 1U)); }

    void act() override
    {
        std::optional<election> seat;
        try {
            seat.emplace(*locks, "lock", some_lease());
        } catch (std::bad_alloc const&) {
            observed.refused = asked.refused = elected.refused = true;
            return;
        }
        observed.begin([&](auto handler) { seat->observe({}, hears{handler}); });
        asked.begin([&](auto handler) { seat->leader(hears{handler}); });
        elected.begin([&](auto handler) {
            seat->campaign("first", [this, handler](error_code ec, leadership won) {
                led = std::move(won);
                handler(ec);
                if (!ec)
                    proclaimed.begin([&](auto over) { led.proclaim("second", over); });
            });
        });
    }
    bool done() const override
    {
        bool const leads = elected.done() && !elected.ec;
        return elected.settled() && asked.settled() &&
               (!leads || (proclaimed.settled() && observed.settled())); // else it waits for the end
    }
    bool succeeded() const override { return !elected.ec && !proclaimed.ec && !observed.ec && led.valid(); }
    void retire() override
    {
        BOOST_TEST(elected.completions == (elected.refused ? 0U : 1U));
        BOOST_TEST(asked.completions == (asked.refused ? 0U : 1U));
        led = {};
    }
    leadership led;
    begun_operation observed;
    begun_operation asked;
    begun_operation elected;
    begun_operation proclaimed;
};

} // namespace

BOOST_AUTO_TEST_SUITE(without_memory)

BOOST_AUTO_TEST_CASE(election_without_memory_fails_cleanly)
{
    sweep<electing>();
}

BOOST_AUTO_TEST_SUITE_END()
