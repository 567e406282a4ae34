// SPDX-License-Identifier: BSL-1.0
#include "world/process.hpp"

#include "core/backoff.hpp"
#include "core/instant.hpp"
#include "engine/client_access.hpp"
#include "net/connect.hpp"
#include "net/executor.hpp"
#include "net/process_page.hpp"
#include "net/stream.hpp"
#include "world/link.hpp"
#include "world/tls.hpp"
#include <redlock/config.hpp>

#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <chrono>
#include <span>
#include <utility>

namespace redlock::world {

namespace asio = boost::asio;

namespace {

/// Counts in the process's own time; if that is slow, the alarm waits longer.
class sim_alarm final : public net::alarm {
public:
    sim_alarm(sim_machine& machine, net::any_io_executor executor, net::alarm_listener& listener)
        : machine_(machine), executor_(std::move(executor)), listener_(listener)
    {}

    void set(duration delay, std::shared_ptr<void> owner, unsigned tag) override
    {
        cancel();
        auto const set = std::make_shared<waiting>(waiting{std::move(owner), machine_.busy(), tag});
        pending_ = set;
        ring(machine_.net().time().now() + machine_.timer_takes(std::max(delay, duration::zero())), set);
    }

    void cancel() override
    {
        if (auto const set = pending_.lock(); set && set->owner)
            tell(*set, asio::error::operation_aborted);
    }

private:
    /// Owned by the event, and not by the alarm: the owner is released when no event follows.
    struct waiting {
        std::shared_ptr<void> owner; ///< null: told
        std::shared_ptr<void> busy;
        unsigned tag;
    };

    /// Without an owner the alarm is destroyed, too.
    void ring(duration when, std::shared_ptr<waiting> const& set)
    {
        machine_.net().time().at(when, [this, set] {
            if (!set->owner)
                return;
            duration const held_until = machine_.timers_held_until();
            if (held_until > machine_.net().time().now())
                return ring(held_until, set);
            tell(*set, {});
        });
    }

    void tell(waiting& set, net::error_code ec)
    {
        asio::post(executor_,
                   [this, owner = std::move(set.owner), tag = set.tag, ec] { listener_.on_alarm(ec, tag); });
        set.owner.reset();
        set.busy.reset();
    }

    sim_machine& machine_;
    net::any_io_executor executor_;
    net::alarm_listener& listener_;
    std::weak_ptr<waiting> pending_;
};

duration scaled(duration time, double rate)
{
    return duration{static_cast<std::int64_t>(static_cast<double>(time.count()) * rate)};
}

} // namespace

sim_machine::sim_machine(network& net, unsigned host, std::uint64_t seed)
    : net_(net), host_(host), chance_(seed), look_ups_(std::make_shared<look_ups>(net, host))
{
    since_ = net.time().now();
    duration const up = std::chrono::hours{24} * (1 + static_cast<int>(host));
    then_ = {up, up};
}

core::instant sim_machine::read_clocks() const noexcept
{
    duration const passed = net_.time().now() - since_;
    return {then_.boot + scaled(passed, boot_rate_), then_.raw + scaled(passed, raw_rate_)};
}

/// Rounds up, so that no timer is early.
duration sim_machine::timer_takes(duration delay) const
{
    return scaled(delay, 1 / boot_rate_) + std::chrono::microseconds{1};
}

void sim_machine::run_at(double boot_rate, double raw_rate)
{
    then_ = read_clocks();
    since_ = net_.time().now();
    boot_rate_ = boot_rate;
    raw_rate_ = raw_rate;
}

void sim_machine::sleep_until(duration when)
{
    double const rate = raw_rate_;
    if (rate == 0) // it sleeps already
        return;
    run_at(boot_rate_, 0);
    net_.time().at(when, [this, rate] { run_at(boot_rate_, rate); });
}

std::chrono::milliseconds sim_machine::wall_clock() const noexcept
{
    constexpr std::chrono::milliseconds begin{1'700'000'000'000};
    return begin + std::chrono::duration_cast<std::chrono::milliseconds>(net_.time().now() + wall_ahead_);
}

core::random_fraction sim_machine::random_bits() noexcept
{
    return static_cast<core::random_fraction>(chance_());
}

bool sim_machine::draw(std::span<unsigned char> secret) noexcept
{
    for (unsigned char& byte : secret)
        byte = static_cast<unsigned char>(chance_());
    return true;
}

net::process_page sim_machine::make_page()
{
    net::process_page::memory made(
        new page(), [](net::process_page::content* gone) noexcept { delete static_cast<page*>(gone); });
    made->maker = 1;
    pages_.push_back(static_cast<page&>(*made));
    return net::process_page(std::move(made));
}

void sim_machine::be_copied()
{
    for (page& p : pages_)
        static_cast<net::process_page::content&>(p) = {};
}

std::unique_ptr<net::alarm> sim_machine::make_alarm(net::any_io_executor const& executor,
                                                    net::alarm_listener& listener)
{
    return std::make_unique<sim_alarm>(*this, executor, listener);
}

std::unique_ptr<net::resolver> sim_machine::make_resolver(net::any_io_executor const& executor)
{
    return std::make_unique<sim_resolver>(executor, look_ups_, busy_);
}

std::shared_ptr<net::stream> sim_machine::make_stream(net::any_io_executor const& executor)
{
    return net_.make_stream(host_, executor, busy_);
}

std::shared_ptr<net::tls_context> sim_machine::make_tls_context(tls_settings const&)
{
    return std::make_shared<net::tls_context>();
}

std::shared_ptr<net::stream> sim_machine::secure(std::shared_ptr<net::stream> plain, net::peer const& to,
                                                 std::string const&, net::error_code&)
{
    return std::make_shared<sim_tls_stream>(std::static_pointer_cast<sim_stream>(std::move(plain)),
                                            to.verify);
}

process::process(network& net, unsigned host, std::uint64_t seed)
    : net_(net), machine_(std::make_shared<sim_machine>(net, host, seed)),
      context_(std::make_unique<asio::io_context>(BOOST_ASIO_CONCURRENCY_HINT_UNSAFE))
{}

process::~process() = default;

redlock::client process::make_client(config settings)
{
    return detail::make_client(context_->get_executor(), settings, machine_);
}

bool process::has_forgotten_clients() const
{
    return machine_.use_count() == 1;
}

bool process::paused() const
{
    return paused_until_ > net_.time().now();
}

duration process::late_until() const
{
    return std::max(paused_until_, machine_->timers_held_until());
}

bool process::run()
{
    if (paused())
        return false;
    context_->restart();
    return context_->poll() != 0;
}

} // namespace redlock::world
