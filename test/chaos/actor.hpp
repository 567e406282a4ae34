// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "chaos/journal.hpp"
#include "chaos/left_lease.hpp"
#include "chaos/participant.hpp"
#include "chaos/plan.hpp"
#include "chaos/wanted.hpp"
#include "kit/probe.hpp"
#include <redlock/redlock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace redlock::chaos {

namespace asio = boost::asio;
using asio::awaitable;
using boost::system::error_code;
using namespace std::chrono_literals;

/// A program counts its own time in ticks: neither a stop of its process nor the machine's load makes the library late.
inline constexpr milliseconds tick = 10ms;
/// Allowed beyond the promised times.
inline constexpr milliseconds patience = 2s;
inline constexpr milliseconds one_attempt = 3s; ///< connecting, the marker, the votes and a raise

inline auto const no_throw = asio::as_tuple(asio::use_awaitable);

class actor;

/// One client, and the actors that use it.
class participant {
public:
    explicit participant(stage const&);
    void run();

    [[nodiscard]] bool calm() const { return calm_; }
    [[nodiscard]] bool leaving() const { return leaving_; }
    [[nodiscard]] std::uint16_t number() const { return static_cast<std::uint16_t>(where_.program); }
    [[nodiscard]] std::string file(std::string const& name) const { return where_.directory + '/' + name; }
    void note(entry one)
    {
        one.program = number();
        journal_.append(one);
    }
    /// Starts an operation that must end within this time of the program's own clock.
    template <class Operation>
    auto in_time(entry what, milliseconds longest, Operation operation)
        -> awaitable<typename Operation::value_type>
    {
        auto const number = ++operations_;
        under_way_[number] = {what, ticks_ + (longest + patience) / tick};
        auto result = co_await std::move(operation);
        under_way_.erase(number);
        co_return result;
    }
    /// Ends earlier if this program leaves meanwhile: no work may be left then.
    awaitable<void> pause(nanoseconds length)
    {
        asio::steady_timer timer(context);
        for (nanoseconds const end = now() + length; now() < end && !leaving_;) {
            timer.expires_after(std::min<nanoseconds>(tick, end - now()));
            co_await timer.async_wait(no_throw);
        }
    }
    void spawn(awaitable<void> work)
    {
        asio::co_spawn(context, std::move(work), [](std::exception_ptr e) {
            if (e)
                std::rethrow_exception(e);
        });
    }
    /// Accesses the guarded register, on a server that is never disturbed.
    std::string ask_register(std::string_view script, unsigned thing, std::uint64_t token,
                             std::uint64_t value);
    [[nodiscard]] cast const& all() const { return all_; }
    /// One more than the value that was read, and unique.
    std::uint64_t next_value(std::uint64_t read)
    {
        return ((read >> 32U) + 1) << 32U | std::uint64_t{where_.program} << 20U | ++writes_;
    }

    asio::io_context context;
    std::optional<client> locks;

private:
    void on_tick();
    void leave();
    [[nodiscard]] bool is_said(std::string const& word) const { return std::filesystem::exists(file(word)); }
    awaitable<void> watch_leader();
    awaitable<void> ask_for_leader();
    void note_news(entry its, leader_info const&);
    awaitable<void> change_nodes(std::vector<std::string> all_nodes);

    stage where_;
    cast all_{where_.seed};
    journal journal_;
    test::probe guarded_;
    bool calm_ = false;
    bool leaving_ = false;
    std::int64_t ticks_ = 0;
    unsigned operations_ = 0;
    unsigned writes_ = 0;
    std::map<unsigned, std::pair<entry, std::int64_t>> under_way_; ///< with its last tick
    std::list<actor> actors_;
    std::optional<election> watched_;
    test::dice chance_{all_.seed << 20U ^ 0x90000U ^ where_.program};
};

/// Runs one operation after the other.
class actor {
public:
    actor(participant& home, unsigned number, part const& mine)
        : home_(home), mine_(mine), chance_(mine.chance), number_(static_cast<std::uint8_t>(number)),
          lock_(make_lock(*home.locks, home.all().permits, mine))
    {}

    awaitable<void> run();
    void look();
    /// Notes a valid lease once more.
    void look_again()
    {
        valid_until_ = {};
        look();
    }
    void is_ended()
    {
        if (!held().empty())
            note(event::lets_go);
    }

private:
    [[nodiscard]] entry here(event what, std::uint64_t value = 0) const
    {
        return {.at = now(),
                .value = value,
                .operation = operation_,
                .program = home_.number(),
                .actor = number_,
                .lock = static_cast<std::uint8_t>(mine_.lock),
                .what = what,
                .things = things_};
    }
    void note(event what, std::uint64_t value = 0) { home_.note(here(what, value)); }
    milliseconds upto(milliseconds longest) { return milliseconds{chance_.between(1, longest.count())}; }

    [[nodiscard]] lease const& held() const { return office_.empty() ? held_ : office_.lease(); }
    /// Does this actor still have the lease of that operation?
    [[nodiscard]] bool still_holds(std::uint32_t operation) const
    {
        return operation == operation_ && !held().empty();
    }
    [[nodiscard]] std::string file_of_left_lease() const
    {
        return home_.file((has_token(mine_.how) ? "left-with-token-" : "left-") +
                          std::to_string(things_of_names()));
    }
    [[nodiscard]] std::uint32_t things_of_names() const;

    awaitable<error_code> obtain();
    awaitable<std::optional<left_lease>> find_left_lease();
    awaitable<error_code> campaign();
    awaitable<error_code> go_on_with(left_lease const&);
    using grant = std::tuple<error_code, lease>;
    awaitable<grant> get(any_lock&);
    void find_out_what_is_held();
    awaitable<void> hold();
    awaitable<void> let_go();
    [[nodiscard]] bool leaves_its_lease_behind();
    [[nodiscard]] bool may_leave_its_lease() const;
    [[nodiscard]] left_lease lease_to_leave() const;
    [[nodiscard]] std::string will() const { return home_.file(name_of_will(here(event::holds).owner())); }
    awaitable<void> proclaim_after(milliseconds, entry its);
    awaitable<void> extend_after(milliseconds, entry its);
    awaitable<void> downgrade_after(milliseconds);
    awaitable<void> use(std::uint64_t token, milliseconds thinking, entry its);

    participant& home_;
    part mine_;
    test::dice chance_;
    std::uint8_t number_;
    wanted lock_;
    lease held_{};
    leadership office_{};      ///< the only lease of an actor of the election
    bool has_left_ = false;    ///< the lease before this operation behind
    bool has_adopted_ = false; ///< the lease that it has, or had last
    std::uint32_t things_ = 0; ///< that it has, or had last
    unsigned guarded_ = 0;     ///< the thing among them whose register it uses
    std::uint32_t operation_ = 0;
    nanoseconds valid_until_{};
    std::uint64_t token_ = 0; ///< as in the journal
    unsigned looks_after_the_end_ = 0;
    bool told_ = false;
};

} // namespace redlock::chaos
