// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "kit/outcome.hpp"
#include "kit/patience.hpp"
#include "kit/recorder.hpp"
#include "kit/redis_server.hpp"
#include "kit/running.hpp"
#include "kit/settings.hpp"
#include <redlock/redlock.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace redlock::test {

namespace asio = boost::asio;
using boost::system::error_code;
using namespace std::chrono_literals;

/// Three ports of ours that nobody listens on: every connection is refused.
config nobody_there();

/// Three real servers for all tests of the process.
class real_servers : public server_group {
public:
    static real_servers& get()
    {
        static real_servers all;
        return all;
    }

    [[nodiscard]] config settings() const { return settings_for(urls()); }

    /// Every server has run what was sent to it, and holds nothing. Bytes written just before a connection's end may
    /// still be on their way to the server.
    [[nodiscard]] boost::test_tools::assertion_result empty()
    {
        boost::test_tools::assertion_result result(true);
        auto const limit = std::chrono::steady_clock::now() + patience;
        for (std::size_t i = 0; i != size(); ++i) {
            auto left = probes[i].keys();
            while (!left.empty() && std::chrono::steady_clock::now() <= limit)
                left = probes[i].keys();
            for (std::string const& key : left) {
                result = false;
                result.message() << "server " << i << " still has " << key << ". ";
            }
        }
        return result;
    }

    /// Waits until all other clients are gone: their votes may still be on their way.
    void clear()
    {
        wait_until([&] { return std::ranges::all_of(probes, is_alone); });
        command({"FLUSHALL"});
    }

private:
    real_servers() : server_group(3) {}

    static bool is_alone(probe& each)
    {
        return each.info("clients").find("connected_clients:1\r") != std::string::npos;
    }
};

/// Leaves nothing behind, if it is the first base of a fixture, and so the last that goes.
struct cleared_servers {
    real_servers& servers = real_servers::get();

    cleared_servers() { servers.clear(); }
    ~cleared_servers() { servers.clear(); }
};

/// One client, alone on its context, with everything that an operation may need.
struct lone_client {
    asio::io_context context;
    std::optional<client> locks;
    lease held{};
    asio::cancellation_signal cancel{};
    outcome_ptr result = std::make_shared<outcome>();

    explicit lone_client(config const& settings) : locks(std::in_place, context.get_executor(), settings) {}

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
    std::function<void(lone_client&)> prepare;
    std::function<void(lone_client&)> start;
};

/// Every one of them, from a cold client (which connects first) and from one that has its connections.
[[nodiscard]] std::vector<operation> const& all_operations();

} // namespace redlock::test
