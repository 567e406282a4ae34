// SPDX-License-Identifier: BSL-1.0
#include "engine/held_lease.hpp"
#include "engine/replies.hpp"
#include "engine/words.hpp"
#include <redlock/detail/error_access.hpp>
#include <redlock/node_outcome.hpp>

#include <new>
#include <utility>
#include <vector>

// The details of a lease, for operators.
namespace redlock::detail {

void held_lease::keep(unsigned node, node_report&& said) noexcept
{
    if (!is_lost()) // the story of a loss does not change any more
        history_.keep(lock().wanted->tables(), facts(), node, std::move(said), on().loop().now());
}

void held_lease::keep_failure(unsigned node, net::failure const& why) noexcept
{
    node_report row;
    report_failure(why, row);
    keep(node, std::move(row));
}

/// Its time is over.
void held_lease::keep_silence(unsigned node) noexcept
{
    node_report row;
    row.result = node_result::timed_out;
    keep(node, std::move(row));
}

void held_lease::tell_loss()
{
    std::string text;
    try {
        if (on().its.watcher())
            text = explain(errc::lease_lost).what();
    } catch (std::bad_alloc const&) { // the event has its cause all the same
    }
    tell(event::lost, {}, text);
}

lock_error held_lease::explain(boost::system::error_code ec, lock_stage stage) const
{
    bool const lost = ec == errc::lease_lost;
    loss_cause const why = lost ? cause() : loss_cause::none;
    std::string text = title(lock().name());
    text += lost ? " lost" : ": " + ec.message();
    if (why != loss_cause::none)
        text.append(" (").append(to_string(why)).append(")");
    std::vector<node_outcome> table;
    if (lost || ec == errc::no_quorum)
        history_.tell(lock().wanted->tables(), on().its.read_clocks(), on().its.settings().names,
                      lock().key().several, text, table);
    if (!lost && table.empty())
        return lock().explain(ec, stage);
    return error_access::make(ec, std::move(text), std::move(table), {}, lock().name(), why, stage);
}

} // namespace redlock::detail
