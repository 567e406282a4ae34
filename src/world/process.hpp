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

/// A process's clocks, chance and connections.
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

    /// What a child finds after a fork: pages are empty.
    void be_copied();

    /// From now on its clocks run at these rates, beside true time.
    void run_at(double boot_rate, double raw_rate);
    /// CLOCK_BOOTTIME alone goes on.
    void sleep_until(duration when);

    /// Timers run by CLOCK_MONOTONIC, which is slewed as CLOCK_BOOTTIME is.
    [[nodiscard]] duration timer_takes(duration delay) const;
    /// Timers that are due before go off then, though all else goes on: the machine is busy.
    void hold_timers_until(duration when) { timers_held_until_ = std::max(timers_held_until_, when); }
    [[nodiscard]] duration timers_held_until() const { return timers_held_until_; }
    /// Of its wall clock, before true time.
    void set_wall_clock(duration ahead) { wall_ahead_ = ahead; }

    [[nodiscard]] network& net() { return net_; }
    /// Held by what is under way.
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
    /// Runs what is ready. False: nothing was, or it is stopped.
    bool run();
    /// Would run() of its context have returned? Only after `run()` has said that nothing is ready.
    [[nodiscard]] bool done() const { return context_->stopped() && !machine_->is_busy(); }
    /// Has nobody any of its clients any more?
    [[nodiscard]] bool has_forgotten_clients() const;
    /// SIGSTOP, until true time has come so far.
    void pause_until(duration when) { paused_until_ = when; }
    [[nodiscard]] bool paused() const;
    [[nodiscard]] duration goes_on_at() const { return paused_until_; }
    /// Stopped, or its timers are: it cannot do everything in time before then.
    [[nodiscard]] duration late_until() const;

private:
    network& net_;
    std::shared_ptr<sim_machine> machine_;
    std::unique_ptr<boost::asio::io_context> context_;
    duration paused_until_{};
};

} // namespace redlock::world
