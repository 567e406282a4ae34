// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <redlock/client.hpp>
#include <redlock/config.hpp>
#include <redlock/lease.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

/// For tests of programs that take locks: servers without Redis, ports and waiting. The CMake target is
/// `redlock::testing`.
namespace redlock::testing {

/// Whether a server still has its keys when it is started again.
enum class data : std::uint8_t { lost, kept };

/// A few servers in memory, for clients on an `io_context` of the test, and a virtual time that passes only when the test
/// lets it pass: a lease of ten seconds is lost in a millisecond.
///
/// The library under test is the one that ships. Only sockets, clocks and random numbers are simulated. The servers
/// answer the library's commands as Redis 7 does, and have been up for a month at the beginning.
///
/// Time: all clocks of its clients are simulated. Everything that can happen at the present moment happens when the
/// `io_context` runs, whichever function runs it. (Use `poll()` for that: `run()` does not return while an operation
/// waits for a later moment.) Later moments come with `run()`, `run_until()` and `advance()`. Timers, sockets and
/// threads of the test itself use real time: in a test, `co_await sleep(10s)` instead. No time is negative. A world
/// lasts for 100 years; longer times, such as `milliseconds::max()`, mean no limit.
///
/// Thread safety: none; one thread runs the context and uses the world. `run()`, `run_until()` and `advance()` run the
/// context. Therefore its handlers and coroutines, and conditions of `run_until()`, must not call them, nor destroy the
/// world. They may call all other members.
///
/// Lifetime: made after the context, and destroyed before it. Clients, locks and leases may outlive it. Nothing happens
/// to them after that, so pending operations never complete. `sleep()` then ends with `operation_aborted`.
class world {
public:
    /// How much time `run()` and `run_until()` let pass at most by default.
    static constexpr std::chrono::milliseconds patience = std::chrono::hours{1};

    /// \param nodes how many servers, 1 to 63
    /// \param common for clients that are made without settings of their own; `nodes` and `admission.assume_fresh` are
    ///        set here
    /// \throws std::invalid_argument another number of nodes
    explicit world(boost::asio::io_context&, std::size_t nodes = 3, config common = {});
    ~world();
    world(world const&) = delete;
    world& operator=(world const&) = delete;

    /// A client of all its servers. Each client is like another process.
    [[nodiscard]] client make_client();
    /// The same with these settings. If they name no nodes, it is a client of all servers, with `assume_fresh`.
    /// \throws lock_error as `client` does
    [[nodiscard]] client make_client(config settings);
    /// The settings of `make_client()`: change them, and pass them to the other overload.
    [[nodiscard]] config settings() const;

    /// Runs a coroutine to its end. As much time passes as the coroutine takes.
    ///
    /// If this throws before the coroutine's end, the coroutine still exists, and continues when the context runs.
    /// \param limit how much time may pass
    /// \return the coroutine's result
    /// \throws what the coroutine throws, and what `run_until` throws
    template <class T>
    T run(boost::asio::awaitable<T> work, std::chrono::milliseconds limit = patience)
    {
        refuse_nesting();
        auto result = boost::asio::co_spawn(context_, std::move(work), boost::asio::use_future);
        run_until([&] { return result.wait_for(std::chrono::seconds{0}) == std::future_status::ready; },
                  limit);
        return result.get();
    }
    /// Lets time pass until the condition is true. It is evaluated after every handler. When it is true, everything else
    /// that can happen at that moment happens, too.
    /// \param limit how much time may pass
    /// \throws std::runtime_error nothing more can happen; or the limit is over; or no time passes, because 200000
    ///         handlers have run at one moment. The text says which
    /// \throws std::invalid_argument a negative limit
    /// \throws std::logic_error called by a handler, a coroutine or a condition
    /// \throws what handlers and the condition throw
    void run_until(std::function<bool()> const& condition, std::chrono::milliseconds limit = patience);
    /// Lets time pass, and everything that happens in that time happen. Zero: what can happen now.
    /// \throws std::invalid_argument a negative time, or one beyond the world's 100 years
    /// \throws std::runtime_error no time passes, as above
    /// \throws std::logic_error as above
    /// \throws what handlers throw; time has then passed up to that handler
    void advance(std::chrono::milliseconds time);
    /// For coroutines: continues after `time` of the world's time.
    /// \throws boost::system::system_error `operation_aborted`: it was cancelled, or the world was destroyed
    /// \throws std::invalid_argument a negative time, when it is awaited
    [[nodiscard]] boost::asio::awaitable<void> sleep(std::chrono::milliseconds time);
    /// How much time has passed.
    [[nodiscard]] std::chrono::nanoseconds elapsed() const;

    /// \name Servers, from 0 on
    /// \throws std::out_of_range there is no server of that number
    ///@{

    /// How many servers there are.
    [[nodiscard]] std::size_t size() const;
    /// Ends its process and its connections.
    void kill(std::size_t node);
    /// Starts a killed server again, with the keys that it had when it was killed, or with none. It waits before it
    /// votes, as after any restart (docs/protocol.md, rule N4).
    void restart(std::size_t node, data what = data::lost);
    /// Drops everything that is sent to it, without an error.
    void cut(std::size_t node);
    /// Makes it reachable again.
    void mend(std::size_t node);
    /// Delays all its answers for `time`.
    /// \throws std::invalid_argument a negative time
    void stall(std::size_t node, std::chrono::milliseconds time);
    /// FLUSHALL: deletes all keys, also those that a killed server would be started with. If it happens on a majority of
    /// the servers, a plain lease is lost with `loss_cause::refused`, when its client gets an invalidation, at the latest
    /// at the next renewal. A fenced one is lost when its validity ends, with `loss_cause::expired`: servers that have
    /// lost their data are not asked until the lease's key must have expired (docs/protocol.md, rule F6).
    void flush(std::size_t node);
    /// Commands that write fail with OOM until it has memory again.
    void exhaust_memory(std::size_t node, bool exhausted = true);
    ///@}

    /// \name Others
    /// Names have no prefix; the prefix of `settings()` is added. A client with another `key_prefix` has other locks.
    ///@{

    /// Another process takes the lock on every reachable server, and keeps it for `time`.
    /// \throws std::logic_error a majority, or every reachable server, has that key already; or no server is reachable
    /// \throws std::invalid_argument an empty name, or a time that is not more than zero
    void hold(std::string_view name, std::chrono::milliseconds time = std::chrono::hours{1});
    /// Releases it, and waiting operations continue.
    void let_go(std::string_view name);
    /// Does a majority of the servers have its key, of any owner?
    [[nodiscard]] bool held(std::string_view name) const;
    /// Deletes the lease's keys, and a reader's or permit holder's part of keys that are shared. If the lease is
    /// exclusive and fenced, another client also takes the lock and releases it. The lease is lost, with
    /// `loss_cause::refused`, as soon as its client has asked the servers, which it does now, or after the extension
    /// that is under way. No effect on a lease that is lost already. (To lose it with `loss_cause::expired`: cut off a
    /// majority, and let its `ttl` pass. A fenced lease whose servers were flushed ends in the same way.)
    /// \throws std::logic_error it is empty, released, or one of another world
    void lose(lease& held);
    ///@}

private:
    friend class made_up_lease;
    struct state;

    [[nodiscard]] std::string key(std::string_view name) const;
    [[nodiscard]] bool settle(std::function<bool()> const& condition);
    [[nodiscard]] bool something_happens();
    void refuse_nesting() const;

    boost::asio::io_context& context_;
    config common_;
    std::shared_ptr<state> state_;
};

} // namespace redlock::testing
