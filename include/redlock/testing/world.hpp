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

/// For tests of programs that take locks: servers without Redis, ports and waiting. The target is `redlock::testing`.
namespace redlock::testing {

/// What a server still has when it is started again.
enum class data : std::uint8_t { lost, kept };

/// A few servers in memory, for clients on an `io_context` of the test's own, and a time that passes only when the
/// test lets it: a lease of ten seconds is lost in a millisecond.
///
/// The library under test is the one that ships; only sockets, clocks and random numbers are the world's. The servers
/// answer as Redis 7 does to what the library sends, and are a month old at the beginning.
///
/// Time: all clocks of its clients are the world's. Whatever can happen at the present moment happens when the
/// `io_context` runs, whoever runs it (`poll()`: `run()` does not return while somebody waits for a later moment);
/// later moments come with `run()`, `run_until()` and `advance()`. Timers, sockets and threads of the test's own know
/// nothing of it and go on in real time: in a test, `co_await sleep(10s)` instead. No time is negative. A world lasts
/// for 100 years; longer times are for ever, as `milliseconds::max()` is.
///
/// Thread safety: none; one thread runs the context and has the world. `run()`, `run_until()` and `advance()` run the
/// context, and are therefore not called by its handlers and coroutines, nor by conditions of `run_until()`. All else
/// may be, but the destructor.
///
/// Lifetime: made after the context, and destroyed before it. Clients, locks and leases may outlive it; nothing
/// happens to them any more, so operations that go on then never complete. `sleep()` ends with `operation_aborted`.
class world {
public:
    /// How much time `run()` and `run_until()` let pass at most, if nothing else is said.
    static constexpr std::chrono::milliseconds patience = std::chrono::hours{1};

    /// \param nodes how many servers, 1 to 63
    /// \param common for clients that are made without settings of their own; `nodes` and `assume_fresh` are set here
    /// \throws std::invalid_argument another number of nodes
    explicit world(boost::asio::io_context&, std::size_t nodes = 3, config common = {});
    ~world();
    world(world const&) = delete;
    world& operator=(world const&) = delete;

    /// A client of all its servers: each is as good as another process.
    [[nodiscard]] client make_client();
    /// The same with these settings. Where they name no nodes: of all its servers, which are new (`assume_fresh`).
    /// \throws lock_error as `client` does
    [[nodiscard]] client make_client(config settings);
    /// Of `make_client()`: to be changed, and given to the other one.
    [[nodiscard]] config settings() const;

    /// Runs a coroutine to its end, and as much time as it takes passes.
    ///
    /// Where this throws before its end, the coroutine is still there, and goes on when the context runs.
    /// \param limit how much time may pass
    /// \return what it returns
    /// \throws what it throws, and what `run_until` throws
    template <class T>
    T run(boost::asio::awaitable<T> work, std::chrono::milliseconds limit = patience)
    {
        refuse_nesting();
        auto result = boost::asio::co_spawn(context_, std::move(work), boost::asio::use_future);
        run_until([&] { return result.wait_for(std::chrono::seconds{0}) == std::future_status::ready; },
                  limit);
        return result.get();
    }
    /// Lets time pass until this is true. It is asked whenever a handler has run; once it has been true, whatever
    /// else can happen at that moment happens, too.
    /// \param limit how much time may pass
    /// \throws std::runtime_error nothing can happen any more; or the limit is over; or no time passes, since 200000
    ///         handlers have run at one moment. It says which
    /// \throws std::invalid_argument a negative limit
    /// \throws std::logic_error called by a handler, a coroutine or a condition
    /// \throws what handlers and the condition throw
    void run_until(std::function<bool()> const& condition, std::chrono::milliseconds limit = patience);
    /// Lets time pass, and all that happens meanwhile happen. None: what can happen now.
    /// \throws std::invalid_argument a negative time, or one beyond the world's 100 years
    /// \throws std::runtime_error no time passes, as above
    /// \throws std::logic_error as above
    /// \throws what handlers throw; time has passed as far as that then
    void advance(std::chrono::milliseconds time);
    /// For coroutines: goes on after that much of the world's time.
    /// \throws boost::system::system_error `operation_aborted`: it was cancelled, or the world is gone
    /// \throws std::invalid_argument a negative time, when it is awaited
    [[nodiscard]] boost::asio::awaitable<void> sleep(std::chrono::milliseconds time);
    /// How much time has passed.
    [[nodiscard]] std::chrono::nanoseconds elapsed() const;

    /// \name Servers, from 0 on
    /// \throws std::out_of_range there are not so many
    ///@{
    [[nodiscard]] std::size_t size() const;
    /// Its process ends, and the connections with it.
    void kill(std::size_t node);
    /// A killed one is started again, with the keys that it had when it was killed, or none. It waits before it
    /// votes, as after any restart (docs/protocol.md, rule N4).
    void restart(std::size_t node, data what = data::lost);
    /// Nothing reaches it any more, and nobody is told.
    void cut(std::size_t node);
    /// It can be reached again.
    void mend(std::size_t node);
    /// It answers nothing for so long, and then all of it.
    /// \throws std::invalid_argument a negative time
    void stall(std::size_t node, std::chrono::milliseconds time);
    /// FLUSHALL: all keys are gone, and those that a killed one would be started with. On a majority of the servers a
    /// plain lease is lost by it, with `loss_cause::refused`, as soon as its client hears of it, at the latest at the
    /// next renewal. A fenced one is lost when its validity ends, with `loss_cause::expired`: servers that have lost
    /// their data are not asked until its key could not live any more (docs/protocol.md, rule F6).
    void flush(std::size_t node);
    /// Commands that write fail with OOM, until it has memory again.
    void exhaust_memory(std::size_t node, bool exhausted = true);
    ///@}

    /// \name Others
    /// Names are without prefix, which is that of `settings()`: a client with another `key_prefix` has other locks.
    ///@{
    /// Another process takes the lock on every server that can be had, and keeps it for that long.
    /// \throws std::logic_error a majority has that key already, or every server that can be had; or none can be
    /// \throws std::invalid_argument an empty name, or a time that is not more than zero
    void hold(std::string_view name, std::chrono::milliseconds time = std::chrono::hours{1});
    /// And releases it: whoever waits is woken.
    void let_go(std::string_view name);
    /// Does a majority of the servers have its key, whoever set it?
    [[nodiscard]] bool held(std::string_view name) const;
    /// Somebody deletes its keys, and, if it is fenced, comes and goes meanwhile: it is lost, with
    /// `loss_cause::refused`, as soon as its client has asked the servers, which it does now, or after the extension
    /// that is under way. Without effect on a lease that is lost already. (To lose it with `loss_cause::expired`: cut
    /// off a majority, and let its `ttl` pass. So ends a fenced lease, too, whose servers were flushed.)
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
