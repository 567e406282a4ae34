// SPDX-License-Identifier: BSL-1.0
#include "chaos/left_lease.hpp"

#include <filesystem>
#include <fstream>
#include <system_error>

namespace redlock::chaos {

void leave_behind(left_lease const& left)
{
    write_will(left.file, left);
}

void write_will(std::string const& file, left_lease const& left)
{
    std::string const complete = file + '-' + std::to_string(left.owner);
    std::ofstream(complete) << left.nonce << ' ' << left.token << ' ' << left.owner << ' ' << left.ttl.count()
                            << ' ' << left.lock << ' ' << left.things << ' ' << left.file;
    std::filesystem::rename(complete, file);
}

std::optional<left_lease> take_left(std::string const& file, std::string const& unique)
{
    std::error_code none;
    std::filesystem::rename(file, unique, none);
    if (none)
        return std::nullopt;
    left_lease left;
    std::int64_t ttl{};
    std::ifstream(unique) >> left.nonce >> left.token >> left.owner >> ttl >> left.lock >> left.things >>
        left.file;
    left.ttl = std::chrono::milliseconds{ttl};
    std::filesystem::remove(unique);
    return left;
}

} // namespace redlock::chaos
