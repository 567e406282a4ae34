// SPDX-License-Identifier: BSL-1.0
#include <redlock/redlock.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/system/system_error.hpp>

#include <iostream>

/// Builds against the installed package and calls into the library; needs no server.
int main()
{
    boost::asio::io_context context;
    redlock::config settings;
    settings.nodes = {"redis://127.0.0.1:not-a-port"};
    try {
        redlock::client locks{context.get_executor(), settings};
    } catch (boost::system::system_error const& refused) {
        if (refused.code() == redlock::errc::misconfigured) {
            std::cout << "redlock " << REDLOCK_VERSION_MAJOR << '.' << REDLOCK_VERSION_MINOR << '.'
                      << REDLOCK_VERSION_PATCH << " refused a bad URL: " << refused.what() << '\n';
            return 0;
        }
    }
    std::cerr << "a client accepted a URL that names no port\n";
    return 1;
}
