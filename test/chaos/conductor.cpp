#include "chaos/conductor.hpp"

#include "support/probe.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

namespace redlock::chaos {

using test::direction;
using namespace std::chrono_literals;

namespace {

constexpr milliseconds glance = 20ms;
/// Only a fault of ours, or a machine that hardly runs, makes anything take so long.
constexpr milliseconds longest_wait = 120s;
/// For what was on its way when the last program left.
constexpr milliseconds last_words = 3s;
constexpr std::size_t entries_in_a_second = 20'000;

direction way_of(fault const& f)
{
    return f.amount % 2 == 0 ? direction::to_server : direction::to_client;
}

struct order {
    std::vector<std::string> begin, end;
};

/// What a server can be told to suffer from, and to recover from.
order order_of(fault const& f)
{
    using enum misfortune;
    switch (f.what) {
    case read_only: return {{"REPLICAOF", "127.0.0.1", "1"}, {"REPLICAOF", "NO", "ONE"}}; // nobody is there
    case back_up: return {{"SAVE"}, {}};
    case forget_scripts: return {{"SCRIPT", "FLUSH"}, {}};
    case disconnect: return {{"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"}, {}};
    case pause:
        return {{"CLIENT", "PAUSE", std::to_string(f.length.count()), f.amount % 2 == 0 ? "ALL" : "WRITE"},
                {}};
    case out_of_memory: return {{"CONFIG", "SET", "maxmemory", "1"}, {"CONFIG", "SET", "maxmemory", "0"}};
    case forbid: {
        static std::array<std::string, 4> const rights{"-set", "-eval", "-evalsha", "-client|tracking"};
        return {{"ACL", "SETUSER", "default", rights.at(f.amount % rights.size())},
                {"ACL", "SETUSER", "default", "allcommands"}};
    }
    default: return {};
    }
}

milliseconds date()
{
    auto const since_1970 = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<milliseconds>(since_1970 - now());
}

} // namespace

conductor::conductor(std::uint64_t seed, milliseconds length, std::string self)
    : all_(seed), length_(length), self_(std::move(self)),
      journal_(directory_.file("journal"),
               entries_in_a_second * static_cast<std::size_t>((length + longest_wait) / 1s)),
      nodes_(all_.servers()), programs_(all_.programs), least_date_(date()), most_date_(least_date_)
{
    note("seed " + std::to_string(seed) + ": " + all_.describe());
}

void conductor::run()
{
    for (unsigned n = 0; n != all_.servers(); ++n)
        start_node(n);
    for (unsigned place = 0; place != all_.programs; ++place)
        start_program(place);
    wait_for_meetings();
    befall();
    come_to_rest();
    end_programs();
    check_keys();
    verdict judged = judge(journal_.entries());
    std::ranges::move(result_.flaws, std::back_inserter(judged.flaws));
    result_ = std::move(judged);
    if (journal_.full())
        flaw("the journal is full");
}

void conductor::start_node(unsigned number)
{
    node& its = nodes_[number];
    test::redis_server_options options{.own_clock = true};
    options.arguments = {"--repl-diskless-sync-delay", "0"};
    if (all_.durable[number])
        options.arguments = {"--appendonly", "yes", "--appendfsync", "always"};
    its.server = std::make_unique<test::redis_server>(options);
    its.ahead = all_.clocks_ahead[number];
    its.server->set_clock_ahead(its.ahead);
    for (auto& way : its.ways)
        way = std::make_unique<test::fault_proxy>(its.server->port());
}

/// Every other one goes by the second ways.
void conductor::start_program(unsigned place)
{
    program& its = programs_[place];
    its.client = clients_++;
    std::vector<std::string> command{self_,
                                     "--client",
                                     std::to_string(its.client),
                                     "--seed",
                                     std::to_string(all_.seed),
                                     "--journal",
                                     directory_.file("journal"),
                                     "--guarded",
                                     std::to_string(guarded_.port()),
                                     "--nodes"};
    for (node const& one : nodes_)
        command.push_back(one.ways.at(its.client % 2)->url());
    its.process = test::child_process(command, directory_.file("said"));
    note("program " + std::to_string(its.client) + " comes");
}

template <class Condition>
bool conductor::wait_for(milliseconds longest, Condition holds)
{
    for (nanoseconds const end = now() + longest; !holds();) {
        if (now() > end)
            return false;
        watch_clock();
        std::this_thread::sleep_for(glance);
    }
    return true;
}

void conductor::watch_clock()
{
    least_date_ = std::min(least_date_, date());
    most_date_ = std::max(most_date_, date());
}

void conductor::wait_for_meetings()
{
    std::set<unsigned> expected;
    for (program const& one : programs_)
        if (all_.may_assume_fresh(one.client))
            expected.insert(one.client);
    auto const met = [&] {
        for (entry const& one : journal_.entries())
            if (one.what == event::ready)
                expected.erase(one.client);
        return expected.empty();
    };
    if (!wait_for(longest_wait, met))
        flaw("program " + std::to_string(*expected.begin()) + " has not met all servers");
}

void conductor::befall()
{
    struct step {
        milliseconds at;
        stage now;
        fault what;
    };
    std::vector<step> agenda;
    for (fault const& one : draw_faults(all_, length_)) {
        agenda.push_back({one.at, stage::begins, one});
        agenda.push_back({one.at + one.length / 2, stage::is_half_over, one});
        agenda.push_back({one.at + one.length, stage::ends, one});
    }
    std::ranges::stable_sort(agenda, {}, &step::at);
    nanoseconds const start = now();
    for (step const& one : agenda) {
        wait_for(length_ + longest_wait, [&] { return now() >= start + one.at; });
        befall(one.what, one.now);
    }
}

void conductor::befall(fault const& f, stage when)
{
    if (when == stage::begins)
        return begin(f);
    if (when == stage::ends)
        return end(f);
    if (f.what != misfortune::follow)
        return;
    restart(nodes_[f.target], true);
    auto const master = (f.target + 1 + f.amount % all_.servers()) % all_.servers();
    auto const port = std::to_string(master == f.target ? 1 : nodes_[master].server->port());
    command(nodes_[f.target], {"REPLICAOF", "127.0.0.1", port});
}

void conductor::begin(fault const& f)
{
    ++befell_[f.what];
    note(std::string(to_string(f.what)) + ' ' + std::to_string(f.target) + ", for " +
         std::to_string(f.length.count()) + " ms");
    if (f.what < misfortune::stop_server)
        return begin_on_way(f, *nodes_[f.target / 2].ways.at(f.target % 2));
    if (f.what < misfortune::stop_program)
        return begin_at_server(f, nodes_[f.target]);
    begin_at_program(f, programs_[f.target]);
}

void conductor::begin_on_way(fault const& f, test::fault_proxy& way)
{
    using enum misfortune;
    switch (f.what) {
    case delay: return way.delay(way_of(f), f.length / 10);
    case hold: return way.hold(way_of(f));
    case lose: return way.drop(way_of(f));
    case cut: return way.cut_one_way(way_of(f));
    case dribble: return way.dribble(way_of(f));
    case refuse: way.refuse(); [[fallthrough]];
    case reset: return way.reset_all();
    default: return way.black_hole();
    }
}

void conductor::begin_at_server(fault const& f, node& its)
{
    using enum misfortune;
    its.answers = f.what != stop_server && f.what != kill_server && f.what != empty_server &&
                  f.what != follow && f.what != pause;
    switch (f.what) {
    case stop_server: return its.server->pause();
    case kill_server:
    case empty_server:
    case follow: return its.server->kill();
    case set_clock: return step_clock(f, its);
    case flush: return flush_data(f);
    default: command(its, order_of(f).begin);
    }
}

void conductor::begin_at_program(fault const& f, program& its)
{
    using enum misfortune;
    if (f.what == stop_program) {
        its.process.pause();
        return;
    }
    if (clients_ == most_clients)
        return;
    if (!its.process.running())
        flaw("program " + std::to_string(its.client) + " has ended too early");
    if (f.what == kill_program) {
        its.process.kill();
    } else {
        journal_.let_leave(its.client);
        leaving_.push_back(std::move(its));
    }
    start_program(f.target);
}

void conductor::end(fault const& f)
{
    using enum misfortune;
    note("end of " + std::string(to_string(f.what)) + ' ' + std::to_string(f.target));
    if (f.what < stop_server) {
        auto& way = *nodes_[f.target / 2].ways.at(f.target % 2);
        if (f.what == lose) // a stream that goes on without some of its bytes is none that TCP delivers
            way.black_hole();
        way.release();
        return way.accept();
    }
    if (f.what == stop_program)
        programs_[f.target].process.resume();
    if (f.what < stop_program)
        end_at_server(f, nodes_[f.target]);
}

void conductor::end_at_server(fault const& f, node& its)
{
    using enum misfortune;
    its.answers = true;
    switch (f.what) {
    case stop_server: return its.server->resume();
    case kill_server: return restart(its, false);
    case empty_server: return restart(its, true);
    case follow: return command(its, {"REPLICAOF", "NO", "ONE"});
    default:
        if (auto const last = order_of(f).end; !last.empty())
            command(its, last);
    }
}

/// Unless it is durable, it has at most what was backed up.
void conductor::restart(node& its, bool without_data)
{
    if (without_data)
        std::filesystem::remove(its.server->file("dump.rdb"));
    its.server->restart();
    its.started = now();
}

/// This server, or all that can be and do not keep their data for ever.
void conductor::flush_data(fault const& f)
{
    for (unsigned n = 0; n != all_.servers(); ++n)
        if (n == f.target || (f.amount % 2 == 0 && !all_.durable[n] && nodes_[n].answers))
            command(nodes_[n], {"FLUSHALL"});
}

/// C1, as it holds when the clock is set; and an age that the step makes too long must not matter any more (C3).
void conductor::step_clock(fault const& f, node& its)
{
    milliseconds by{static_cast<std::int64_t>(f.amount / 2 % 300)};
    if (f.amount % 2 == 0) {
        by = std::max(-by, -all_.furthest_clock() - its.ahead);
    } else if (its.started != nanoseconds{} && now() - its.started < 2 * all_.longest_key()) {
        return note("not set: it is young");
    } else {
        auto const taken = its.steps.take(std::min(by, all_.furthest_clock() - its.ahead),
                                          all_.smallest_slack() / 2, all_.longest_key() * 3 / 2, now());
        by = std::chrono::floor<milliseconds>(taken);
    }
    its.ahead += by;
    its.server->set_clock_ahead(its.ahead);
    note("set by " + std::to_string(by.count()) + " ms");
}

void conductor::command(node& its, std::vector<std::string> const& words)
{
    auto const said = test::probe(its.server->port(), longest_wait).command(words);
    note(words.front() + ": " + said);
}

void conductor::come_to_rest()
{
    std::size_t const from = journal_.size();
    nanoseconds const began = now();
    note("from here on nothing bad happens");
    journal_.set(phase::calm);
    std::set<std::pair<unsigned, unsigned>> waiting;
    for (program const& one : programs_)
        for (unsigned actor = 0; actor != draw_parts(all_, one.client).size(); ++actor)
            waiting.insert({one.client, actor});
    auto const all_served = [&] {
        for (entry const& one : journal_.entries(from))
            if (one.what == event::holds && one.at > began)
                waiting.erase({one.client, one.actor});
        return waiting.empty();
    };
    if (!wait_for(longest_wait, all_served))
        flaw("program " + std::to_string(waiting.begin()->first) +
             ", and perhaps others, did not get the lock");
    // What those who were killed have left has expired.
    wait_for(longest_wait, [&] { return now() - began > all_.longest_key() + 2 * all_.furthest_clock(); });
}

void conductor::end_programs()
{
    note("everybody leaves");
    journal_.set(phase::over);
    std::ranges::move(programs_, std::back_inserter(leaving_));
    for (program& one : leaving_) {
        std::string const name = "program " + std::to_string(one.client);
        if (!wait_for(longest_wait, [&] { return !one.process.running(); }))
            flaw(name + " does not end");
        else if (one.process.exit_status() != 0)
            flaw(name + " did not end well");
    }
}

void conductor::check_keys()
{
    std::set<std::string> left;
    auto const gone = [&] {
        left.clear();
        for (node& its : nodes_)
            for (std::string const& key : test::probe(its.server->port(), longest_wait).keys())
                if (!key.ends_with("redlock-fence") && !key.ends_with("redlock-marker"))
                    left.insert(key);
        return left.empty();
    };
    if (!wait_for(last_words, gone))
        flaw("a key of " + *left.begin() + " is left");
}

void conductor::note(std::string what)
{
    notes_.emplace_back(now(), std::move(what));
}

void conductor::flaw(std::string const& what)
{
    result_.flaws.push_back(describe(now()) + ' ' + what);
    note("FLAW: " + what);
}

std::string conductor::figures() const
{
    verdict const& r = result_;
    std::string text = "seed " + std::to_string(all_.seed) + ": " + all_.describe() + "; " +
                       std::to_string((now() - began_) / 1s) + " s, " + std::to_string(clients_) +
                       " clients, " + std::to_string(r.leases) + " leases, " + std::to_string(r.refused) +
                       " refused, " + std::to_string(r.lost) + " lost, told " +
                       std::to_string(r.latest_told.count()) + " ms late at most, " +
                       std::to_string(r.writes) + " writes, " + std::to_string(r.writes_late) +
                       " too late; faults:";
    for (auto const& [what, times] : befell_)
        text += ' ' + std::to_string(times) + " x " + std::string(to_string(what)) + ',';
    text.back() = ':';
    if (!clock_was_right())
        return text + " this machine's clock was set, so nothing is shown";
    return text + (r.flaws.empty() ? " no flaw" : " FLAW");
}

std::string conductor::story() const
{
    auto lines = notes_;
    for (entry const& one : journal_.entries())
        lines.emplace_back(one.at, "    lock-" + std::to_string(one.lock + 1) + ' ' + describe(one));
    std::ifstream said(directory_.file("said"));
    for (std::string line; std::getline(said, line);)
        lines.emplace_back(now(), "a program says: " + line);
    std::ranges::stable_sort(lines, {}, &std::pair<nanoseconds, std::string>::first);
    std::string text;
    for (auto const& [at, what] : lines)
        text += describe(at) + ' ' + what + '\n';
    return text;
}

} // namespace redlock::chaos
