// SPDX-License-Identifier: BSL-1.0
#include "core/admission.hpp"
#include "kit/dice.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

using namespace redlock::core;
using std::chrono::seconds;

namespace {

constexpr int key_life = 10;
constexpr int end = 200;

instant at(int second)
{
    return instant{} + seconds{1000 + second};
}

/// Two servers that take themselves for the master of one group from some time on, and the other members, which follow
/// the one or the other, or nobody, as it comes.
class torn_group {
public:
    explicit torn_group(std::uint64_t seed) : dice_(seed)
    {
        members_ = draw(2, 6);
        silence_ = draw(1, 4);
        needed_ = draw(1, members_ - 1);
        promoted_ = draw(0, 60);
        follow(true); // until it is promoted
        for (int i = 2; i < members_; ++i)
            follow(false);
    }

    [[nodiscard]] int outlasts() const { return silence_ + 2; }
    [[nodiscard]] int promoted() const { return promoted_; }
    [[nodiscard]] bool is_master(int server, int now) const { return server == 0 || now >= promoted_; }
    /// A replica that has left is counted for a while.
    [[nodiscard]] bool writes(int server, int now) const
    {
        return needed_ <= std::ranges::count_if(stays_, [&](stay const& s) {
                   return s.master == server && s.from <= now && now < s.until + s.counted;
               });
    }
    /// The server's own answer, computed when it is asked.
    [[nodiscard]] bool says_it_can_write(int server, int now) const
    {
        return writes(server, now) && needed_ <= std::ranges::count_if(stays_, [&](stay const& s) {
                                          return s.master == server && s.from <= now &&
                                                 now <= s.until + silence_;
                                      });
    }
    /// The server may have forgotten that it was promoted.
    [[nodiscard]] node_facts facts(int server, int now)
    {
        node_facts told{
            .run_id = server == 0 ? "former" : "new", .replid = "data", .uptime = std::chrono::hours{1}};
        told.promoted = server == 1 && draw(0, 1) == 1;
        told.group = {.members = static_cast<unsigned>(members_),
                      .needed = static_cast<unsigned>(needed_),
                      .stops = true,
                      .outlasts = seconds{outlasts()},
                      .attachments = attachments(server, now)};
        return told;
    }
    [[nodiscard]] int draw(int from, int to) { return static_cast<int>(dice_.between(from, to)); }

private:
    struct stay {
        int master;
        int from;
        int until;
        int counted;
    };

    /// Most leave the former master for the new one; some go back.
    void follow(bool is_promoted)
    {
        int const first = is_promoted ? draw(-20, promoted_) : draw(-20, 120);
        stays_.push_back({0, -100, first, draw(0, outlasts())});
        int master = 1;
        for (int now = first; !is_promoted && now < end;) {
            int const from = draw(std::max(now, promoted_), draw(std::max(now, promoted_), end));
            int const until = draw(from, end);
            stays_.push_back({master, from, until, draw(0, outlasts())});
            now = until + 1;
            master = draw(0, 2) == 0 ? 0 : 1;
        }
    }
    [[nodiscard]] std::uint64_t attachments(int server, int now) const
    {
        return static_cast<std::uint64_t>(std::ranges::count_if(
            stays_, [&](stay const& s) { return s.master == server && s.from <= now; }));
    }

    redlock::test::dice dice_;
    int members_;
    int silence_;
    int needed_;
    int promoted_;
    std::vector<stay> stays_;
};

/// A client that asks one of them.
class voter {
public:
    /// \param knows it has known the former master for a long time
    voter(torn_group& group, int server, bool knows) : group_(group), server_(server)
    {
        if (knows)
            known_ = identify(group_.facts(0, -50), {}, {}, {.assume_fresh = true}, at(-50));
    }

    /// Does it get a vote now?
    [[nodiscard]] bool votes(int now)
    {
        if (group_.draw(0, 3) == 0)
            connected_ = false;
        if (!connected_)
            connect(now);
        if (!connected_ || quarantined_until(known_.certain_since, seconds{key_life}, at(now)))
            return false;
        connected_ = group_.writes(server_, now);
        return connected_;
    }
    /// A standing connection is checked at every tick.
    void check(int now)
    {
        auto const facts = group_.facts(server_, now);
        connected_ = connected_ && group_.says_it_can_write(server_, now) &&
                     facts.group->attachments == known_.attachments;
    }

private:
    void connect(int now)
    {
        if (!group_.is_master(server_, now) || !group_.says_it_can_write(server_, now))
            return;
        node_facts const facts = group_.facts(server_, now);
        known_ = identify(facts, known_, at(now - 1), {}, at(now));
        connected_ = !refuse(facts, {});
    }

    torn_group& group_;
    int const server_;
    node_history known_;
    bool connected_ = false;
};

} // namespace

BOOST_AUTO_TEST_SUITE(replica_groups)

// rule N8
BOOST_AUTO_TEST_CASE(two_masters_never_give_one_vote_twice)
{
    constexpr unsigned schedules = 1'000;
    std::array<unsigned, 2> voted{};
    for (unsigned seed = 1; seed <= schedules; ++seed) {
        torn_group group(seed);
        std::array<voter, 4> voters{
            voter{group, 0, true}, {group, 0, false}, {group, 1, true}, {group, 1, false}};
        std::array<int, 2> last{-end, -end};
        for (int now = -30; now != end; ++now) {
            for (int i = 0; i != 4; ++i) {
                int const server = i / 2;
                auto& client = voters[static_cast<std::size_t>(i)];
                client.check(now);
                if (now < 0 && i != 0)
                    continue;
                if (!client.votes(now))
                    continue;
                ++voted[static_cast<std::size_t>(server)];
                last[static_cast<std::size_t>(server)] = now;
                if (now < last[static_cast<std::size_t>(1 - server)] + key_life)
                    BOOST_FAIL("seed " << seed << ", server " << server << " at " << now);
            }
        }
    }
    BOOST_TEST(voted[0] > schedules);
    BOOST_TEST(voted[1] > schedules);
}

BOOST_AUTO_TEST_SUITE_END()
