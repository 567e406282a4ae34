// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "kit/running.hpp"
#include "kit/settings.hpp"
#include <redlock/client.hpp>
#include <redlock/lease.hpp>
#include <redlock/mutex.hpp>
#include <redlock/node_outcome.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/error_code.hpp>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace redlock::test {

/// The result of one attempt, in every form in which a program can see it.
struct attempt {
    boost::system::error_code result;
    std::vector<node_outcome> table;
    std::vector<node_status> nodes;
    std::string message; ///< the exception's text, if it failed

    bool granted() const { return !result; }
    std::string const& detail(std::size_t node = 0) const { return table.at(node).detail; }
};

/// OpenSSL's word for a chain, sent with its root, that ends in an authority not known here.
inline std::string const not_trusted = "self-signed certificate in certificate chain";

/// A client of its own tries once; what it got it gives back.
inline attempt try_once(config settings, std::string const& name = "resource")
{
    attempt seen;
    boost::asio::io_context context;
    client locks(context.get_executor(), std::move(settings));
    mutex lock(locks, name, long_lived);
    run(context, [&]() -> boost::asio::awaitable<void> {
        try {
            lease held = co_await lock.try_acquire();
            seen.table = lock.last_attempt();
            auto const [failed] = co_await held.release(boost::asio::as_tuple(boost::asio::use_awaitable));
            seen.result = failed;
        } catch (lock_error const& e) {
            seen.result = e.code();
            seen.message = e.what();
            seen.table = e.outcomes();
        }
    });
    seen.nodes = locks.node_table();
    return seen;
}

/// Waits, like a program that has time for any outage, longer than run() does: what ends it is that waiting is in vain.
inline boost::system::error_code acquire_despite_outages(config settings)
{
    namespace asio = boost::asio;
    asio::io_context context;
    client locks(context.get_executor(), std::move(settings));
    auto options = long_lived;
    options.retry.outage_patience = std::chrono::hours{1};
    mutex lock(locks, "resource", options);
    return run(context, [&]() -> asio::awaitable<boost::system::error_code> {
        boost::system::error_code ec;
        (void)co_await lock.acquire(asio::redirect_error(asio::use_awaitable, ec));
        co_return ec;
    });
}

} // namespace redlock::test
