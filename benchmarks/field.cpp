// SPDX-License-Identifier: BSL-1.0
#include "field.hpp"

#include "sockets.hpp"

#include <stdexcept>
#include <string>
#include <string_view>

namespace redlock::bench {

namespace {

/// Returns how many commands one server has executed so far.
std::uint64_t executed_by(std::uint16_t port)
{
    constexpr std::string_view question = "INFO stats\r\n";
    constexpr std::string_view figure = "total_commands_processed:";
    descriptor const server{connect_loopback(port)};
    if (::write(server.get(), question.data(), question.size()) != static_cast<ssize_t>(question.size()))
        throw std::runtime_error{"INFO"};
    std::string told;
    for (char chunk[4096]; told.find("\r\n", told.find(figure)) == told.npos;) {
        auto const bytes = ::read(server.get(), chunk, sizeof chunk);
        if (bytes <= 0)
            throw std::runtime_error{"INFO"};
        told.append(chunk, static_cast<std::size_t>(bytes));
    }
    return std::stoull(told.substr(told.find(figure) + figure.size()));
}

} // namespace

field::field(std::size_t nodes, std::chrono::microseconds delay, int server_cpu)
    : fleet_(nodes, server_cpu), servers_(fleet_.ports().begin(), fleet_.ports().end()), doors_(servers_)
{
    if (delay.count() == 0)
        return;
    network_.emplace(servers_, delay);
    doors_.assign(network_->ports().begin(), network_->ports().end());
}

std::uint64_t field::executed() const
{
    std::uint64_t sum = 0;
    for (auto const port : servers_)
        sum += executed_by(port);
    return sum;
}

double field::cpu_us() const
{
    double sum = 0;
    for (auto const server : fleet_.ids(servers_.size()))
        sum += cpu_time_us(server);
    return sum;
}

} // namespace redlock::bench
