// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string_view>

namespace redlock::test {

/// A row of a table: figures of ordinary operations and of special ones, and of all.
struct fleet_row {
    enum column : std::uint8_t { rate, p50, p99, longest, p99_ratio, longest_ratio, of_one_class };
    enum common : std::uint8_t { sent = 2 * of_one_class, executed, server_us, columns };

    double& at(bool special, column which)
    {
        return figures.at(which + (special ? std::size_t{of_one_class} : 0));
    }

    /// Fills in the ratios: waits of both classes over those of a mutex's waiters.
    void compare(fleet_row& mutex)
    {
        for (bool const special : {false, true}) {
            at(special, p99_ratio) = at(special, p99) / mutex.at(false, p99);
            at(special, longest_ratio) = at(special, longest) / mutex.at(false, longest);
        }
    }

    std::array<double, columns> figures{};
};

inline void print_fleet_head()
{
    constexpr char head[] = " %8s %8s %8s %8s %6s %6s";
    std::printf("%7s %-10s", "clients", "");
    for (int i = 0; i != 2; ++i)
        std::printf(head, "leases/s", "p50 ms", "p99 ms", "longest", "p99", "most");
    std::printf(" %6s %8s %6s\n", "sent", "executed", "us");
}

inline void print_fleet_row(std::string_view name, unsigned clients, fleet_row const& row)
{
    constexpr std::array precisions{1, 1, 1, 1, 2, 2};
    std::printf("%7u %-10.*s", clients, static_cast<int>(name.size()), name.data());
    for (std::size_t i = 0; i != 2 * precisions.size(); ++i) {
        std::size_t const which = i % precisions.size();
        std::printf(" %*.*f", which < 4 ? 8 : 6, precisions.at(which), row.figures.at(i));
    }
    std::printf(" %6.1f %8.1f %6.0f\n", row.figures[fleet_row::sent], row.figures[fleet_row::executed],
                row.figures[fleet_row::server_us]);
    std::fflush(stdout);
}

} // namespace redlock::test
