// SPDX-License-Identifier: BSL-1.0
#include "component/held_clock.hpp"
#include "component/lone_client.hpp"
#include "engine/log_line.hpp"
#include <redlock/log.hpp>

#include <boost/asio/error.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <ios>
#include <memory>
#include <ostream>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <streambuf>
#include <string>
#include <string_view>
#include <vector>

using namespace redlock;
using namespace redlock::test;

namespace {

struct still_clock {
    held_clock clock;
};

/// Lines as a logger of one's own would get them, each behind its level.
struct log_fixture : still_clock {
    std::vector<std::string> lines;

    std::shared_ptr<observer> log(log_level most)
    {
        return log_to(
            [this](log_level level, std::string_view line) {
                lines.push_back(std::string(to_string(level)) + ": " + std::string(line));
            },
            {.level = most});
    }
    std::shared_ptr<observer> const usual = log(log_level::info);
    std::shared_ptr<observer> const all = log(log_level::debug);

    [[nodiscard]] std::string last() const { return lines.empty() ? "" : lines.back(); }
    [[nodiscard]] std::size_t count(std::string const& beginning) const
    {
        return static_cast<std::size_t>(std::ranges::count_if(
            lines, [&](std::string const& line) { return line.starts_with(beginning); }));
    }
};

lease_event of_lease(lease_event::kind what, std::string_view name = "seat")
{
    return {what, name, 1,  3,
            6s,   0s,   4s, what == lease_event::kind::lost ? loss_cause::expired : loss_cause::none};
}

constexpr std::string_view a = "redis://a:6379";

/// Behaves as a full disk, or a pipe without a reader.
struct refusing_buffer final : std::streambuf {
    int overflow(int) override { throw std::runtime_error("disk full"); }
    std::streamsize xsputn(char const*, std::streamsize) override { throw std::runtime_error("disk full"); }
    int sync() override { throw std::runtime_error("disk full"); }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(logs, log_fixture)

BOOST_AUTO_TEST_CASE(log_of_lost_lease_is_error_with_cause)
{
    usual->on_lease(of_lease(lease_event::kind::lost));
    BOOST_TEST(last().starts_with("error: 'seat' lost (expired): held for 4.0 s, on 1 of 3 nodes"), last());
}

BOOST_AUTO_TEST_CASE(log_of_lost_lease_says_that_it_was_a_reader)
{
    lease_event event = of_lease(lease_event::kind::lost);
    event.shared = true;
    usual->on_lease(event);
    BOOST_TEST(last().starts_with("error: 'seat' lost (expired): held by a reader for 4.0 s, on 1 of"),
               last());
}

BOOST_AUTO_TEST_CASE(log_of_lost_lease_includes_explanation)
{
    lease_event event = of_lease(lease_event::kind::lost, "a: b");
    event.detail = "lock \"a: b\" lost (expired): this client's thread was late by 2.4 s";
    usual->on_lease(event);
    BOOST_TEST(last() == "error: 'a: b' lost (expired): held for 4.0 s, on 1 of 3 nodes, valid for 6.0 s: "
                         "this client's thread was late by 2.4 s");
}

BOOST_AUTO_TEST_CASE(log_of_failed_renewals_warns_only_once)
{
    for (int i = 0; i != 29; ++i)
        usual->on_lease(of_lease(lease_event::kind::renewal_failed));
    BOOST_TEST(lines.size() == 1U);
    BOOST_TEST(last().starts_with("warning: 'seat' renewal failed"), last());
    usual->on_lease(of_lease(lease_event::kind::renewed));
    BOOST_TEST(last().starts_with("info: 'seat' renewed"), last());
    usual->on_lease(of_lease(lease_event::kind::renewed));
    BOOST_TEST(lines.size() == 2U);
    usual->on_lease(of_lease(lease_event::kind::renewal_failed));
    BOOST_TEST(lines.size() == 3U);
}

BOOST_AUTO_TEST_CASE(log_of_node_trouble_appears_once_per_cause)
{
    using enum node_state;
    usual->on_node({a, connecting, ""});
    BOOST_TEST(lines.empty());
    usual->on_node({a, ready, ""});
    BOOST_TEST(last() == "info: redis://a:6379 ready");
    usual->on_node({a, idle, ""});
    BOOST_TEST(lines.size() == 1U);
    for (int i = 0; i != 3; ++i) {
        usual->on_node({a, down, "Connection refused"});
        usual->on_node({a, connecting, ""});
    }
    BOOST_TEST(lines.size() == 2U);
    BOOST_TEST(last() == "warning: redis://a:6379 down: Connection refused");
    usual->on_node({a, down, "NOAUTH Authentication required."});
    usual->on_node({a, quarantined, "started 2.1 s ago; may vote in 9.0 s"});
    usual->on_node({a, quarantined, "started 3.1 s ago; may vote in 8.0 s"});
    BOOST_TEST(lines.size() == 4U);
    BOOST_TEST(last() == "warning: redis://a:6379 quarantined: started 2.1 s ago; may vote in 9.0 s");
    usual->on_node({a, ready, ""});
    BOOST_TEST(last() == "info: redis://a:6379 ready");
}

BOOST_AUTO_TEST_CASE(log_of_refused_vote_and_missing_key_is_warning)
{
    usual->on_vote({"seat", a, false, node_result::granted, 1ms});
    usual->on_vote({"seat", a, false, node_result::held_by_other, 1ms});
    usual->on_vote({"seat", a, false, node_result::unreachable, 0ms});
    usual->on_vote({"seat", a, false, node_result::refused, 0ms, server_error::readonly, "a replica"});
    BOOST_TEST(lines.empty());
    usual->on_vote({"seat", a, true, node_result::held_by_other, 1ms});
    BOOST_TEST(last() == "warning: redis://a:6379 renewing 'seat': does not hold its key in 1 ms");
    clock.advance(1s);
    usual->on_vote({"seat", a, false, node_result::refused, 1ms, server_error::oom, "OOM no memory"});
    BOOST_TEST(last() == "warning: redis://a:6379 voting for 'seat': refused in 1 ms: OOM no memory");
}

BOOST_AUTO_TEST_CASE(log_of_no_quorum_is_warning_and_of_contention_is_not)
{
    usual->on_acquire({"seat", {}, 1, 1ms});
    usual->on_acquire({"seat", errc::contended, 1, 1ms, errc::contended});
    usual->on_acquire({"seat", errc::timed_out, 1, 1ms, errc::contended});
    usual->on_acquire({"seat", asio::error::operation_aborted, 1, 1ms, {}});
    BOOST_TEST(lines.empty());
    usual->on_acquire({"seat", errc::timed_out, 2, 512ms, errc::no_quorum});
    BOOST_TEST(last() ==
               "warning: 'seat' not acquired: timed out after 512 ms and 2 attempts; last: no quorum");
}

/// The nodes granted, so it is no contention either.
BOOST_AUTO_TEST_CASE(log_of_too_slow_attempt_is_one_warning)
{
    usual->on_acquire({"seat", errc::too_slow, 1, 1ms, errc::too_slow});
    BOOST_TEST(last() ==
               "warning: 'seat' not acquired: too slow: the validity was over before a majority had "
               "granted after 1 ms and 1 attempt");
}

BOOST_AUTO_TEST_CASE(log_of_stalled_lease_is_warning)
{
    usual->on_lease(of_lease(lease_event::kind::stalled));
    BOOST_TEST(last().starts_with("warning: 'seat' stalled"), last());
}

/// The next lease of that name is another one.
BOOST_AUTO_TEST_CASE(log_of_next_lease_warns_again_after_end_of_last_one)
{
    for (auto const end : {lease_event::kind::lost, lease_event::kind::released}) {
        lines.clear();
        usual->on_lease(of_lease(lease_event::kind::renewal_failed));
        usual->on_lease(of_lease(end));
        usual->on_lease(of_lease(lease_event::kind::renewal_failed));
        BOOST_TEST(count("warning: 'seat' renewal failed") == 2U);
        usual->on_lease(of_lease(lease_event::kind::renewed));
    }
}

BOOST_AUTO_TEST_CASE(log_of_lost_lease_without_validity_omits_it)
{
    usual->on_lease({lease_event::kind::lost, "seat", 1, 3, 0s, 0s, 4s, loss_cause::expired});
    BOOST_TEST(last() == "error: 'seat' lost (expired): held for 4.0 s, on 1 of 3 nodes");
}

BOOST_AUTO_TEST_CASE(log_of_lingering_key_and_unconfirmed_release_is_written)
{
    usual->on_linger({"seat", a, 11s});
    BOOST_TEST(last().starts_with("warning: redis://a:6379 may keep the key of 'seat' for 11.0 s"), last());
    usual->on_release({"seat", {}, 2, 3});
    BOOST_TEST(lines.size() == 1U);
    usual->on_release({"seat", errc::no_quorum, 1, 3});
    BOOST_TEST(last() == "info: release of 'seat' failed: no quorum (1 of 3 nodes answered)");
}

BOOST_AUTO_TEST_CASE(log_of_warning_names_its_node_or_lock)
{
    usual->on_warning({warning_event::kind::has_replicas, a, "", "has 1 replica"});
    BOOST_TEST(last() == "warning: redis://a:6379 has 1 replica");
    usual->on_warning({warning_event::kind::quarantine, "", "seat", "waits: ...", 9s});
    BOOST_TEST(last() == "warning: 'seat' waits: ...");
    usual->on_warning({warning_event::kind::even_nodes, "", "", "4 nodes ..."});
    BOOST_TEST(last() == "warning: 4 nodes ...");
}

BOOST_AUTO_TEST_CASE(log_of_contention_appears_at_once_and_then_once_a_second)
{
    for (int i = 0; i != 1000; ++i)
        usual->on_attempt({"seat", errc::contended, 0, 3, 1, 1ms, 0ms});
    BOOST_TEST(lines.size() == 1U);
    BOOST_TEST(last() == "info: 'seat' is held by others (attempt 1, granted by 0 of 3 nodes)");
    usual->on_attempt({"seat", errc::contended, 0, 3, 2, 1ms, 0ms}); // the same operation waits on
    usual->on_attempt({"seat", errc::no_quorum, 0, 3, 1, 1ms, 0ms}); // the nodes' own lines report it
    usual->on_linger({"seat", a, 11s});                              // another kind
    BOOST_TEST(lines.size() == 2U);
    clock.advance(999ms);
    usual->on_attempt({"seat", errc::contended, 0, 3, 1, 1ms, 0ms});
    BOOST_TEST(lines.size() == 2U);
    clock.advance(1ms);
    usual->on_wait({"seat", 2, true});
    BOOST_TEST(last() == "info: 'seat' is held by this client; 2 operations of this client before this one; "
                         "1000 similar lines suppressed");
    usual->on_wait({"seat", 2, true});
    clock.advance(1s);
    usual->on_wait({"seat", 2, true});
    BOOST_TEST(last().ends_with("; 1 similar line suppressed"), last());
}

/// Under contention each operation has both.
BOOST_AUTO_TEST_CASE(refusal_and_position_share_one_line_a_second)
{
    for (int i = 0; i != 10; ++i) {
        usual->on_attempt({"seat", errc::contended, 0, 3, 1, 1ms, 0ms});
        usual->on_wait({"seat", 2, false, true});
    }
    BOOST_TEST(lines.size() == 1U);
    clock.advance(1s);
    usual->on_wait({"seat", 2, false, true});
    BOOST_TEST(last() ==
               "info: 'seat' is held by others; this operation is third in the queue, behind 2 others; 19 "
               "similar lines suppressed");
}

/// The same for readers and holders of permits: only this client may have it.
BOOST_AUTO_TEST_CASE(log_says_that_this_client_holds_what_it_waits_for)
{
    usual->on_attempt({"seat", errc::contended, 0, 3, 1, 1ms, 0ms, true});
    BOOST_TEST(last() == "info: 'seat' is held by this client (attempt 1, granted by 0 of 3 nodes)");
    clock.advance(1s);
    usual->on_wait({"seat", 0, true, true});
    BOOST_TEST(last() == "info: 'seat' is held by this client; this operation is first in the queue");
}

BOOST_AUTO_TEST_CASE(log_at_debug_level_has_a_line_for_every_event)
{
    all->on_node({a, node_state::connecting, ""});
    all->on_wait({"seat", 1, false});
    all->on_vote({"seat", a, false, node_result::granted, 1ms});
    all->on_attempt({"seat", {}, 3, 3, 1, 1ms, 9s});
    all->on_acquire({"seat", {}, 1, 1ms});
    for (auto const what : {lease_event::kind::acquired, lease_event::kind::renewed,
                            lease_event::kind::released, lease_event::kind::handed_over})
        all->on_lease(of_lease(what));
    all->on_release({"seat", {}, 2, 3});
    BOOST_TEST(lines.size() == 10U);
    BOOST_TEST(count("debug: ") == 9U);
    usual->on_lease(of_lease(lease_event::kind::renewed));
    BOOST_TEST(lines.size() == 10U);
}

BOOST_AUTO_TEST_CASE(log_escapes_control_characters_of_names_and_texts)
{
    std::string const forged = "x'\n2026-01-31T12:00:00.000Z redlock error: \x1b[31m\\ \xff";
    usual->on_lease(of_lease(lease_event::kind::lost, forged));
    BOOST_TEST(last().find("'x\\'\\x0a2026-01-31T12:00:00.000Z redlock error: \\x1b[31m\\\\ \\xff'") !=
                   std::string::npos,
               last());
    usual->on_node({a, node_state::down, "ERR \r\n\x7f"});
    BOOST_TEST(last() == "warning: redis://a:6379 down: ERR \\x0d\\x0a\\x7f");
}

BOOST_AUTO_TEST_CASE(log_line_is_bounded)
{
    std::string const long_words(100'000, '\n');
    usual->on_linger({long_words, a, 11s});
    BOOST_TEST(last().find("...' for 11.0 s") != std::string::npos, last());
    usual->on_node({a, node_state::down, long_words});
    BOOST_TEST(last().size() == 1024 + std::string("warning: ").size());
    BOOST_TEST(last().ends_with("..."));
}

BOOST_AUTO_TEST_CASE(log_to_stream_has_one_line_with_time_per_event)
{
    std::ostringstream out;
    log_to(out)->on_lease(of_lease(lease_event::kind::lost));
    std::regex const line(
        R"(\d{4}-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-6]\d\.\d{3}Z redlock error: 'seat' lost .*\n)");
    BOOST_TEST(std::regex_match(out.str(), line), out.str());
    out.str("");
    log_to(out, {.level = log_level::error, .timestamps = false})
        ->on_lease(of_lease(lease_event::kind::lost));
    BOOST_TEST(out.str().starts_with("redlock error: 'seat' lost"), out.str());
    out.str("");
    log_to(out, {.level = log_level::error})->on_lease(of_lease(lease_event::kind::suspect));
    BOOST_TEST(out.str() == "");
}

BOOST_AUTO_TEST_CASE(log_time_is_utc_in_milliseconds)
{
    using namespace std::chrono;
    sys_days const day = 2026y / January / 31;
    BOOST_TEST(detail::iso_8601(day + 12h + 34min + 56s + 7ms) == "2026-01-31T12:34:56.007Z");
}

BOOST_AUTO_TEST_CASE(log_swallows_exceptions_of_sink_and_stream)
{
    unsigned called = 0;
    auto const thrower = log_to([&](log_level, std::string_view) {
        ++called;
        throw std::runtime_error("no");
    });
    thrower->on_lease(of_lease(lease_event::kind::lost));
    thrower->on_linger({"seat", a, 11s});
    BOOST_TEST(called == 2U);

    refusing_buffer buffer;
    std::ostream out(&buffer);
    out.exceptions(std::ios::badbit | std::ios::failbit);
    auto const log = log_to(out);
    log->on_lease(of_lease(lease_event::kind::lost));
    log->on_lease(of_lease(lease_event::kind::lost)); // into a stream that has failed
    BOOST_TEST(out.bad());
    log_to(log_sink())->on_lease(of_lease(lease_event::kind::lost));
}

BOOST_AUTO_TEST_CASE(observers_receive_every_event_in_their_order)
{
    auto const first = log(log_level::debug);
    auto const both = observers({first, nullptr, all});
    both->on_node({a, node_state::connecting, ""});
    both->on_wait({"seat", 1, false});
    both->on_vote({"seat", a, false, node_result::granted, 1ms});
    both->on_attempt({"seat", {}, 3, 3, 1, 1ms, 9s});
    both->on_acquire({"seat", {}, 1, 1ms});
    both->on_lease(of_lease(lease_event::kind::renewed));
    both->on_linger({"seat", a, 11s});
    both->on_release({"seat", {}, 2, 3});
    both->on_warning({warning_event::kind::even_nodes, "", "", "4 nodes ..."});
    BOOST_TEST(lines.size() == 18U);
    for (std::size_t i = 0; i + 1 < lines.size(); i += 2)
        BOOST_TEST(lines[i] == lines[i + 1]);
}

BOOST_AUTO_TEST_SUITE_END()
