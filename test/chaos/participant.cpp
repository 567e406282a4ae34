// SPDX-License-Identifier: BSL-1.0
#include "chaos/participant.hpp"

#include "chaos/actor.hpp"

#include <stdexcept>

namespace redlock::chaos {

participant::participant(stage const& where)
    : where_(where), journal_(where.directory + "/journal"), guarded_(where.guarded, 60s)
{
    config const settings = draw_config(all_, where.program, where.nodes);
    locks.emplace(context.get_executor(), settings);
    for (part const& one : draw_parts(all_, where.program))
        actors_.emplace_back(*this, static_cast<unsigned>(actors_.size()), one);
    if (all_.has_election) {
        watched_.emplace(*locks, name_of_thing(thing_of(election_lock)),
                         lock_options{.ttl = all_.longest_ttl, .slack = all_.longest_ttl / 4});
        spawn(watch_leader());
        spawn(ask_for_leader());
    }
    if (all_.spare_node)
        spawn(change_nodes(settings.nodes));
}

void participant::run()
{
    for (actor& one : actors_)
        spawn(one.run());
    while (!context.stopped()) {
        context.run_for(tick);
        on_tick();
    }
    note({.at = now(), .what = event::leaves});
}

void participant::on_tick()
{
    ++ticks_;
    for (actor& one : actors_)
        one.look();
    std::erase_if(under_way_, [this](auto const& one) {
        auto [what, last_tick] = one.second;
        if (ticks_ <= last_tick)
            return false;
        what.at = now();
        what.value = static_cast<std::uint64_t>(std::exchange(what.what, event::overdue));
        note(what);
        return true;
    });
    calm_ = calm_ || is_said("calm");
    if (!leaving_ && (is_said("leave") || is_said("leave-" + std::to_string(where_.program))))
        leave();
}

awaitable<void> participant::watch_leader()
{
    leader_info seen;
    while (!leaving_) {
        auto [ec, news] = co_await watched_->observe(seen, no_throw);
        if (ec) {
            co_await pause(100ms);
            continue;
        }
        note_news({.actor = leader_watcher}, news);
        seen = std::move(news);
    }
}

awaitable<void> participant::ask_for_leader()
{
    entry its{.actor = leader_asker, .lock = election_lock, .what = event::asks_leader};
    while (!leaving_) {
        ++its.operation;
        its.at = now();
        note(its);
        auto const [ec, news] = co_await in_time(its, one_attempt, watched_->leader(no_throw));
        if (!ec)
            note_news(its, news);
        co_await pause(milliseconds{chance_.between(1, 500)});
    }
}

void participant::note_news(entry its, leader_info const& news)
{
    its.at = now();
    its.lock = election_lock;
    its.value = version_of(news.term, news.revision);
    its.what = news.vacant ? event::hears_vacant : news.confirmed ? event::hears_surely : event::hears;
    note(its);
    if (news.vacant)
        return;
    its.what = event::author;
    its.value = std::stoull(news.value);
    note(its);
}

/// Takes the spare node out of the list and puts it back. In the end every program has all nodes.
awaitable<void> participant::change_nodes(std::vector<std::string> all_nodes)
{
    auto fewer = all_nodes;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(*all_.spare_node));
    entry its{.actor = node_changer};
    for (bool complete = true; !leaving_ && !(calm_ && complete);) {
        co_await pause(calm_ ? 10ms : milliseconds{chance_.between(1, 3000)});
        if (leaving_)
            co_return;
        bool const wants_all = calm_ || chance_.one_in(2);
        ++its.operation;
        its.at = now();
        its.what = event::changes;
        its.value = wants_all ? 1 : 0;
        note(its);
        auto const [ec] = co_await locks->change_nodes(wants_all ? all_nodes : fewer, no_throw);
        if (ec == errc::misconfigured)
            throw std::runtime_error("the client refuses other nodes");
        complete = wants_all && !ec;
        its.at = now();
        its.what = event::has_changed;
        its.value = static_cast<std::uint64_t>(ec.value());
        note(its);
        for (actor& one : actors_)
            one.look_again();
    }
}

/// Leaves by shutdown or by destroying the client. No work may be left after that.
void participant::leave()
{
    leaving_ = true;
    for (actor& one : actors_)
        one.is_ended();
    under_way_[0] = {{.what = event::leaves}, ticks_ + (one_attempt + patience) / tick};
    if (where_.program % 2 == 0)
        return locks.reset();
    locks->shutdown([this](error_code) { locks.reset(); });
}

std::string participant::ask_register(std::string_view script, unsigned thing, std::uint64_t token,
                                      std::uint64_t value)
{
    std::string const key = "register-" + std::to_string(thing);
    return guarded_.command({"EVAL", std::string(script), "2", key, key + ":fence", std::to_string(token),
                             std::to_string(value)});
}

void participate(stage const& where)
{
    participant(where).run();
}

} // namespace redlock::chaos
