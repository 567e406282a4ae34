#include "model/faults.hpp"

namespace redlock::model {

char const* name(fault f)
{
    constexpr std::array<char const*, fault_kinds> names{"request dropped",
                                                         "reply dropped",
                                                         "request delayed",
                                                         "reply delayed",
                                                         "vote duplicated",
                                                         "connection reset",
                                                         "old connection delivers late",
                                                         "client paused",
                                                         "client suspended",
                                                         "client clock fast",
                                                         "client clock slow",
                                                         "client BOOTTIME slewed",
                                                         "client wall clock off",
                                                         "node clock steps forward",
                                                         "node clock steps back",
                                                         "node clock slewed",
                                                         "node restarts empty",
                                                         "node restarts with old data",
                                                         "replica promoted",
                                                         "FLUSHALL",
                                                         "marker lost",
                                                         "fence expired",
                                                         "SCRIPT FLUSH",
                                                         "out of memory",
                                                         "READONLY",
                                                         "node stalled",
                                                         "release lost",
                                                         "release delayed",
                                                         "renewal late",
                                                         "extension reply later than L",
                                                         "requests blocked one way",
                                                         "replies blocked one way",
                                                         "minority unreachable",
                                                         "majority unreachable",
                                                         "cancelled while voting",
                                                         "cancelled while raising",
                                                         "cancelled while pausing",
                                                         "lease destroyed",
                                                         "clients start together",
                                                         "other timer late",
                                                         "word lost",
                                                         "word delayed",
                                                         "tracking table full",
                                                         "a newcomer",
                                                         "a false word"};
    return names[static_cast<std::size_t>(f)];
}

} // namespace redlock::model
