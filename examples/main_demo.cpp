// SPDX-License-Identifier: BSL-1.0
// The whole story on one page: five Redis servers, three participants with a client each, one lock. They
// contend; servers crash and hang under the holder, whose lease survives; a majority dies, and the holder's
// job is stopped in time; the servers come back, and the next in line gets the lock.
// Run: main_demo. It starts its own servers on free local ports, and takes about ten seconds.
#include "local_redis.hpp"
#include <redlock/redlock.hpp>

#include <boost/asio.hpp>

#include <algorithm>
#include <iomanip>
#include <map>
#include <set>

namespace asio = boost::asio;
using clock_type = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto ttl = 2000ms;
constexpr auto slack = 500ms;
constexpr auto patience = 15s;

long long in_ms(clock_type::duration time)
{
    return std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
}

/// Prints one line for every event: time, participant, text.
class timeline {
public:
    void say(std::string_view who, std::string_view what) const
    {
        std::cout << std::setw(7) << in_ms(clock_type::now() - start_) << " ms  " << std::left << std::setw(9)
                  << who << std::right << what << std::endl;
    }
    void chapter(std::string_view title) const { std::cout << "\n" << title << "\n\n"; }

private:
    clock_type::time_point start_ = clock_type::now();
};

/// Turns a client's events into lines.
class narrator final : public redlock::observer {
public:
    narrator(timeline const& out, std::string who, std::map<std::string, std::string> servers)
        : out_(out), who_(std::move(who)), servers_(std::move(servers))
    {}

    void on_lease(redlock::lease_event const& e) noexcept override
    {
        using enum redlock::lease_event::kind;
        renewals_ += e.what == renewed ? 1U : 0U;
        if (e.what == acquired || e.what == renewed)
            valid_until_ = clock_type::now() + e.remaining;
        if (!chatty_)
            return;
        std::string const what = e.what == lost ? "lost (" + std::string(to_string(e.cause)) + ")"
                                                : std::string(to_string(e.what));
        out_.say(who_, what + ", " + std::to_string(e.votes) + " of " + std::to_string(e.node_count) +
                           " votes, valid for " + std::to_string(in_ms(e.remaining)) + " ms");
    }

    void on_node(redlock::node_event const& e) noexcept override
    {
        if (chatty_ && e.state == redlock::node_state::down && down_.emplace(e.node).second)
            out_.say(who_, servers_.at(std::string(e.node)) + " is down: " + std::string(e.detail));
        if (chatty_ && e.state == redlock::node_state::quarantined)
            out_.say(who_, servers_.at(std::string(e.node)) + " may not vote yet: " + std::string(e.detail));
    }

    void be_chatty() { chatty_ = true; }
    [[nodiscard]] unsigned renewals() const { return renewals_; }
    [[nodiscard]] clock_type::time_point valid_until() const { return valid_until_; }

private:
    timeline const& out_;
    std::string who_;
    std::map<std::string, std::string> servers_;
    std::set<std::string> down_;
    clock_type::time_point valid_until_;
    unsigned renewals_ = 0;
    bool chatty_ = false;
};

/// Stands for a process of its own: a client, and a lock of the same name as everybody's.
struct participant {
    participant(asio::io_context& context, timeline const& out, std::string called,
                example::nodes const& servers)
        : name(std::move(called)), told(std::make_shared<narrator>(out, name, names(servers))),
          locks(context.get_executor(), settings(servers.urls, told)),
          lock(locks, "the-ledger", {.ttl = ttl, .slack = slack})
    {}

    static std::map<std::string, std::string> names(example::nodes const& servers)
    {
        std::map<std::string, std::string> result;
        for (std::size_t i = 0; i != servers.urls.size(); ++i)
            result[servers.urls[i]] = "server " + std::to_string(i + 1);
        return result;
    }

    static redlock::config settings(std::vector<std::string> const& urls, std::shared_ptr<narrator> told)
    {
        return {.nodes = urls,
                .reconnect = {.max_delay = 200ms, .connect_timeout = 500ms},
                .health = {.response_timeout = 500ms},
                .admission = {.assume_fresh =
                                  true}, // started by this program; what is restarted later is new to nobody
                .observer = std::move(told)};
    }

    std::string name;
    std::shared_ptr<narrator> told;
    redlock::client locks;
    redlock::mutex lock;
};

asio::awaitable<void> sleep(clock_type::duration time)
{
    asio::steady_timer timer(co_await asio::this_coro::executor, time);
    co_await timer.async_wait(asio::use_awaitable);
}

/// Looks again and again; false when the demonstration's patience is over.
template <class Condition>
asio::awaitable<bool> until(Condition holds)
{
    for (auto const end = clock_type::now() + patience; !holds();) {
        if (clock_type::now() > end)
            co_return false;
        co_await sleep(5ms);
    }
    co_return true;
}

/// The machine may not run this program for a while. Then leases end while nobody can renew them, which breaks no promise, but
/// the demonstration's plan.
class stall_watch {
public:
    asio::awaitable<void> look()
    {
        for (;;) {
            auto const before = clock_type::now();
            co_await sleep(pause);
            longest_ = std::max(longest_, clock_type::now() - before - pause);
        }
    }
    [[nodiscard]] bool stalled() const { return longest_ > harmless; }
    [[nodiscard]] clock_type::duration longest() const { return longest_; }

private:
    static constexpr auto pause = 20ms;
    static constexpr auto harmless = ttl / 4; ///< between two renewals there is time for that
    clock_type::duration longest_{};
};

class demonstration {
public:
    int run()
    {
        picture();
        out_.chapter("Three participants contend for one lock; each takes it three times.");
        for (participant* p : {&alice_, &bob_, &carol_})
            asio::co_spawn(context_, takes_turns(*p), asio::detached);
        context_.run(); // until nobody holds or wants anything

        asio::co_spawn(context_, alice_keeps_the_ledger(), asio::detached);
        asio::co_spawn(context_, waits_in_line(bob_), asio::detached);
        asio::co_spawn(context_, waits_in_line(carol_), asio::detached);
        std::exception_ptr failure;
        asio::co_spawn(context_, watch_.look(), asio::detached);
        asio::co_spawn(context_, misfortunes(), [&](std::exception_ptr thrown) {
            failure = thrown;
            context_.stop(); // waiters must not wait on
        });
        context_.restart();
        context_.run();
        if (failure)
            std::rethrow_exception(failure);
        summary();
        return exit_code();
    }

private:
    static void picture()
    {
        std::cout << "      alice      bob     carol         three clients want one lock, \"the-ledger\"\n"
                     "          \\      |      /\n"
                     "      [1]  [2]  [3]  [4]  [5]         five servers; a client that has three of them "
                     "holds it\n\n"
                  << "ttl " << in_ms(ttl)
                  << " ms: a holder renews its lease before that. Without renewal the "
                  << "lease ends by itself,\nand the servers free the lock " << in_ms(slack)
                  << " ms later. No server knows the others.\n";
    }

    asio::awaitable<void> takes_turns(participant& p)
    {
        for (int turn = 0; turn != 3; ++turn) {
            redlock::lease lease = co_await p.lock.acquire();
            enter(p, lease);
            co_await sleep(50ms);
            --inside_;
            co_await lease.release();
            ++turns_;
            co_await sleep(100ms); // something else to do
        }
    }

    asio::awaitable<void> alice_keeps_the_ledger()
    {
        auto body = [this](redlock::lease& held) { return write_ledger(held); };
        try {
            co_await redlock::with_lock(alice_.lock, body);
        } catch (boost::system::system_error const& e) {
            alice_result_ = e.code();
        }
        alice_ended_ = clock_type::now();
        out_.say(alice_.name, "with_lock completes: " + alice_result_.message());
    }

    asio::awaitable<void> write_ledger(redlock::lease& held)
    {
        enter(alice_, held);
        try {
            for (;;)
                co_await sleep(20ms);
        } catch (boost::system::system_error const&) {
            told_at_ = clock_type::now();
            out_.say(alice_.name, "the job is told to stop; lease " + std::string(to_string(held.state())));
        }
        co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
        co_await sleep(30ms);
        --inside_;
        unwound_at_ = clock_type::now();
        out_.say(alice_.name, "the job has put its things in order");
        throw boost::system::system_error(asio::error::operation_aborted);
    }

    asio::awaitable<void> waits_in_line(participant& p)
    {
        co_await until([this] { return inside_ > 0; });
        out_.say(p.name, "waits for the lock");
        redlock::lease lease = co_await p.lock.acquire_for(patience);
        first_successor_at_ = std::min(first_successor_at_, clock_type::now());
        enter(p, lease);
        co_await sleep(50ms);
        --inside_;
        co_await lease.release();
        ++successors_;
    }

    asio::awaitable<void> misfortunes()
    {
        out_.chapter("Alice holds the lock. One server crashes, one hangs; three of five go on.");
        alice_.told->be_chatty();
        co_await until([this] { return inside_ > 0; });
        co_await sleep(100ms);
        servers_.own[4]->kill();
        out_.say("server 5", "SIGKILL");
        servers_.own[3]->freeze();
        out_.say("server 4", "SIGSTOP");
        auto const faults_at = clock_type::now();
        auto const before = alice_.told->renewals();
        survived_ = co_await until([&, this] {
            return alice_.told->renewals() >= before + 3 && clock_type::now() > faults_at + ttl + slack;
        });
        survived_ = survived_ && inside_ == 1 && alice_ended_ == never;

        out_.chapter("A majority dies.");
        servers_.own[2]->kill();
        out_.say("server 3", "SIGKILL");
        servers_.own[3]->kill();
        out_.say("server 4", "SIGKILL");
        co_await until([this] { return alice_ended_ != never; });

        out_.chapter("The servers come back empty, and do not vote until what they forgot has expired.");
        for (std::size_t i : {2U, 3U, 4U}) {
            servers_.own[i]->start();
            out_.say("server " + std::to_string(i + 1), "started");
        }
        bob_.told->be_chatty();
        co_await until([this] { return successors_ == 2; });
    }

    void enter(participant const& p, redlock::lease const& lease)
    {
        most_inside_ = std::max(most_inside_, ++inside_);
        out_.say(p.name, "holds the lock: waited " + std::to_string(in_ms(lease.waited())) + " ms, attempt " +
                             std::to_string(lease.attempts()));
    }

    void summary()
    {
        std::cout << "\nWhat was promised\n\n";
        promises_.keep(turns_ == 9, "everybody got the lock three times");
        promises_.keep(survived_,
                       "the lease outlived a crashed and a hanging server by more than its own time");
        promises_.keep(alice_result_ == redlock::errc::lease_lost,
                       "without a majority the lease was lost, and said so");
        // Servers keep the key for ttl + slack, so nobody else can have had it before this moment.
        auto const free_at = alice_.told->valid_until() + slack;
        promises_.keep(told_at_ < free_at, "the job was told in time, " +
                                               std::to_string(in_ms(free_at - told_at_)) +
                                               " ms before anybody else could have got the lock");
        promises_.keep(told_at_ < unwound_at_ && unwound_at_ < alice_ended_,
                       "with_lock waited until the job had unwound");
        promises_.keep(unwound_at_ < first_successor_at_ && successors_ == 2,
                       "those in line got the lock with a majority back, and not before the job had ended");
        promises_.keep(most_inside_ == 1, "never were two inside at once");
        std::cout << "\nNext\n\n"
                     "  docs/tutorial.md          a lock in ten minutes, on servers of your own\n"
                     "  examples/main_demo.cpp    this program\n"
                     "  docs/promise.md           what you may rely on\n";
    }

    /// A stall of the machine is no fault of the locks. But two participants may never hold the lock at once.
    [[nodiscard]] int exit_code() const
    {
        if (promises_.exit_code() == EXIT_SUCCESS || !watch_.stalled() || most_inside_ != 1)
            return promises_.exit_code();
        std::cout << "\nThe machine stalled for " << in_ms(watch_.longest())
                  << " ms: it did not run this program. This shows nothing; run it again.\n";
        return EXIT_SUCCESS;
    }

    timeline out_;
    stall_watch watch_;
    example::promises promises_;
    example::nodes servers_{5};
    asio::io_context context_;
    participant alice_{context_, out_, "alice", servers_};
    participant bob_{context_, out_, "bob", servers_};
    participant carol_{context_, out_, "carol", servers_};

    int inside_ = 0; ///< participants that believe they hold the lock
    int most_inside_ = 0;
    int turns_ = 0;
    int successors_ = 0;
    bool survived_ = false;
    boost::system::error_code alice_result_;
    static constexpr clock_type::time_point never = clock_type::time_point::max();
    clock_type::time_point told_at_ = never, unwound_at_ = never, alice_ended_ = never,
                           first_successor_at_ = never;
};

int main()
{
    demonstration demo;
    return demo.run();
}
