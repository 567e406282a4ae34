#include "core/validity.hpp"
#include "model/rules.hpp"
#include "model/schedule.hpp"

#include <string>

// On whose memory a client may rely: admission, markers, and what users answer for.

namespace redlock::model {

/// Long ago, by somebody who has gone; or nobody has had fenced locks there yet.
void schedule::prepare_marker(unsigned n)
{
    server& s = servers_[n];
    if (terrain_.newcomers) {
        s.durable = dice_.one_in(4);
        s.seems_durable = !s.durable && dice_.one_in(3);
        s.hides_uptime = dice_.one_in(6);
        if (dice_.one_in(2))
            return;
    }
    millis const then = wall(s) - for_long / one_milli;
    lineages_.push_back(-for_long);
    markers_.push_back({life(n), static_cast<std::uint32_t>(lineages_.size() - 1), then, then});
    s.data.mark = static_cast<marker>(markers_.size());
}

/// Locks of one name: plain and fenced ones, long and short ones. Either all know of the longest (condition C6), or each
/// knows of its own.
void schedule::prepare_locks(std::vector<lock_terms>& locks)
{
    terrain& t = terrain_;
    locks.assign(t.clients, {t.fenced, t.terms, t.px, t.fence_px, t.px});
    if (!t.newcomers)
        return;
    t.all_fenced = dice_.one_in(2);
    bool const told = !dice_.one_in(8);
    if (!told)
        time_counts_ = false;
    clocks_apart_ = clocks_apart_ || !told;
    for (lock_terms& its : locks) {
        its.fenced = t.all_fenced || dice_.one_in(2);
        millis const ttl = dice_.one_in(3) ? t.ttl : dice_.between(t.ttl / 4, t.ttl);
        its.lease.fenced = its.fenced;
        its.lease.ttl = core::milliseconds{ttl};
        its.px = core::key_ttl(core::milliseconds{ttl}, core::milliseconds{t.slack}).count();
        its.longest = told && applies(rule::others_longer_locks_count) ? t.px : its.px;
    }
}

std::uint32_t schedule::life(unsigned n) const
{
    return static_cast<std::uint32_t>(servers_[n].run) << 16 | servers_[n].history;
}

/// May a user who knows everything say so? Nothing is uncertain, or the marker tells what is.
bool schedule::seems_fresh(unsigned c, unsigned n) const
{
    server const& s = servers_[n];
    if (now_ - s.lost_at > 2 * terrain_.px * one_milli)
        return true;
    return clients_[c].wants.fenced && s.data.mark != 0 &&
           lineages_[markers_[s.data.mark - 1].lineage] >= s.lost_at;
}

/// A user's word that nothing was lost before the first meeting also stands for the time until this client leaves its
/// marker.
bool schedule::relies_on_absence(unsigned c, unsigned n) const
{
    link const& line = links_[c][n];
    return clients_[c].wants.fenced && line.known.met && line.terms.assume_fresh && line.seen.lineage == 0 &&
           line.known.last == core::acquaintance::event::started;
}

core::admission_terms schedule::words_of(unsigned c, unsigned n)
{
    server const& s = servers_[n];
    if (!terrain_.newcomers)
        return {.assume_fresh = true};
    bool const word = dice_.one_in(2);
    return {.assume_fresh = dice_.one_in(2) && seems_fresh(c, n),
            .durable = (s.durable && word) || (s.seems_durable && !applies(rule::settings_excuse_nothing))};
}

void schedule::meet(unsigned c, unsigned n)
{
    link& line = links_[c][n];
    server const& s = servers_[n];
    if (!line.known.met)
        line.terms = words_of(c, n);
    core::node_facts facts;
    facts.run_id = "run " + std::to_string(s.run);
    facts.replid = "id " + std::to_string(s.history);
    if (!s.hides_uptime)
        facts.uptime = std::chrono::seconds{(wall(s) - s.started) / 1000};
    bool const excused = line.terms.durable && !applies(rule::durability_does_not_excuse_promotion);
    facts.promoted = s.promoted && !excused;
    core::instant const now = clock(c);
    line.known = core::meet(facts, line.known, line.heard, line.terms, now);
    line.heard = now;
    line.mark = 0;
    line.marked_since.reset();
    if (line.seen.lineage != 0 || line.known.last == core::acquaintance::event::met_promoted)
        ask_marker(c, n);
    await_the_end_of_quarantine(c, n);
}

void schedule::await_the_end_of_quarantine(unsigned c, unsigned n)
{
    if (auto const until = quarantine(c, n); until && terrain_.waiting)
        push(true_time(c, *until) + one_milli, happening::ready, c, n);
}

/// Before the first fenced vote on each connection.
void schedule::ask_markers(unsigned c)
{
    if (!clients_[c].wants.fenced)
        return;
    for (unsigned n = 0; n != terrain_.nodes; ++n)
        if (links_[c][n].up && links_[c][n].mark == 0) {
            ask_marker(c, n);
            await_the_end_of_quarantine(c, n);
        }
}

mark_call schedule::call_of(unsigned c, unsigned n)
{
    link const& line = links_[c][n];
    auto const& since = line.known.certain_since;
    mark_call call{.life = life(n),
                   .lineage = static_cast<std::uint32_t>(lineages_.size()),
                   .certain_for = {},
                   .absence_is_excused = relies_on_absence(c, n) || line.terms.durable,
                   .seen = line.seen};
    if (since)
        call.certain_for =
            std::chrono::floor<std::chrono::milliseconds>(core::remaining(clock(c), *since)).count();
    return call;
}

void schedule::leave_marker(unsigned n, mark_call const& call)
{
    server& s = servers_[n];
    touch(s);
    std::optional<marker_text> stands;
    if (s.data.mark != 0)
        stands = markers_[s.data.mark - 1];
    marker_text const text = mark(stands, call, s.data.clock);
    if (text.lineage == lineages_.size())
        lineages_.push_back(text.since != 0 ? now_ : -for_long);
    if (stands && *stands == text)
        return;
    markers_.push_back(text);
    s.data.mark = static_cast<marker>(markers_.size());
}

/// The script's way there and back takes no time: what matters between it and the votes is what they compare.
void schedule::ask_marker(unsigned c, unsigned n)
{
    link& line = links_[c][n];
    mark_call const call = call_of(c, n);
    leave_marker(n, call);
    server const& s = servers_[n];
    marker_text const& text = markers_[s.data.mark - 1];
    if (line.seen.lineage != 0 && line.seen.lineage != text.lineage &&
        applies(rule::another_lineage_is_a_loss))
        line.known = core::lost_data(line.known, clock(c));
    bool const excused = !call.certain_for || !applies(rule::word_is_its_givers_own);
    millis const from = excused ? text.since : text.placed;
    line.marked_since.reset();
    if (from != 0)
        line.marked_since = clock(c) - std::chrono::milliseconds{s.data.clock - from};
    line.seen = {text.lineage, s.data.clock};
    line.mark = s.data.mark;
    if (line.known.last == core::acquaintance::event::met_promoted && line.marked_since)
        line.known.certain_since = line.marked_since;
    if (log_)
        *log_ += "    " + std::string(1, static_cast<char>('A' + c)) + " finds or leaves marker " +
                 std::to_string(text.life) + "/" + std::to_string(text.lineage) + "/" +
                 std::to_string(text.since) + "/" + std::to_string(text.placed) + " on node " +
                 std::to_string(n + 1) + " at " + std::to_string(s.data.clock) +
                 (excused ? ", by word\n" : "\n");
}

std::optional<core::instant> schedule::quarantine(unsigned c, unsigned n) const
{
    if (!applies(rule::quarantine_after_a_restart))
        return std::nullopt;
    lock_terms const& its = clients_[c].wants;
    link const& line = links_[c][n];
    millis longest = applies(rule::quarantine_covers_the_longest_key) ? its.longest : its.longest / 4;
    if (!applies(rule::quarantine_covers_the_slack))
        longest -= terrain_.slack;
    auto const since =
        its.fenced ? core::later(line.known.certain_since, line.marked_since) : line.known.certain_since;
    return core::quarantined_until(since, core::quarantine_length(std::chrono::milliseconds{longest}),
                                   clock(c));
}

bool schedule::usable(unsigned c, unsigned n) const
{
    link const& line = links_[c][n];
    return line.up && (line.mark != 0 || !clients_[c].wants.fenced) && !quarantine(c, n);
}

/// A process ends that holds nothing, and another one comes in its place.
void schedule::come_anew(unsigned c)
{
    client& me = clients_[c];
    if (me.now != client::doing::resting && me.now != client::doing::pausing)
        return;
    count(fault::newcomer);
    me.highest_seen = 0;
    me.refusals = 0;
    for (unsigned n = 0; n != terrain_.nodes; ++n) {
        reset(c, n, dice_.one_in(4));
        link& line = links_[c][n];
        line.known = {};
        line.heard = {};
        line.seen = {};
        line.debts = {};
    }
    me.now = client::doing::resting;
    wake(c, now_ + dice_.between(5, 15) * one_milli);
}

/// After each fault: to meet what it has left, beside the lease that still lives.
void schedule::somebody_comes()
{
    if (!terrain_.newcomers)
        return;
    auto const first = static_cast<unsigned>(dice_.below(terrain_.clients));
    for (unsigned i = 0; i != terrain_.clients; ++i)
        if (dice_.one_in(2))
            come_anew((first + i) % terrain_.clients);
}

/// Somebody whose user answers for the node, wrongly, leaves a marker and asks for no lock.
void schedule::pass_by(unsigned n)
{
    leave_marker(n, {.life = life(n),
                     .lineage = static_cast<std::uint32_t>(lineages_.size()),
                     .certain_for = {},
                     .absence_is_excused = true,
                     .seen = {}});
}

} // namespace redlock::model
