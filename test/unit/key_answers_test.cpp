// SPDX-License-Identifier: BSL-1.0
#include "core/key_answers.hpp"

#include <boost/test/unit_test.hpp>

#include <optional>
#include <string_view>
#include <vector>

using namespace redlock;
using namespace redlock::core;
using namespace std::chrono_literals;

namespace {

/// A letter for each node: an owner, '-' no key, '=' readers, '!' no lock, '?' no answer.
std::vector<key_answer> nodes(std::string_view said)
{
    std::vector<key_answer> all;
    for (char const c : said) {
        key_answer one;
        if (c == '-')
            one = absent_key;
        else if (c == '!')
            one.what = key_answer::kind::no_lock;
        else if (c == '=')
            one.what = key_answer::kind::several;
        else if (c != '?')
            one = {
                .what = key_answer::kind::owned, .owner = static_cast<unsigned char>(c), .lives_at_most = {}};
        all.push_back(one);
    }
    return all;
}

key_answer living(duration at_least, std::optional<duration> at_most)
{
    return {key_answer::kind::owned, 1, at_least, at_most};
}

constexpr auto forever = duration::max();

} // namespace

BOOST_AUTO_TEST_SUITE(key_answers)

BOOST_AUTO_TEST_CASE(lock_status_is_decided_by_majority_of_all_nodes)
{
    struct row {
        std::string_view said;
        lock_status status;
        unsigned votes;
        unsigned free;
    };
    using enum lock_status;
    for (auto const& [said, status, votes, free] : std::vector<row>{{"a", held, 1, 0},
                                                                    {"-", lock_status::free, 0, 1},
                                                                    {"?", unknown, 0, 0},
                                                                    {"!", blocked, 0, 0},
                                                                    {"=", held, 1, 0},
                                                                    {"==-", held, 2, 1},
                                                                    {"==a", held, 2, 0},
                                                                    {"=a-", blocked, 1, 1},
                                                                    {"=!?", unknown, 1, 0},
                                                                    {"aaa", held, 3, 0},
                                                                    {"aa-", held, 2, 1},
                                                                    {"aa?", held, 2, 0},
                                                                    {"aa!", held, 2, 0},
                                                                    {"aab", held, 2, 0},
                                                                    {"a--", lock_status::free, 1, 2},
                                                                    {"!--", lock_status::free, 0, 2},
                                                                    {"--?", lock_status::free, 0, 2},
                                                                    {"a-?", unknown, 1, 1},
                                                                    {"a??", unknown, 1, 0},
                                                                    {"-??", unknown, 0, 1},
                                                                    {"ab?", unknown, 1, 0},
                                                                    {"abc", blocked, 1, 0},
                                                                    {"ab-", blocked, 1, 1},
                                                                    {"a!-", blocked, 1, 1},
                                                                    {"!!?", blocked, 0, 0},
                                                                    {"a!?", unknown, 1, 0},
                                                                    {"-!?", unknown, 0, 1},
                                                                    {"aabb", blocked, 2, 0},
                                                                    {"aab?", unknown, 2, 0},
                                                                    {"aa--", blocked, 2, 2},
                                                                    {"aabb-", blocked, 2, 1},
                                                                    {"aabb?", unknown, 2, 0},
                                                                    {"ab---", lock_status::free, 1, 3}})
        BOOST_TEST_CONTEXT(said)
        {
            auto const told = judge(nodes(said));
            BOOST_TEST((told.status == status));
            BOOST_TEST(told.votes == votes);
            BOOST_TEST(told.free == free);
        }
}

BOOST_AUTO_TEST_CASE(witness_is_a_node_with_owner_of_most_votes)
{
    BOOST_TEST(judge(nodes("abb")).witness == 1U);
    BOOST_TEST(judge(nodes("-?a")).witness == 2U);
}

BOOST_AUTO_TEST_CASE(lock_is_taken_until_keys_of_majority_expire)
{
    std::vector const all{living(5s, 6s), living(1s, 2s), living(8s, 9s)};
    BOOST_TEST((judge(all).taken_at_least == 5s));
    BOOST_TEST((judge(all).taken_at_most == 6s));
    std::vector const one_is_free{living(5s, 6s), absent_key, living(8s, 9s)};
    BOOST_TEST((judge(one_is_free).taken_at_least == 5s));
    BOOST_TEST((judge(nodes("-a-")).taken_at_most == 0s));
}

BOOST_AUTO_TEST_CASE(silent_node_widens_bounds_of_expiry)
{
    std::vector const silent{living(5s, 6s), key_answer{}, living(8s, 9s)};
    BOOST_TEST((judge(silent).taken_at_least == 5s));
    BOOST_TEST((judge(silent).taken_at_most == 9s));
    std::vector const mostly_silent{living(5s, 6s), key_answer{}, key_answer{}};
    BOOST_TEST((judge(mostly_silent).taken_at_least == 0s));
    BOOST_TEST(!judge(mostly_silent).taken_at_most);
}

BOOST_AUTO_TEST_CASE(keys_without_expiry_keep_lock_taken_forever)
{
    std::vector const all{living(forever, {}), living(forever, {}), living(1s, 2s)};
    BOOST_TEST((judge(all).taken_at_least == forever));
    BOOST_TEST(!judge(all).taken_at_most);
}

BOOST_AUTO_TEST_SUITE_END()
