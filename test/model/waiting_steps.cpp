#include "model/waiting_turn.hpp"

namespace redlock::model {

waiting_steps::waiting_steps(waiting_scope const& s) : scope_(s)
{
    terms_.nodes = s.nodes;
    terms_.round_trip = std::chrono::microseconds{100};
    terms_.node_timeout = std::chrono::milliseconds{20};
    terms_.key_ttl = std::chrono::milliseconds{1000};
}

void waiting_steps::begin(world& w) const
{
    for (unsigned c = 0; c != 2; ++c)
        w.clients[c].wishes = scope_.wishes[c];
    if (scope_.stranger)
        for (unsigned n = 0; n != scope_.nodes; ++n)
            w.nodes[n].owner = stranger;
}

void waiting_steps::possible(world const& w, std::vector<waiting_action>& out) const
{
    for (std::uint8_t c = 0; c != 2; ++c) {
        auto const& me = w.clients[c];
        bool room = true; // for whatever it may send
        for (unsigned n = 0; n != scope_.nodes; ++n)
            room = room && w.lines[c][n].requests[waiting_world::line_length - 4] == 0;
        if (me.now == doing::idle && me.wishes != 0 && room) {
            out.push_back({act::come_in_turn, c});
            if (scope_.at_once)
                out.push_back({act::come, c});
        }
        if (me.now == doing::holding && room) {
            out.push_back({act::release, c});
            if (me.wishes != 0)
                out.push_back({act::release_in_turn, c});
        }
        bool const brief = me.armed >= 0 && me.armed <= short_time;
        bool const waits = me.now == doing::waiting || me.now == doing::pausing;
        if (waits && me.armed >= 0 && room && (brief || w.timers < scope_.timers || quiet(w)))
            out.push_back({act::timer, c});
        if (me.now == doing::voting && w.silences < scope_.silences && room)
            out.push_back({act::silence, c});
        for (std::uint8_t n = 0; n != scope_.nodes; ++n) {
            auto const& l = w.lines[c][n];
            if (l.up == 0) {
                out.push_back({act::connect, c, n});
                continue;
            }
            if (l.requests[0] != 0 && l.replies[waiting_world::line_length - 3] == 0)
                out.push_back({act::execute, c, n});
            if (l.replies[0] != 0)
                out.push_back({act::read, c, n});
            bool const word = (l.replies[0] & 15U) == static_cast<unsigned>(reply::word);
            if (word && me.now == doing::waiting)
                out.push_back({act::read_and_pause, c, n});
            if (word && w.losses < scope_.losses)
                out.push_back({act::lose_word, c, n});
            if (w.drops < scope_.drops)
                out.push_back({act::drop, c, n});
        }
    }
    for (std::uint8_t n = 0; n != scope_.nodes; ++n) {
        if (w.nodes[n].owner == stranger)
            out.push_back({act::expire, 0, n});
        if (w.lapses < scope_.lapses && w.nodes[n].tells != 0)
            out.push_back({act::lapse, 0, n});
    }
}

void waiting_steps::take(world& w, waiting_action a) const
{
    unsigned const c = a.client;
    unsigned const n = a.node;
    switch (a.what) {
    case act::come:
    case act::come_in_turn: turn(*this, w, c).come(a.what == act::come_in_turn); break;
    case act::release:
    case act::release_in_turn: {
        for (auto& any : w.clients)
            any.vain = 0;
        turn me(*this, w, c);
        for (unsigned i = 0; i != scope_.nodes; ++i)
            me.release(i);
        me.me.now = doing::idle;
        if (me.me.wishes != 0)
            me.come(a.what == act::release_in_turn);
        break;
    }
    case act::execute: execute(w, c, n); break;
    case act::read:
    case act::read_and_pause: {
        std::uint8_t const said = pop(w.lines[c][n].replies);
        auto const courtesy = a.what == act::read ? core::duration::zero() : terms_.turn() / 2;
        turn(*this, w, c).read(n, static_cast<reply>(said & 15U), said >> 4U, courtesy);
        break;
    }
    case act::timer:
        if (w.clients[c].armed > short_time && w.timers < scope_.timers)
            ++w.timers;
        turn(*this, w, c, w.clients[c].armed).timer();
        break;
    case act::silence:
        ++w.silences;
        turn(*this, w, c).silence();
        break;
    case act::expire:
        w.nodes[n].owner = 0;
        change(w, n, nobody);
        break;
    case act::drop:
        ++w.drops;
        drop(w, c, n);
        break;
    case act::connect: {
        auto& l = w.lines[c][n];
        l.up = 1;
        if (l.owes != 0)
            put(l.requests, static_cast<unsigned>(asked::release), w.clients[c].attempt);
        l.owes = 0;
        turn(*this, w, c).nodes_changed();
        break;
    }
    case act::lose_word:
        ++w.losses;
        pop(w.lines[c][n].replies);
        break;
    case act::lapse:
        ++w.lapses;
        change(w, n, nobody);
        break;
    }
    check(w);
}

void waiting_steps::execute(world& w, unsigned c, unsigned n) const
{
    auto& l = w.lines[c][n];
    auto& node = w.nodes[n];
    std::uint8_t const code = pop(l.requests);
    auto const say = [&](reply r) { put(l.replies, static_cast<unsigned>(r), code >> 4U); };
    switch (static_cast<asked>(code & 15U)) {
    case asked::vote:
        if (node.owner != 0)
            return say(reply::refused);
        node.owner = static_cast<std::uint8_t>(c + 1);
        change(w, n, c);
        return say(reply::granted);
    case asked::release:
        if (node.owner != c + 1)
            return;
        node.owner = 0;
        return change(w, n, c);
    case asked::look:
        node.tells = static_cast<std::uint8_t>(node.tells | 1U << c);
        return say(node.owner != 0 ? reply::held : reply::gone);
    case asked::none: return;
    }
}

/// Told once; and not to whom it was (NOLOOP).
void waiting_steps::change(world& w, unsigned n, unsigned by) const
{
    unsigned const tells = w.nodes[n].tells;
    w.nodes[n].tells = 0;
    for (unsigned c = 0; c != 2; ++c) {
        if (by == nobody)
            w.clients[c].vain = 0;
        if ((tells >> c & 1U) != 0 && c != by && applies(rule::every_change_is_told))
            put(w.lines[c][n].replies, static_cast<unsigned>(reply::word), 0);
    }
}

/// What was under way is lost; what it was to take back is owed.
void waiting_steps::drop(world& w, unsigned c, unsigned n) const
{
    auto& l = w.lines[c][n];
    bool owes = l.owes != 0;
    bool voted = false;
    auto const number = w.clients[c].attempt;
    for (std::uint8_t const r : l.requests) {
        owes = owes || static_cast<asked>(r & 15U) == asked::release;
        voted = voted || (static_cast<asked>(r & 15U) == asked::vote && r >> 4U == number);
    }
    for (std::uint8_t const r : l.replies)
        voted = voted || ((static_cast<reply>(r & 15U) == reply::granted ||
                           static_cast<reply>(r & 15U) == reply::refused) &&
                          r >> 4U == number);
    l = {};
    l.up = 0;
    l.owes = owes ? 1 : 0;
    w.nodes[n].tells = static_cast<std::uint8_t>(w.nodes[n].tells & ~(1U << c));
    for (auto& any : w.clients)
        any.vain = 0;
    turn me(*this, w, c);
    if (me.me.now == doing::voting && voted) {
        auto const s = me.voted(n, core::vote::failed);
        me.wait.in_turn() && s == core_step::pending ? me.pass_over() : me.follow(s);
    }
    me.nodes_changed();
}

/// Nothing is under way, and nobody has the lock or asks for it.
bool waiting_steps::quiet(world const& w) const
{
    for (unsigned c = 0; c != 2; ++c) {
        if (w.clients[c].now == doing::voting || w.clients[c].now == doing::holding)
            return false;
        for (unsigned n = 0; n != scope_.nodes; ++n)
            if (auto const& l = w.lines[c][n]; l.up == 0 || l.requests[0] != 0 || l.replies[0] != 0)
                return false;
    }
    return true;
}

void waiting_steps::check(world& w) const
{
    if (w.clients[0].now == doing::holding && w.clients[1].now == doing::holding)
        w.broken = flaw::two_holders;
    bool wanted = false;
    bool soon = false;
    for (auto const& me : w.clients) {
        if (me.now != doing::waiting && me.now != doing::pausing)
            continue;
        wanted = true;
        soon = soon || (me.armed >= 0 && me.armed <= short_time) || me.now == doing::pausing;
        if (me.armed < 0)
            w.broken = flaw::no_timer;
    }
    unsigned free = 0;
    for (unsigned n = 0; n != scope_.nodes; ++n)
        free += w.nodes[n].owner == 0 ? 1U : 0U;
    if (wanted && !soon && w.losses == 0 && w.nodes[0].owner == 0 && free >= core::majority(scope_.nodes) &&
        quiet(w))
        w.broken = flaw::left_lying;
}

std::string waiting_steps::tell(world const& w, waiting_action a) const
{
    constexpr std::array what{"comes",
                              "comes in turn",
                              "releases",
                              "releases, in turn",
                              "is executed at",
                              "hears of",
                              "wakes",
                              "has no patience",
                              "a key expires at",
                              "is cut off from",
                              "connects to",
                              "does not hear of",
                              "forgetful:",
                              "lets others go first, and hears of"};
    constexpr std::array asks{"", "vote", "release", "look"};
    constexpr std::array replies{"", "granted", "refused", "held", "gone", "changed"};
    std::string text = std::string(1, static_cast<char>('A' + a.client)) + ' ';
    auto const& l = w.lines[a.client][a.node];
    if (a.what == act::execute)
        text += std::string(asks[l.requests[0] & 15U]) + ' ';
    if (a.what == act::read || a.what == act::read_and_pause || a.what == act::lose_word)
        text += std::string(replies[l.replies[0] & 15U]) + ' ';
    return text + what[static_cast<std::size_t>(a.what)] + " node " + std::to_string(a.node + 1);
}

char const* name(waiting_world::flaw f)
{
    constexpr std::array names{"none", "two hold the lock", "somebody waits without a timer",
                               "a free lock is left lying", "asked without pause"};
    return names[static_cast<std::size_t>(f)];
}

} // namespace redlock::model
