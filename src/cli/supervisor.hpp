// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "cli/child.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/session.hpp"
#include <redlock/lease.hpp>
#include <redlock/lock_options.hpp>

#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <cstdint>
#include <string>

namespace redlock::cli {

/// How long before the end of the validity the command is gone: time for the kernel to end it, and for this process to
/// be late.
[[nodiscard]] std::chrono::milliseconds stop_margin(lock_options const&);
/// The longest time between the signal and KILL. Renewal begins after a third of the ttl: what is left then must be
/// enough for a few tries and for stopping the command, or the first lost packet would end it. A short maximum lifetime
/// limits it likewise. Not above zero where the time is too short to stop anything.
[[nodiscard]] std::chrono::milliseconds longest_kill_after(lock_options const&);

/// \throws failure, if the command could not be stopped before the lease ends
void check_times(options const&);

/// Watches a command and the lease that it runs under. When the validity is about to end, the command is told to stop
/// while there is still time for that, and killed before the validity has ended.
class supervisor {
public:
    supervisor(session&, lease const&, options const&, output const&);

    /// Until the command has ended, or, when it had to be stopped, until nothing of it is left.
    /// \return the exit status
    [[nodiscard]] int watch(child&);
    /// The command was told to stop.
    [[nodiscard]] bool stopped() const { return stage_ != stage::running; }

private:
    enum class stage : std::uint8_t { running, stopping, killed };
    using clock = std::chrono::steady_clock;

    void look();
    void look_again_in(std::chrono::nanoseconds);
    void stop(std::chrono::nanoseconds remaining);
    [[nodiscard]] bool knows_cause() const;
    void tell_why();
    void tell_why_at_last();
    void warn();
    /// "is lost (refused)"
    [[nodiscard]] std::string fate(std::chrono::nanoseconds remaining) const;
    [[nodiscard]] std::string troubles() const;
    void look_for_end();

    session& session_;
    lease const& lease_;
    options const& options_;
    output const& out_;
    boost::asio::steady_timer timer_;
    child* child_ = nullptr;
    std::chrono::nanoseconds const margin_;
    std::chrono::nanoseconds const kill_after_;
    clock::time_point const began_ = clock::now();
    clock::time_point kill_at_;
    stage stage_ = stage::running;
    std::chrono::nanoseconds left_at_stop_{};
    bool stoppable_ = true;
    bool told_ = false;
    bool over_ = false;
};

} // namespace redlock::cli
