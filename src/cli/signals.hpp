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

    /// Restores the former handling: nothing keeps the context busy any more.
    void stop();

    /// Ends this process as the signal would have without the tool's handler.
    [[noreturn]] void die_of(int signal);

private:
    void wait();

    boost::asio::signal_set set_;
    handler told_;
};

} // namespace redlock::cli
