#include "lock/node_table.hpp"

#include "lock/admissions.hpp"
#include "lock/clock.hpp"
#include "redis/server_words.hpp"

namespace redlock::lock {

node_table::node_table(std::vector<std::string> const& names)
{
    for (auto const& name : names)
        rows_.push_back({{name, node_state::idle, {}, {}}, {}});
}

void node_table::enter(unsigned node, node_state state, net::failure const& why)
{
    std::scoped_lock const guard(lock_);
    row& changed = rows_[node];
    changed.shown.state = state;
    changed.shown.detail = why.detail;
    changed.why = why;
}

void node_table::remark(unsigned node, std::string_view script, std::string_view words)
{
    std::scoped_lock const guard(lock_);
    rows_[node].shown.detail.assign(script).append(": ").append(redis::quote(words));
}

void node_table::refuse_fenced(unsigned node, core::instant until)
{
    std::scoped_lock const guard(lock_);
    rows_[node].fenced_from = until;
}

std::vector<node_status> node_table::rows() const
{
    std::scoped_lock const guard(lock_);
    std::vector<node_status> shown;
    core::instant const now = read_clocks();
    for (row const& r : rows_) {
        shown.push_back(r.shown);
        if (r.shown.state == node_state::ready && !core::reached(r.fenced_from, now)) {
            shown.back().detail = fenced_refusal;
            shown.back().remaining = quarantine_left(r.fenced_from, now);
        }
        if (r.shown.state != node_state::quarantined)
            continue;
        shown.back().detail = quarantine_story(r.why, now);
        shown.back().remaining = quarantine_left(r.why.until, now);
    }
    return shown;
}

} // namespace redlock::lock
