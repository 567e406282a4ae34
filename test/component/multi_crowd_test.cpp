// SPDX-License-Identifier: BSL-1.0
// Many clients with sets that overlap (docs/protocol.md, rules M6 to M8): every wait ends, and no two have one name.
#include "component/multi_fixture.hpp"
#include "kit/dice.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace redlock::test {

namespace {

constexpr unsigned name_count = 16;

struct crowd : multi_fixture {
    crowd() { options.ttl = 2s; }

    /// Takes one set after the other, each for a few milliseconds.
    struct visitor {
        contender* by = nullptr;
        std::size_t most_names = 1;
        names wanted{};
        lease held{};
        bool waits = false;
        duration came{};
        duration leaves{};
        unsigned served = 0;
        duration longest{};
    };

    names some_names(std::size_t most)
    {
        names chosen;
        for (std::size_t i = 0, n = 1 + dice_.below(most); i != n; ++i)
            chosen.push_back(std::to_string(dice_.below(name_count)));
        return chosen;
    }
    void come(visitor& one)
    {
        one.wanted = some_names(one.most_names);
        std::ranges::sort(one.wanted);
        one.wanted.erase(std::ranges::unique(one.wanted).begin(), one.wanted.end());
        one.waits = true;
        one.came = time.now();
        multi_mutex(*one.by->locks, one.wanted, options).acquire([&](error_code ec, lease got) {
            one.waits = false;
            if (ec)
                return;
            one.held = std::move(got);
            one.leaves = time.now() + dice_.between(1, 5) * 1ms;
            one.longest = std::max(one.longest, time.now() - one.came);
            ++one.served;
        });
    }
    void check_that_no_name_has_two()
    {
        std::map<std::string, int> owners;
        for (auto const& one : visitors)
            if (one->held.valid())
                for (std::string const& name : one->wanted)
                    ++owners[name];
        for (auto const& [name, count] : owners)
            BOOST_TEST(count == 1, name);
    }
    void run(duration length)
    {
        auto const end = time.now() + length;
        while (time.now() < end) {
            pass(1ms);
            check_that_no_name_has_two();
            for (auto const& one : visitors) {
                if (!one->held.empty() && one->leaves <= time.now())
                    one->held = {};
                if (one->held.empty() && !one->waits)
                    come(*one);
            }
        }
    }
    visitor& visit(contender& by, std::size_t most_names)
    {
        visitors.push_back(std::make_unique<visitor>(visitor{&by, most_names}));
        return *visitors.back();
    }

    test::dice dice_{7};
    std::vector<std::unique_ptr<visitor>> visitors;
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(multi_crowd, crowd)

// rules Q21 and M7
BOOST_AUTO_TEST_CASE(random_sets_of_many_clients_never_wait_for_each_other)
{
    for (int i = 0; i != 32; ++i)
        visit(add(), 4);
    run(3s);
    for (auto const& one : visitors)
        BOOST_TEST(one->served > 2U);
}

// rule M8
BOOST_AUTO_TEST_CASE(wide_set_is_served_among_narrow_ones)
{
    for (unsigned i = 0; i != name_count; ++i)
        visit(add(), 1);
    visitor& wide = visit(add(), 64); // nearly all of them
    run(2s);
    BOOST_TEST(wide.served > 2U);
    BOOST_TEST((wide.longest < 1s));
}

/// The names of a dead client are free after L + D.
// rule M8
BOOST_AUTO_TEST_CASE(crashes_at_any_moment_leave_nobody_waiting)
{
    for (int i = 0; i != 16; ++i)
        visit(add(), 4);
    std::vector<std::unique_ptr<visitor>> gone;
    for (std::size_t which = 0; which != 8; ++which) {
        run(dice_.between(100, 300) * 1ms);
        gone.push_back(std::move(visitors.front()));
        visitors.erase(visitors.begin());
        kill(which);
    }
    for (auto const& one : visitors)
        one->served = 0;
    run(4s);
    for (auto const& one : visitors)
        BOOST_TEST(one->served > 2U);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace redlock::test
