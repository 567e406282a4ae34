// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include <functional>
#include <utility>

namespace redlock::cli {

/// The signals that end the tool, or that are passed to the command. Signals that were ignored when the tool was
/// started (nohup, a shell's background) stay ignored.
class signals {
public:
    using handler = std::function<void(int)>;

    explicit signals(boost::asio::io_context&);

    /// `told` receives the signals from now on.
    void on_signal(handler told) { told_ = std::move(told); }

    /// The last signal that asked to end: INT or TERM; 0: none. HUP may ask a command to read its files again, QUIT for a
    /// list of its threads.
    [[nodiscard]] int asked_to_end() const { return asked_to_end_; }

    /// Restores the former handling: nothing keeps the context busy any more.
    void stop();

    /// Ends this process as the signal would have without the tool's handler.
    [[noreturn]] void die_of(int signal);

private:
    void wait();

    boost::asio::signal_set set_;
    handler told_;
    int asked_to_end_ = 0;
};

} // namespace redlock::cli
