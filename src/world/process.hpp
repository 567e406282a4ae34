// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/backoff.hpp"
#include "core/instant.hpp"
#include "net/executor.hpp"
#include "net/machine.hpp"
#include "net/process_page.hpp"
#include "world/names.hpp"
#include "world/network.hpp"
#include "world/timeline.hpp"
#include <redlock/client.hpp>
#include <redlock/config.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/intrusive/list.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <string>

namespace redlock::world {

class process;

/// A process's clocks, random numbers and connections.
class sim_machine final : public net::machine {
public:
    sim_machine(network&, unsigned host, std::uint64_t seed);

    [[nodiscard]] core::instant read_clocks() const noexcept override;
    [[nodiscard]] std::chrono::milliseconds wall_clock() const noexcept override;
    [[nodiscard]] core::random_fraction random_bits() noexcept override;
    [[nodiscard]] bool draw(std::span<unsigned char> secret) noexcept override;
    [[nodiscard]] net::process_page make_page() override;
    [[nodiscard]] std::unique_ptr<net::alarm> make_alarm(net::any_io_executor const&,
                                                         net::alarm_listener&) override;
    [[nodiscard]] std::unique_ptr<net::resolver> make_resolver(net::any_io_executor const&) override;
    [[nodiscard]] std::shared_ptr<net::stream> make_stream(net::any_io_executor const&) override;
    [[nodiscard]] std::shared_ptr<net::tls_context> make_tls_context(tls_settings const&) override;
    [[nodiscard]] std::shared_ptr<net::stream> secure(std::shared_ptr<net::stream> plain, net::peer const&,
                                                      std::string const&, net::error_code&) override;

    /// Empties the pages, as a fork does for a child.
    void be_copied();

    /// From now on its clocks run at these rates, relative to true time.
    void run_at(double boot_rate, double raw_rate);
    /// Only CLOCK_BOOTTIME continues.
    void sleep_until(duration when);

    /// Timers run by CLOCK_MONOTONIC, which is slewed as CLOCK_BOOTTIME is.
    [[nodiscard]] duration timer_takes(duration delay) const;
    /// Timers that are due before expire then, though all else continues: the machine is busy.
    void hold_timers_until(duration when) { timers_held_until_ = std::max(timers_held_until_, when); }
    [[nodiscard]] duration timers_held_until() const { return timers_held_until_; }
    /// Sets how far its wall clock is ahead of true time.
    void set_wall_clock(duration ahead) { wall_ahead_ = ahead; }

    [[nodiscard]] network& net() { return net_; }
    /// Held by operations that are under way.
    [[nodiscard]] std::shared_ptr<void> busy() const { return busy_; }
    [[nodiscard]] bool is_busy() const { return busy_.use_count() != 1; }

private:
    using page_hook =
        boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;
    struct page : net::process_page::content, page_hook {};
    using pages = boost::intrusive::list<page, boost::intrusive::constant_time_size<false>>;

    network& net_;
    unsigned host_;
    std::mt19937_64 chance_;
    duration since_{}; ///< true time of the last change of rates
    core::instant then_{};
    double boot_rate_ = 1;
    double raw_rate_ = 1;
    duration wall_ahead_{};
    duration timers_held_until_{};
    pages pages_;
    std::shared_ptr<look_ups> look_ups_;
    std::shared_ptr<void> busy_ = std::make_shared<int>();
};

/// One program that uses the library, on a thread of its own.
class process {
public:
    process(network&, unsigned host, std::uint64_t seed);
    ~process();

    [[nodiscard]] redlock::client make_client(config);
    [[nodiscard]] boost::asio::io_context& context() { return *context_; }
    [[nodiscard]] sim_machine& machine() { return *machine_; }
    /// Runs ready handlers. False: there were none, or the process is stopped.
    bool run();
    /// Would run() of its context have returned? Ask only after `run()` has returned false.
    [[nodiscard]] bool done() const { return context_->stopped() && !machine_->is_busy(); }
    /// True if nobody owns any of its clients any more.
    [[nodiscard]] bool has_forgotten_clients() const;
    /// SIGSTOP, until this true time.
    void pause_until(duration when) { paused_until_ = when; }
    [[nodiscard]] bool paused() const;
    [[nodiscard]] duration goes_on_at() const { return paused_until_; }
    /// The end of the time for which it, or its timers, are stopped: before then it may be late.
    [[nodiscard]] duration late_until() const;

private:
    network& net_;
    std::shared_ptr<sim_machine> machine_;
    std::unique_ptr<boost::asio::io_context> context_;
    duration paused_until_{};
};

} // namespace redlock::world
