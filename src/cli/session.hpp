// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "cli/exit_status.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/signals.hpp"
#include <redlock/redlock.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/system/error_code.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::cli {

/// One client, one lock, and the loop that runs them: all work of the tool happens inside its calls.
class session {
public:
    /// \throws lock_error `errc::misconfigured`
    session(options const&, output const&);

    [[nodiscard]] boost::asio::io_context& context() { return context_; }
    [[nodiscard]] client& locks() { return client_; }
    [[nodiscard]] signals& caught() { return signals_; }
    /// From now on a signal ends this process at once: there is nothing to roll back.
    void end_by_signals()
    {
        signals_.on_signal([this](int signal) { signals_.die_of(signal); });
    }
    /// Continues a lease of another process.
    /// \throws lock_error `errc::misconfigured`
    [[nodiscard]] lease adopt(std::string_view nonce, std::uint64_t fencing_token = 0);

    /// Waits for the lock as the options say. If a signal comes meanwhile, it undoes the attempt and dies of the
    /// signal.
    /// \throws failure
    [[nodiscard]] lease acquire();
    /// The same until this process leads, and observers can read its value.
    /// \throws failure
    [[nodiscard]] leadership campaign(election&, std::string const& value);

    /// Runs the loop until the operation is done: `wait([&](auto token) { return held.release(token); })`.
    template <class Operation>
    boost::system::error_code wait(Operation operation)
    {
        boost::system::error_code result;
        bool done = false;
        operation([&](boost::system::error_code ec) {
            result = ec;
            done = true;
        });
        run_until(done);
        return result;
    }
    void run_until(bool const& done);

    /// A majority is enough for a fenced lock; here the nodes that were connected too late get the key, too.
    void complete(lease&);
    /// If a signal asked to end since the lock was acquired, releases it and dies of the signal.
    void heed_signal(lease&);
    /// Repeats the extension while too few nodes are connected to decide.
    boost::system::error_code extend(lease&);
    boost::system::error_code release(lease&);

    /// Waits for pending work: returns when the nodes have answered, or after a while.
    void settle();

    /// "redis://b:6379 down (Connection refused)": the nodes with problems.
    [[nodiscard]] std::string troubles() const;

private:
    struct position_in_queue;

    [[nodiscard]] static any_lock make_lock(client&, options const&);
    template <class Lock>
    [[nodiscard]] static any_lock make_shared_lock(client&, options const&);
    /// \param start receives the handler
    template <class Won, class Start>
    [[nodiscard]] Won win(Start start);
    /// \throws failure
    [[noreturn]] void fail(std::exception_ptr const&);
    /// Adds an observer that keeps the last position in the queue.
    [[nodiscard]] config watched(config);
    [[nodiscard]] std::vector<node_outcome> last_attempt() const;
    void explain_waiting();
    [[nodiscard]] std::string obstacle() const;
    [[nodiscard]] bool connecting() const;
    [[noreturn]] void give_way_to(int signal);
    void drain(std::chrono::milliseconds longest);

    options const& options_;
    output const& out_;
    boost::asio::io_context context_{1};
    signals signals_{context_};
    std::shared_ptr<position_in_queue> position_;
    client client_;
    any_lock lock_;
    boost::asio::steady_timer silence_{context_};
    bool waiting_ = false;
};

/// \param table the nodes' last answers
[[nodiscard]] failure failure_of(lock_error const&, std::vector<node_outcome> const& table, options const&);

/// The time for an operation on a lease of another process: the client has to connect first.
[[nodiscard]] std::chrono::milliseconds unhurried(lock_options const&);

} // namespace redlock::cli
