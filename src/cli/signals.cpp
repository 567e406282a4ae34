// SPDX-License-Identifier: BSL-1.0
#include "cli/signals.hpp"

#include "cli/exit_status.hpp"

#include <boost/system/error_code.hpp>

#include <unistd.h>

#include <csignal>
#include <cstdlib>

namespace redlock::cli {

signals::signals(boost::asio::io_context& context) : set_(context)
{
    for (int const signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2}) {
        struct sigaction now {};
        ::sigaction(signal, nullptr, &now);
        if (now.sa_handler != SIG_IGN)
            set_.add(signal);
    }
    wait();
}

void signals::wait()
{
    set_.async_wait([this](boost::system::error_code ec, int signal) {
        if (ec)
            return;
        if (signal == SIGINT || signal == SIGTERM)
            asked_to_end_ = signal;
        if (told_)
            told_(signal);
        wait();
    });
}

void signals::stop()
{
    boost::system::error_code ignored;
    set_.cancel(ignored);
    set_.clear(ignored);
}

void signals::die_of(int signal)
{
    stop();
    ::signal(signal, SIG_DFL);
    ::raise(signal);
    std::_Exit(exit_status::by_signal + signal); // reached if the signal is blocked
}

} // namespace redlock::cli
