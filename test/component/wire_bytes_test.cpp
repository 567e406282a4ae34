// SPDX-License-Identifier: BSL-1.0
// Every byte that a client says in some fixed situations, against what an earlier state of the library has said there.
#include "component/simulated_program.hpp"
#include "component/wire_scenarios.hpp"
#include "component/wire_transcript.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

namespace redlock::test::wire {

namespace {

/// The simulated world, in which the first node answers first, and the last one last.
class theatre {
public:
    theatre()
    {
        in_.settings.health.response_timeout = 20s;
        in_.settings.health.check_interval.reset();
        for (unsigned n = 0; n != node_count; ++n) {
            in_.net.between(0, n).latency = (n + 1) * 2ms;
            in_.net.at(n).overhear = [this, n](world::server::connection_id id, std::string_view bytes) {
                said_.wrote(n, id, bytes);
            };
        }
    }

    [[nodiscard]] config settings() const { return in_.settings; }
    [[nodiscard]] client make_client(config const& with) { return in_.program.make_client(with); }
    wire_transcript& said() { return said_; }

    void pass(std::chrono::milliseconds length) { in_.pass(length); }
    template <class Condition>
    void until(Condition met)
    {
        auto const limit = in_.time.now() + 1h;
        for (;;) {
            in_.program.run();
            if (met())
                return;
            if (!in_.time.step(limit))
                throw std::runtime_error("it does not happen; what was said:\n" + said_.text());
        }
    }

    world::server::traits& is(std::size_t n) { return in_.net.at(n).redis.is; }
    void tell(std::size_t n, std::vector<std::string> const& words)
    {
        (void)in_.net.at(n).redis.execute(words, in_.net.at(n).wall_us(in_.time.now()));
    }
    void forget_scripts(std::size_t n) { in_.net.at(n).redis.flush_scripts(); }
    void hold_answers(std::size_t n, std::chrono::milliseconds time)
    {
        in_.net.between(0, n).cut_back_until = in_.time.now() + time;
    }
    void kill(std::size_t n)
    {
        kept_ = in_.net.at(n).redis.keys().all();
        in_.net.kill(n);
    }
    void start(std::size_t n) { in_.net.start(n, kept_); }
    void hang_up(std::size_t n) { in_.net.close_connections(n, false); }

private:
    wire_transcript said_{node_count};
    world::network::data kept_;
    simulated_program in_;
};

void inspection(theatre& in)
{
    scene s(in);
    lease const plain = s.try_to_take(s.plain());
    s.next("inspect");
    bool seen = false;
    s.plain().inspect([&](error_code, redlock::inspection const&) { seen = true; });
    in.until([&] { return seen; });
    s.next("inspect, as a fenced one");
    s.fenced().inspect([&](error_code, redlock::inspection const&) { seen = false; });
    in.until([&] { return !seen; });
    s.end();
}

/// A client that deletes a node's keys deletes its marker, too.
void fenced_stranger(theatre& in)
{
    scene s(in, quick_to_reconnect(in));
    lease held = s.try_to_take(s.fenced());
    in.tell(2, {"FLUSHALL"});
    s.next("node 3 was flushed");
    s.extend(held);
    s.release(std::move(held));
    s.end();
}

/// A node is back, and old enough for this lock, though not for all of its client's: the vote that waited for the
/// connection is said when that is known.
template <class Scene, class Lock>
void vote_at_young_node(Scene& s, Lock const& lock)
{
    mutex const longer(s.locks(), "another", quiet);
    s.release(s.try_to_take(lock));
    s.in().kill(2);
    s.next("node 3 dies, and comes back");
    s.in().start(2);
    s.in().pass(5s);
    s.set_on({1}, another);
    s.release(s.try_to_take(lock, "try_acquire, taken at node 2"));
    s.end();
}

inline constexpr lock_options short_lived{.ttl = 1s, .renew = false, .node_timeout = 500ms};

void plain_vote_at_young_node(theatre& in)
{
    scene s(in);
    vote_at_young_node(s, s.plain(short_lived));
}

void fenced_vote_at_young_node(theatre& in)
{
    scene s(in);
    vote_at_young_node(s, s.fenced(short_lived));
}

std::vector<scenario<theatre>> scenarios()
{
    auto all = all_scenarios<theatre>();
    all.push_back({"inspection", inspection});
    all.push_back({"fenced_stranger", fenced_stranger});
    all.push_back({"plain_vote_at_young_node", plain_vote_at_young_node});
    all.push_back({"fenced_vote_at_young_node", fenced_vote_at_young_node});
    return all;
}

std::filesystem::path file_of(std::string_view name)
{
    return std::filesystem::path(REDLOCK_WIRE_TRANSCRIPTS) / (std::string(name) + ".txt");
}

std::string read(std::filesystem::path const& file)
{
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

/// The first line that is another one.
std::string difference(std::string const& was, std::string const& is)
{
    std::istringstream before(was);
    std::istringstream now(is);
    std::string a;
    std::string b;
    for (unsigned line = 1;; ++line) {
        bool const more_before = static_cast<bool>(std::getline(before, a));
        bool const more_now = static_cast<bool>(std::getline(now, b));
        if (!more_before && !more_now)
            return {};
        if (!more_before)
            a = "(the end)";
        if (!more_now)
            b = "(the end)";
        if (a != b)
            return "line " + std::to_string(line) + "\n  transcript: " + a + "\n  said now:   " + b;
    }
}

bool renews()
{
    return std::getenv(
        "REDLOCK_RENEW_TRANSCRIPTS"); // NOLINT(concurrency-mt-unsafe): nobody changes the environment
}

} // namespace

BOOST_AUTO_TEST_SUITE(wire_bytes)

BOOST_DATA_TEST_CASE(scenario_on_wire_equals_transcript, boost::unit_test::data::make(scenarios()), one)
{
    theatre in;
    one.play(in);
    std::string const said = in.said().text();
    if (renews())
        std::ofstream(file_of(one.name), std::ios::binary) << said;
    std::string const written = read(file_of(one.name));
    BOOST_TEST(said == written, one.name << ".txt, " << difference(written, said));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace redlock::test::wire
