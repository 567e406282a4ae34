#include "net/random.hpp"

#include <random>

namespace redlock::net {

core::random_fraction random_bits()
{
    thread_local std::minstd_rand generator{std::random_device{}()};
    return static_cast<core::random_fraction>(generator()) << 1;
}

} // namespace redlock::net
