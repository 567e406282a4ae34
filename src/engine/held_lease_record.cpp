#include "engine/held_lease.hpp"
#include "engine/in_words.hpp"
#include "engine/lease_record.hpp"
#include "engine/replies.hpp"
#include "engine/words.hpp"

#include <chrono>
#include <mutex>
#include <new>
#include <utility>

// What a lease tells whoever is on call. Its record is written on the executor alone, and read under the guard.
namespace redlock::detail {

namespace {

/// Less than that is what a busy machine does, and a renewal that was late by it could have been said again.
constexpr int notable_part = 8;

constexpr core::instant never{};

std::string words_of_lease(node_report const& said, core::duration passed)
{
    auto const since = std::chrono::floor<std::chrono::milliseconds>(passed); // so that equal words meet
    std::string const when = ' ' + in_words(since) + " ago";
    std::string const words = said.detail ? " (" + *said.detail + ')' : "";
    switch (said.result) {
    case node_result::pending: return "silent for " + in_words(since);
    case node_result::granted: return "confirmed" + when;
    case node_result::held_by_other: return "does not hold its key" + when;
    default: return std::string(to_string(said.result)) + words + when;
    }
}

std::string story_of(lease_record const& told, core::instant end, std::vector<std::string> const& names)
{
    std::string text;
    if (told.late != core::duration::zero())
        text += "; this client's thread did not run for " + in_words(told.late);
    text += told.proven ? "; last confirmed " + in_words(core::elapsed(told.confirmed, end)) + " ago"
                        : "; never confirmed here";
    shared_words all;
    bool plain = true;
    for (std::size_t i = 0; i != told.rows.size(); ++i) {
        plain = plain && told.rows[i].result == node_result::granted;
        all.add(names[i], told.when[i] == never
                              ? "did not grant it"
                              : words_of_lease(told.rows[i], core::elapsed(told.when[i], end)));
    }
    text += plain ? "" : all.text();
    return text.replace(0, 1, ":");
}

std::vector<node_outcome> table_of(lease_record const& told, core::instant end,
                                   std::vector<std::string> const& names)
{
    auto table = to_table(told.rows, names);
    for (std::size_t i = 0; i != table.size(); ++i)
        if (told.when[i] != never)
            table[i].ago = std::chrono::floor<std::chrono::milliseconds>(core::elapsed(told.when[i], end));
    return table;
}

} // namespace

/// Without memory nothing is kept.
bool held_lease::open_record() noexcept
{
    if (record_)
        return true;
    try {
        auto made = std::make_unique<lease_record>(machine_.nodes());
        for (unsigned i = 0; i != machine_.nodes(); ++i) {
            if (!machine_.voted_for_us(i))
                continue;
            made->when[i] = machine_.confirmed_by(i);
            made->rows[i].result = node_result::granted;
        }
        made->confirmed = machine_.confirmed();
        made->proven = machine_.proven();
        record_ = std::move(made);
    } catch (std::bad_alloc const&) {
        return false;
    }
    return true;
}

void held_lease::keep(unsigned node, node_report&& said) noexcept
{
    bool const news = said.result != node_result::granted || record_;
    if (!news || machine_.phase() == core::lease_phase::lost)
        return;
    std::scoped_lock const guard(lock_->wanted->tables());
    if (!open_record())
        return;
    record_->rows[node] = std::move(said);
    record_->when[node] = on().loop().now();
}

void held_lease::keep_failure(unsigned node, net::failure const& why) noexcept
{
    node_report row;
    report_failure(why, row);
    keep(node, std::move(row));
}

void held_lease::keep_confirmation() noexcept
{
    if (!record_)
        return;
    std::scoped_lock const guard(lock_->wanted->tables());
    record_->confirmed = machine_.confirmed();
    record_->proven = true;
}

/// Its time is over.
void held_lease::keep_silence(unsigned node) noexcept
{
    node_report row;
    row.result = node_result::timed_out;
    keep(node, std::move(row));
}

/// All nodes confirm again.
void held_lease::forget_record() noexcept
{
    if (!record_ || machine_.votes() != machine_.nodes())
        return;
    std::scoped_lock const guard(lock_->wanted->tables());
    record_.reset();
}

/// Something that would have kept the lease was due so long before the end that only a thread that did not run can have
/// missed it: what the nodes said, or would have said, is then not the cause.
core::duration held_lease::late_by(core::instant now) const
{
    auto const due =
        machine_.extending() ? machine_.extension_sent() + lock_->plan->node_timeout : machine_.renewal_due();
    if (!due)
        return core::duration::zero();
    core::duration const late = core::elapsed(*due, now);
    bool const missed = core::elapsed(*due, machine_.deadline()) > core::duration::zero();
    return missed && late >= lock_->plan->terms.ttl / notable_part ? late : core::duration::zero();
}

/// What is told of a loss does not change after it.
void held_lease::close_record() noexcept
{
    core::instant const now = on().loop().read_clock();
    std::scoped_lock const guard(lock_->wanted->tables());
    if (!open_record())
        return;
    lease_record& told = *record_;
    told.ended = now;
    told.late = find_cause() == loss_cause::expired ? late_by(now) : core::duration::zero();
    core::instant const asked = machine_.extension_sent();
    for (unsigned i = 0; i != machine_.nodes(); ++i)
        if (machine_.awaits(i) && told.when[i].boot < asked.boot && told.late == core::duration::zero()) {
            told.rows[i] = {};
            told.when[i] = asked;
        }
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

lock_error held_lease::explain(boost::system::error_code ec) const
{
    bool const lost = ec == errc::lease_lost;
    loss_cause const why = lost ? cause() : loss_cause::none;
    std::string text = title(lock_->name());
    text += lost ? " lost" : ": " + ec.message();
    if (why != loss_cause::none)
        text.append(" (").append(to_string(why)).append(")");
    std::vector<node_outcome> table;
    if (lost || ec == errc::no_quorum) {
        auto const& names = on().its.settings().names;
        std::scoped_lock const guard(lock_->wanted->tables());
        if (record_) {
            core::instant const end =
                record_->ended == core::instant{} ? on().its.read_clocks() : record_->ended;
            text += story_of(*record_, end, names);
            table = table_of(*record_, end, names);
        }
    }
    return {ec, std::move(text), std::move(table), {}, lock_->name(), why};
}

} // namespace redlock::detail
