// SPDX-License-Identifier: BSL-1.0
#include "engine/lease_history.hpp"

#include "core/memory.hpp"
#include "engine/in_words.hpp"
#include "engine/words.hpp"
#include "redis/server_words.hpp"

#include <chrono>
#include <utility>

namespace redlock::detail {

namespace {

constexpr core::instant never{};

std::string words_of_lease(node_report const& said, core::duration passed,
                           std::span<std::string const> several)
{
    // Nodes with equal words share an entry.
    auto const since = std::chrono::floor<std::chrono::milliseconds>(passed);
    std::string const when = ' ' + in_words(since) + " ago";
    std::string const words = said.detail ? " (" + *said.detail + ')' : "";
    switch (said.result) {
    case node_result::pending: return "silent for " + in_words(since);
    case node_result::granted: return "confirmed" + when;
    case node_result::held_by_other:
        return "does not hold " +
               (said.which >= several.size() ? "its key"
                                             : '"' + redis::quote_name(several[said.which]) + '"') +
               when;
    default: return std::string(to_string(said.result)) + words + when;
    }
}

std::string text_of(lease_history::record const& told, core::instant end,
                    std::vector<std::string> const& names, std::span<std::string const> several)
{
    std::string text;
    if (told.late != core::duration::zero())
        text += "; this client's thread was late by " + in_words(told.late);
    text += told.confirmed_once ? "; last confirmed " + in_words(core::elapsed(told.confirmed, end)) + " ago"
                                : "; never confirmed here";
    shared_words all;
    bool plain = true;
    for (std::size_t i = 0; i != told.rows.size(); ++i) {
        plain = plain && told.rows[i].result == node_result::granted;
        all.add(names[i], told.when[i] == never
                              ? "did not grant it"
                              : words_of_lease(told.rows[i], core::elapsed(told.when[i], end), several));
    }
    text += plain ? "" : all.text();
    text.front() = ':';
    return text;
}

std::vector<node_outcome> table_of(lease_history::record const& told, core::instant end,
                                   std::vector<std::string> const& names,
                                   std::span<std::string const> several)
{
    auto table = to_table(told.rows, names, several);
    for (std::size_t i = 0; i != table.size(); ++i)
        if (told.when[i] != never)
            table[i].ago = std::chrono::floor<std::chrono::milliseconds>(core::elapsed(told.when[i], end));
    return table;
}

boost::intrusive_ptr<lease_history::record> record_of(core::lease_facts const& known)
{
    boost::intrusive_ptr<lease_history::record> made(new lease_history::record(known.nodes));
    for (unsigned i = 0; i != known.nodes; ++i) {
        if (!known.holders.contains(i))
            continue;
        made->when[i] = known.confirmed_by(i);
        made->rows[i].result = node_result::granted;
    }
    made->confirmed = known.confirmed;
    made->confirmed_once = known.confirmed_once;
    return made;
}

} // namespace

bool lease_history::open(core::lease_facts const& known) noexcept
{
    if (record_)
        return true;
    return core::if_memory_allows([&] { record_ = record_of(known); });
}

void lease_history::keep(std::mutex& guard, core::lease_facts const& known, unsigned node, node_report&& said,
                         core::instant now) noexcept
{
    if (said.result == node_result::granted && !record_)
        return;
    std::scoped_lock const held(guard);
    if (!open(known))
        return;
    record_->rows[node] = std::move(said);
    record_->when[node] = now;
}

void lease_history::share(std::mutex& guard, lease_history const& other) noexcept
{
    std::scoped_lock const held(guard);
    record_ = other.record_;
}

void lease_history::confirm(std::mutex& guard, core::lease_facts const& known) noexcept
{
    if (!record_)
        return;
    std::scoped_lock const held(guard);
    record_->confirmed = known.confirmed;
    record_->confirmed_once = true;
}

void lease_history::begin_round(std::mutex& guard, core::lease_facts const& known) noexcept
{
    if (!record_ || known.holders.size() != known.nodes)
        return;
    std::scoped_lock const held(guard);
    record_.reset();
}

void lease_history::close(std::mutex& guard, core::lease_facts const& known, core::node_set silent,
                          core::duration late, core::instant now) noexcept
{
    std::scoped_lock const held(guard);
    if (!open(known) || record_->ended != core::instant{}) // shared, and told by another
        return;
    record& told = *record_;
    told.ended = now;
    told.late = late;
    if (late != core::duration::zero())
        return; // the nodes may have answered in time
    for (unsigned i = 0; i != known.nodes; ++i)
        if (silent.contains(i) &&
            told.when[i].boot < known.asked.boot) { // has said nothing since it was asked
            told.rows[i] = {};
            told.when[i] = known.asked;
        }
}

void lease_history::tell(std::mutex& guard, core::instant now, std::vector<std::string> const& names,
                         std::span<std::string const> several, std::string& text,
                         std::vector<node_outcome>& table) const
{
    std::scoped_lock const held(guard);
    if (!record_)
        return;
    core::instant const end = record_->ended == core::instant{} ? now : record_->ended;
    text += text_of(*record_, end, names, several);
    table = table_of(*record_, end, names, several);
}

} // namespace redlock::detail
