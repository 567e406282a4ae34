// SPDX-License-Identifier: BSL-1.0
// The processes of a contest, and the idle client whose rounds are counted in.
#include "contest.hpp"
#include "library.hpp"
#include <redlock/redlock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <cstdio>
#include <random>
#include <thread>

namespace redlock::bench {

namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

/// One contender's request: its time, and the number of leases before it.
struct request {
    std::int64_t asked;
    std::uint64_t before;
};

void note(board& seen, request const& mine, unsigned process)
{
    std::int64_t const released = seen.released_at.load();
    bool const again = seen.last.exchange(process) == process;
    if (!seen.measuring.load())
        return;
    seen.again += again ? 1U : 0U;
    ++seen.seats[process].leases;
    std::size_t const at = seen.samples++;
    if (at >= board::most)
        return;
    auto const now = now_ns();
    seen.hand_off_ns[at] = static_cast<std::uint32_t>(std::min<std::int64_t>(now - released, UINT32_MAX));
    seen.tenures_waited[at] = static_cast<std::uint32_t>(seen.tenures.load() - mine.before);
    seen.waited_us[at] = static_cast<std::uint32_t>((now - mine.asked) / 1000);
    seen.process[at] = static_cast<std::uint16_t>(process);
}

lock_options options_for(contest const& what, unsigned process)
{
    lock_options options;
    options.fair = what.how == manner::line || (what.how == manner::mixed && process % 2 == 0);
    return options;
}

class contender {
public:
    contender(client& locks, contest const& what, board& seen, unsigned process, unsigned number)
        : what_(what), seen_(seen), process_(process), mutex_(locks, "contested", options_for(what, process)),
          dice_(process * 1000 + number + 1)
    {}

    asio::awaitable<void> run()
    {
        asio::steady_timer work(co_await asio::this_coro::executor);
        request mine = ask();
        while (!seen_.stop.load()) {
            boost::system::error_code ec;
            lease held = co_await get(ec);
            if (ec) {
                work.expires_after(pause_after(ec));
                co_await work.async_wait(asio::use_awaitable);
                continue;
            }
            enter(mine);
            if (what_.hold > 0us) {
                work.expires_after(what_.hold);
                co_await work.async_wait(asio::use_awaitable);
            }
            leave();
            co_await held.release(asio::as_tuple(asio::use_awaitable));
            mine = ask();
        }
    }

private:
    request ask()
    {
        request const mine{now_ns(), seen_.tenures.load()};
        seen_.seats[process_].asked_after = mine.before;
        seen_.seats[process_].holding = false;
        return mine;
    }

    asio::awaitable<lease> get(boost::system::error_code& ec)
    {
        auto token = asio::redirect_error(asio::use_awaitable, ec);
        return what_.how == manner::polling ? mutex_.try_acquire(token) : mutex_.acquire(token);
    }

    void enter(request const& mine)
    {
        seen_.seats[process_].holding = true;
        note(seen_, mine, process_);
        ++seen_.tenures;
        seen_.overlaps += seen_.inside++ == 0 ? 0U : 1U;
    }

    void leave()
    {
        --seen_.inside;
        seen_.released_at = now_ns();
    }

    std::chrono::microseconds pause_after(boost::system::error_code ec)
    {
        if (what_.how != manner::polling) {
            if (seen_.failures++ == 0)
                std::fprintf(stderr, "a waiting operation failed: %s\n", ec.message().c_str());
            return 1ms;
        }
        auto const most = static_cast<unsigned>(what_.poll_pause.count());
        return std::chrono::microseconds{most == 0 ? 0U : dice_() % most};
    }

    contest const& what_;
    board& seen_;
    unsigned process_;
    mutex mutex_;
    std::minstd_rand dice_;
};

} // namespace

void compete(std::vector<std::uint16_t> const& ports, contest const& what, unsigned process, board& seen)
{
    asio::io_context context;
    client locks(context.get_executor(), settings_for(ports));
    std::vector<std::unique_ptr<contender>> all;
    ++seen.ready;
    while (!seen.go.load())
        std::this_thread::sleep_for(1ms);
    for (unsigned i = 0; i != what.each; ++i) {
        all.push_back(std::make_unique<contender>(locks, what, seen, process, i));
        asio::co_spawn(context, all.back()->run(), asio::detached);
    }
    context.run();
}

double idle_round_us(std::vector<std::uint16_t> const& ports, int times)
{
    asio::io_context context;
    client locks(context.get_executor(), settings_for(ports));
    std::vector<double> rounds;
    asio::co_spawn(
        context,
        [&]() -> asio::awaitable<void> {
            for (int i = 0; i != times; ++i) {
                mutex one(locks, "round" + std::to_string(i % 50));
                auto const began = clock::now();
                lease held = co_await one.acquire(asio::use_awaitable);
                rounds.push_back(std::chrono::duration<double, std::micro>(clock::now() - began).count());
                co_await held.release(asio::use_awaitable);
            }
        },
        asio::detached);
    context.run();
    std::ranges::sort(rounds);
    return at(rounds, 0.5);
}

} // namespace redlock::bench
