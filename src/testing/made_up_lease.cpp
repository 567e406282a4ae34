// SPDX-License-Identifier: BSL-1.0
#include "testing/state.hpp"
#include <redlock/client.hpp>
#include <redlock/fenced_mutex.hpp>
#include <redlock/lock_options.hpp>
#include <redlock/mutex.hpp>
#include <redlock/testing/made_up_lease.hpp>

#include <boost/system/error_code.hpp>

#include <chrono>
#include <stdexcept>
#include <string>
#include <string_view>

namespace redlock::testing {

namespace {

constexpr std::chrono::seconds made_up_ttl{10};
constexpr std::string_view made_up_nonce = "0123456789abcdef0123456789abcdef";

} // namespace

lease made_up_lease::make_lease(client& locks, std::string_view name, std::uint64_t token)
{
    lock_options options;
    options.ttl = made_up_ttl;
    options.renew = false;
    options.tolerate_suspect = true;
    return token != 0 ? fenced_mutex(locks, name, options).adopt(made_up_nonce, token)
                      : mutex(locks, name, options).adopt(made_up_nonce);
}

made_up_lease::made_up_lease(boost::asio::io_context& context, std::uint64_t token, std::string_view name)
    : world_(context, 1), client_(world_.make_client()), lease_(make_lease(client_, name, token))
{
    world_.state_->grant(world_.key(lease_.resource()), made_up_nonce, token, 2 * made_up_ttl);
    confirm();
}

void made_up_lease::expect_no_end()
{
    world_.advance(std::chrono::milliseconds::zero()); // it may have been released a moment ago
    testing::expect_no_end(lease_);
}

void made_up_lease::expect_hope()
{
    expect_no_end();
    if (lease_.state() == lease_state::lost)
        throw std::logic_error("redlock::testing::made_up_lease: the lease is lost, and stays so");
}

void made_up_lease::suspect()
{
    expect_hope();
    if (lease_.state() == lease_state::held)
        world_.advance(made_up_ttl);
}

void made_up_lease::confirm()
{
    expect_hope();
    bool done = false;
    lease_.extend([&done](boost::system::error_code) { done = true; });
    world_.run_until([&done] { return done; });
}

void made_up_lease::lose(loss_cause why)
{
    expect_no_end();
    if (why != loss_cause::expired && why != loss_cause::refused)
        throw std::invalid_argument(
            "redlock::testing::made_up_lease: it is lost as expired or refused, not as " +
            std::string(to_string(why)));
    if (why == loss_cause::refused)
        world_.lose(lease_);
    world_.run_until([this] { return lease_.state() == lease_state::lost; });
}

} // namespace redlock::testing
