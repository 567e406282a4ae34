#pragma once

#include "kit/coro.hpp"
#include "kit/probe.hpp"
#include "kit/redis_server.hpp"
#include <redlock/redlock.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace redlock {

inline std::ostream& operator<<(std::ostream& out, errc e)
{
    return out << make_error_code(e).message();
}

inline std::ostream& operator<<(std::ostream& out, node_result r)
{
    return out << to_string(r);
}

inline std::ostream& operator<<(std::ostream& out, server_error e)
{
    return out << to_string(e);
}

inline std::ostream& operator<<(std::ostream& out, lease_state s)
{
    return out << to_string(s);
}

} // namespace redlock

namespace redlock::test {

namespace asio = boost::asio;
using boost::system::error_code;
using namespace std::chrono_literals;

/// Far above every timeout of the tests, so that expiry never does what a release should have done.
inline constexpr lock_options long_lived{.ttl = 10min, .node_timeout = 20s};

inline config settings_for(std::vector<std::string> urls)
{
    config settings;
    settings.nodes = std::move(urls);
    settings.admission.assume_fresh = true;
    settings.health.response_timeout = 20s;
    settings.reconnect.connect_timeout = 20s;
    return settings;
}

/// Three ports of ours that nobody listens on: every connection is refused.
config nobody_there();

/// Three real servers for all tests of the process, and an eye on each.
class real_servers {
public:
    static real_servers& get()
    {
        static real_servers all;
        return all;
    }

    [[nodiscard]] config settings() const { return settings_for(group_.urls()); }
    redis_server& operator[](std::size_t i) { return group_[i]; }
    probe& eye(std::size_t i) { return eyes_.at(i); }

    /// Every server has run what was sent to it, and holds nothing. Bytes written just before a connection's end may
    /// still be on their way to the server, so this asks again until the patience is over.
    [[nodiscard]] bool empty()
    {
        auto const limit = std::chrono::steady_clock::now() + patience;
        do {
            if (std::ranges::all_of(eyes_, [](probe& p) { return p.keys().empty(); }))
                return true;
        } while (std::chrono::steady_clock::now() < limit);
        return false;
    }

    void clear()
    {
        for (probe& p : eyes_)
            p.command({"FLUSHALL"});
    }

    [[nodiscard]] unsigned holders(std::string const& key, std::string_view nonce)
    {
        return static_cast<unsigned>(
            std::ranges::count_if(eyes_, [&](probe& p) { return p.get(key) == nonce; }));
    }

private:
    real_servers() : group_(3)
    {
        for (auto const& server : group_)
            eyes_.emplace_back(server->port());
    }

    server_group group_;
    std::vector<probe> eyes_;
};

/// Runs handlers until the condition holds.
template <class Condition>
void run_until(asio::io_context& context, Condition met,
               std::source_location where = std::source_location::current())
{
    auto const limit = std::chrono::steady_clock::now() + patience;
    context.restart();
    while (!met())
        if (context.run_one_until(limit) == 0)
            throw std::runtime_error("run_until() at " + coro::position(where) + ": it does not happen");
}

/// Runs until nothing is left to do; what goes on for ever is an error.
inline void run_dry(asio::io_context& context, std::source_location where = std::source_location::current())
{
    context.restart();
    context.run_for(patience);
    if (!context.stopped())
        throw std::runtime_error("run_dry() at " + coro::position(where) +
                                 ": something keeps the context busy");
}

/// What an operation completed with, and how often. Shared with the handler, so it survives whoever asked.
struct outcome {
    unsigned completions = 0;
    error_code ec{};
    lease granted{};
    inspection seen{};

    [[nodiscard]] bool done() const { return completions != 0; }
};
using outcome_ptr = std::shared_ptr<outcome>;

struct keeps_outcome {
    outcome_ptr into;

    void operator()(error_code ec) const
    {
        ++into->completions;
        into->ec = ec;
    }
    void operator()(error_code ec, lease granted) const
    {
        (*this)(ec);
        into->granted = std::move(granted);
    }
    void operator()(error_code ec, inspection seen) const
    {
        (*this)(ec);
        into->seen = std::move(seen);
    }
    void operator()(std::exception_ptr failure) const
    {
        error_code ec;
        try {
            if (failure)
                std::rethrow_exception(failure);
        } catch (boost::system::system_error const& e) {
            ec = e.code();
        }
        (*this)(ec);
    }
};

/// One client, alone on its context, with what an operation may need.
struct stage {
    asio::io_context context;
    std::optional<client> locks;
    lease held{};
    asio::cancellation_signal cancel{};
    outcome_ptr result = std::make_shared<outcome>();

    explicit stage(config const& settings) : locks(std::in_place, context.get_executor(), settings) {}

    [[nodiscard]] mutex lock(std::string name = "resource", lock_options options = long_lived)
    {
        return {*locks, std::move(name), options};
    }

    [[nodiscard]] auto handler()
    {
        return asio::bind_cancellation_slot(cancel.slot(), keeps_outcome{result});
    }

    void acquire(std::string name = "resource")
    {
        auto const got = std::make_shared<outcome>();
        lock(std::move(name)).acquire(keeps_outcome{got});
        run_until(context, [&] { return got->done(); });
        if (got->ec)
            throw boost::system::system_error(got->ec);
        held = std::move(got->granted);
    }

    error_code release()
    {
        auto const got = std::make_shared<outcome>();
        held.release(keeps_outcome{got});
        run_until(context, [&] { return got->done(); });
        return got->ec;
    }

    /// Runs `steps` handlers, fewer if nothing becomes ready for a while. False: there was nothing more to run.
    bool run_steps(unsigned steps)
    {
        constexpr auto quiet = 50ms;
        context.restart();
        for (unsigned i = 0; i != steps; ++i)
            if (context.run_one_for(quiet) == 0)
                return false;
        return true;
    }
};

/// An operation of the public face, in a state where it can be started.
struct operation {
    std::string name;
    std::function<void(stage&)> prepare;
    std::function<void(stage&)> start;
};

/// Every one of them, from a cold client (which connects first) and from one that has its connections.
[[nodiscard]] std::vector<operation> const& all_operations();

} // namespace redlock::test
