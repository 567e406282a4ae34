// SPDX-License-Identifier: BSL-1.0
// redlock_null_responder [nodes]: prints its ports and serves them until it is ended;
// for strace, perf and other clients.
#include "null_responder.hpp"
#include "sockets.hpp"

#include <cstdio>
#include <cstdlib>
#include <vector>

int main(int argc, char** argv)
{
    auto const nodes = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 3UL;
    std::vector<redlock::bench::descriptor> listeners;
    std::vector<int> fds;
    for (unsigned long index = 0; index < nodes; ++index) {
        listeners.push_back(redlock::bench::bind_loopback(0, SOCK_NONBLOCK));
        if (::listen(listeners.back().get(), 64) != 0)
            return 1;
        fds.push_back(listeners.back().get());
        std::printf("%u\n", static_cast<unsigned>(redlock::bench::local_port(listeners.back())));
    }
    std::fflush(stdout);
    redlock::bench::serve_null(fds);
}
