#include "component/scripted_cluster.hpp"
#include "lock/resource.hpp"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::test;

namespace {

/// One who waits, and who is woken before a node has said whose the key is there.
struct waits : scripted_cluster {
    outcome_ptr result = std::make_shared<outcome>();
    mutex wanted = lock();
    std::size_t const first = where_all_meet();
    scripted_node& meeting_point = *nodes[first];
    scripted_node& left = *nodes[(first + 1) % 3];
    std::size_t const late_one = (first + 2) % 3;
    scripted_node& slow = *nodes[late_one];

    [[nodiscard]] std::size_t where_all_meet() const
    {
        std::vector<std::string> names;
        for (auto const& row : locks->nodes())
            names.push_back(row.node);
        return lock::resources{""}.at("resource")->meeting_point(names);
    }
    static void is_taken(scripted_node& node)
    {
        node.expect("SET", reply(canned::nil))
            .expect("PTTL", reply(":100000\r\n"))
            .expect("GET", reply("$8\r\nstranger\r\n"));
    }
    /// An attempt that is lost everywhere. Afterwards `left` has no key any more.
    void lose_first_attempt(answer const& time_left_of_slow)
    {
        warm_up();
        is_taken(meeting_point);
        left.expect("SET", late(canned::nil))
            .expect("EVALSHA", reply(canned::zero))
            .expect("PTTL", reply(":-2\r\n"));
        slow.expect("SET", reply(canned::nil))
            .expect("PTTL", time_left_of_slow)
            .expect("GET", reply("$8\r\nstranger\r\n"));
        wanted.acquire(keeps_outcome{result});
        run_until(context, [&] { return meeting_point.done() && left.done() && slow.done(); });
        left.deliver_late();
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(looks, waits)

/// The others may have it meanwhile.
BOOST_AUTO_TEST_CASE(after_which_a_silent_node_holds_nobody_up)
{
    lose_first_attempt(reply(":100000\r\n"));
    meeting_point.expect("SET", late(canned::nil));
    meeting_point.say(">2\r\n$10\r\ninvalidate\r\n*1\r\n$8\r\nresource\r\n");
    run_until(context, [&] { return result->done(); });
    BOOST_TEST(result->ec == error_code());
    meeting_point.deliver_late();
}

/// The next attempt is lost where all meet, and its number is not that of the question: what was asked before is asked again.
BOOST_AUTO_TEST_CASE(that_an_attempt_has_overtaken_are_repeated)
{
    lose_first_attempt(late(":100000\r\n"));

    is_taken(meeting_point);
    slow.expect("PTTL", reply(":90000\r\n")).expect("GET", reply("$8\r\nstranger\r\n"));
    be_idle();
    meeting_point.say(">2\r\n$10\r\ninvalidate\r\n*1\r\n$8\r\nresource\r\n");
    run_until(context, [&] { return meeting_point.done(); });
    slow.deliver_late();
    run_until(context, [&] { return wanted.last_attempt().at(late_one).remaining.has_value(); });
    BOOST_TEST(!surprised());
    BOOST_TEST(!result->done());
}

BOOST_AUTO_TEST_SUITE_END()
