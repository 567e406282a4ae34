// SPDX-License-Identifier: BSL-1.0
// rules Q20 and S12
#include "engine/held_lease.hpp"

// A writer that becomes a reader (docs/protocol.md, rule S12).
namespace redlock::detail {

/// The old deadline stands until a majority has confirmed it as a reader.
void held_lease::downgrade()
{
    take_up();
    if (over())
        return;
    if (lose_if_over())
        return leave_key();
    downgraded_ = true;
    stop_watching();
    tell(event::downgraded);
    start_extension();
    if (!over())
        lock().wanted->downgraded(*this);
}

} // namespace redlock::detail
