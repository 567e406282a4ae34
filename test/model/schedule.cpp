#include "model/schedule.hpp"

#include "core/validity.hpp"
#include "model/rules.hpp"

#include <sstream>

namespace redlock::model {

namespace {

constexpr micros patience = 60'000'000; ///< after which a waiter has starved

} // namespace

schedule::schedule(std::uint64_t seed, fault_counts& counts, theme about, std::string* log)
    : dice_(seed), counts_(counts), log_(log)
{
    terrain_.waiting = about == theme::waiting;
    terrain_.newcomers = about == theme::newcomers;
    prepare();
    if (log_)
        *log_ += std::to_string(terrain_.nodes) + " nodes, " + std::to_string(terrain_.clients) +
                 " clients, " + (terrain_.fenced ? "fenced" : "plain") + ", ttl " +
                 std::to_string(terrain_.ttl) + ", slack " + std::to_string(terrain_.slack) +
                 (terrain_.terms.tolerate_suspect ? ", tolerant\n" : "\n");
}

void schedule::prepare()
{
    terrain& t = terrain_;
    constexpr std::array<unsigned, 8> sizes{3, 3, 3, 3, 5, 4, 2, 1};
    t.nodes = sizes[dice_.below(sizes.size())];
    constexpr std::array<unsigned, 8> crowds{2, 2, 2, 2, 3, 3, 4, 5};
    t.clients = crowds[dice_.below(crowds.size())];
    t.fenced = dice_.one_in(2);
    t.wall_clocks = !dice_.one_in(3);
    clocks_apart_ = !t.wall_clocks;
    t.ttl = dice_.between(100, 500);
    t.slack =
        dice_.one_in(4) ? dice_.between(0, t.ttl) : core::default_slack(core::milliseconds{t.ttl}).count();
    t.faults_until = dice_.between(2, 5) * t.ttl * one_milli;
    t.between_faults = dice_.between(t.ttl / 20, t.ttl) * one_milli;
    t.one_in_messages = 10U << dice_.below(4);
    t.terms.ttl = core::milliseconds{t.ttl};
    t.terms.slack = core::milliseconds{t.slack};
    t.terms.fenced = t.fenced;
    t.terms.tolerate_suspect = dice_.one_in(4);
    if (dice_.one_in(8))
        t.terms.max_hold = core::milliseconds{t.ttl + dice_.between(0, t.ttl)};
    t.node_timeout = core::default_node_timeout(core::milliseconds{t.ttl});
    // Two ways of at most twice the latency fit into a node's time: beyond, no lock could be had at all.
    micros const slow = t.node_timeout / std::chrono::microseconds{6};
    t.latency = dice_.one_in(4) ? dice_.between(1000, slow) : dice_.between(100, 1000);
    t.px = core::key_ttl(core::milliseconds{t.ttl}, core::milliseconds{t.slack}).count();
    t.fence_px = dice_.one_in(2) ? 2 * t.px : 1000 * t.px; // ten is the least that the library accepts
    if (t.waiting)
        prepare_waiting();
    messages_.reserve(256);
    events_.reserve(256);
    prepare_nodes();
    prepare_clients();
    push(t.between_faults, happening::fault, 0, 0);
    push(t.faults_until + 3 * t.px * one_milli, happening::calm, 0, 0);
}

void schedule::prepare_waiting()
{
    terrain& t = terrain_;
    t.latency = dice_.between(100, 500);
    t.wait.nodes = t.nodes;
    t.wait.first = static_cast<unsigned>(dice_.below(t.nodes));
    t.wait.round_trip = std::chrono::microseconds{3 * t.latency};
    t.wait.node_timeout = t.node_timeout;
    t.wait.key_ttl = std::chrono::milliseconds{t.px};
    t.tenure.batch = static_cast<unsigned>(dice_.between(1, 64));
    t.tenure.period = std::chrono::milliseconds{dice_.between(20, 250)};
    t.expiry_seen = (dice_.one_in(2) ? 100 : 2000) * one_milli;
    if (t.nodes >= 3 && dice_.one_in(2)) {
        t.missing = static_cast<terrain::absence>(dice_.between(1, 4));
        t.missing_node = static_cast<unsigned>(dice_.below(t.nodes));
    }
    t.soon = 3 * t.wait.longest_dodge() / std::chrono::microseconds{1} + 30 * one_milli;
    t.sometime = (t.px + 1000) * one_milli;
}

/// In the calm each client goes on until it has been seen that nothing of the faults is left.
bool schedule::seen_enough() const
{
    constexpr micros long_enough = 300 * one_milli;
    return calm_ && (!terrain_.waiting || now_ >= strict_from_ + long_enough);
}

micros schedule::length_of_body()
{
    if (!calm_)
        return dice_.between(0, terrain_.ttl * 1500);
    if (!terrain_.waiting)
        return dice_.between(0, 2000);
    return dice_.one_in(20) ? dice_.between(0, terrain_.ttl * 1000) : dice_.between(0, 30'000);
}

void schedule::prepare_nodes()
{
    for (unsigned n = 0; n != terrain_.nodes; ++n) {
        server& s = servers_[n];
        s.run = s.history = ++names_;
        s.room = terrain_.slack;
        s.steps = dice_.between(-5, 5);
        if (dice_.one_in(4) && terrain_.slack > 1) { // half of what the slack allows, in the time of a key
            s.clock_rate += terrain_.slack * 500'000 / terrain_.px;
            s.room = terrain_.slack / 2 - 1;
            count(fault::node_clock_slewed);
        }
        s.started = wall(s) - 3'600'000;
        prepare_marker(n);
    }
}

void schedule::prepare_clients()
{
    bool const together = dice_.one_in(3);
    if (together)
        count(fault::clients_start_together);
    clients_.reserve(terrain_.clients);
    std::vector<lock_terms> locks;
    prepare_locks(locks);
    for (unsigned c = 0; c != terrain_.clients; ++c) {
        clients_.emplace_back(terrain_, locks[c]);
        clocks& k = clients_[c].time;
        k.boot = static_cast<std::int64_t>(dice_.below(1'000'000'000)) * 1000;
        k.raw = static_cast<std::int64_t>(dice_.below(1'000'000'000));
        std::int64_t const rate = dice_.one_in(3) ? -9'900 : dice_.between(-9'900, 9'900);
        k.boot_rate = k.raw_rate = 1'000'000 + rate;
        count(rate < 0 ? fault::client_clock_slow : fault::client_clock_fast);
        if (dice_.one_in(4)) {
            k.boot_rate -= 83'000; // as fast as chrony slews at most
            count(fault::client_boottime_slewed);
        }
        k.wall_offset = dice_.between(0, terrain_.px / 8);
        if (dice_.one_in(8)) {
            k.wall_offset += dice_.one_in(2) ? 3'600'000 : -3'600'000;
            clocks_apart_ = clocks_apart_ || k.wall_offset < 0;
            count(fault::client_wall_clock_off);
        }
        for (unsigned n = 0; n != terrain_.nodes; ++n)
            meet(c, n);
        clients_[c].now = client::doing::resting;
        wake(c, together ? 0 : dice_.between(0, terrain_.ttl) * one_milli);
    }
}

void schedule::push(micros at, happening what, unsigned c, unsigned n, std::uint16_t index)
{
    events_.push_back(
        {at, ++order_, what, static_cast<std::uint8_t>(c), static_cast<std::uint8_t>(n), index});
    std::push_heap(events_.begin(), events_.end());
}

outcome schedule::run()
{
    while (!events_.empty() && out_.flaw == breach::none) {
        std::pop_heap(events_.begin(), events_.end());
        event const e = events_.back();
        events_.pop_back();
        now_ = e.at;
        ++out_.events;
        out_.trace = (out_.trace ^ (static_cast<std::uint64_t>(e.at) << 20) ^ e.order ^
                      static_cast<std::uint64_t>(e.what) << 56 ^ static_cast<std::uint64_t>(e.index) << 40) *
                     0x9fb21c651e98df25U;
        out_.trace ^= out_.trace >> 31;
        if (!postpone(e))
            handle(e);
        if (now_ > terrain_.faults_until + 3 * terrain_.px * one_milli + patience)
            break_off(breach::waiter_starved);
    }
    for (client const& any : clients_)
        if (any.queue != 0)
            break_off(breach::waiter_starved);
    if (out_.flaw == breach::none)
        check_leftovers();
    out_.spanned = now_;
    return out_;
}

/// A client that stands still reads nothing and sees no timer until it goes on.
bool schedule::postpone(event const& e)
{
    if (e.what != happening::answer && e.what != happening::timer && e.what != happening::connect &&
        e.what != happening::ready)
        return false;
    micros const until = clients_[e.client].frozen_until;
    if (until <= now_)
        return false;
    push(until, e.what, e.client, e.node, e.index);
    return true;
}

void schedule::handle(event const& e)
{
    if (log_)
        log(e);
    switch (e.what) {
    case happening::arrive: return arrive(e.index);
    case happening::answer: return answer(e.index);
    case happening::timer:
        if (e.index == clients_[e.client].generation)
            on_timer(e.client);
        return;
    case happening::connect: return connect(e.client, e.node);
    case happening::reset:
        if (links_[e.client][e.node].connection == e.index)
            reset(e.client, e.node, false);
        return;
    case happening::fault: return some_fault();
    case happening::calm: return calm_down();
    case happening::ready: return nodes_changed(e.client);
    case happening::expire: return on_expiry(e.node);
    }
}

/// The last fault is over, its late messages have arrived. From now on everybody wants the lock once more.
void schedule::calm_down()
{
    calm_ = true;
    calm_nonce_ = nonces_;
    for (client& me : clients_)
        me.waits_since = now_;
    begin_calm_waiting();
}

/// Of the quiet time: where the release could not be executed, or was never sent.
bool schedule::leaves_keys(unsigned n) const
{
    return terrain_.waiting && (guessed_until_ != 0 ||
                                (terrain_.missing != terrain::absence::none && terrain_.missing_node == n));
}

/// All have gone, so nothing of the quiet time may be left; and when the keys' time is over, nothing at all.
void schedule::check_leftovers()
{
    for (unsigned n = 0; n != terrain_.nodes; ++n) {
        server& s = servers_[n];
        touch(s);
        if (s.data.lock.value > calm_nonce_ && !leaves_keys(n))
            break_off(breach::key_left_behind);
    }
    now_ += (terrain_.px + 1) * one_milli;
    for (unsigned n = 0; n != terrain_.nodes; ++n) {
        touch(servers_[n]);
        if (servers_[n].data.lock.exists())
            break_off(breach::key_left_behind);
    }
}

void schedule::break_off(breach flaw)
{
    if (out_.flaw != breach::none)
        return;
    out_.flaw = flaw;
    out_.at = now_;
}

void schedule::log(event const& e)
{
    constexpr std::array asks{"vote", "raise", "extend", "release", "look", "word"};
    constexpr std::array doing{"rests", "votes", "pauses", "holds"};
    constexpr std::array replies{"ok", "nil", "number", "held", "stranger", "error"};
    std::ostringstream line;
    line << static_cast<double>(e.at) / 1000 << " ms  ";
    std::string const who = std::string(1, static_cast<char>('A' + e.client));
    switch (e.what) {
    case happening::arrive:
    case happening::answer: {
        message const& m = messages_[e.index];
        fake_node const& data = servers_[m.node].data;
        line << "node " << m.node + 1 << (e.what == happening::arrive ? " <- " : " -> ") << who << " "
             << asks[static_cast<std::size_t>(m.what)] << " of nonce " << m.owner << " round " << m.round
             << " number " << m.number << (m.dead ? " (dead)" : "") << (m.duplicate ? " (again)" : "");
        if (e.what == happening::answer)
            line << ": " << replies[static_cast<std::size_t>(m.said.what)] << " " << m.said.number;
        line << "  [before: lock " << data.lock.value << " fence " << data.counter.value << "]";
        break;
    }
    case happening::timer:
        if (e.index != clients_[e.client].generation)
            return;
        line << who << " wakes";
        break;
    case happening::connect: line << who << " connects to node " << e.node + 1; break;
    case happening::reset: line << who << "'s connection to node " << e.node + 1 << " breaks"; break;
    case happening::fault: line << "a fault"; break;
    case happening::calm: line << "calm"; break;
    case happening::ready: line << who << " may ask node " << e.node + 1; break;
    case happening::expire: line << "node " << e.node + 1 << " looks for expired keys"; break;
    }
    for (unsigned c = 0; c != terrain_.clients; ++c)
        line << (c == 0 ? "  {" : " ") << static_cast<char>('A' + c) << " "
             << doing[static_cast<std::size_t>(clients_[c].now)] << (valid(c) ? "*" : "")
             << (clients_[c].frozen_until > now_ ? " frozen" : "");
    *log_ += line.str() + "}\n";
}

} // namespace redlock::model
