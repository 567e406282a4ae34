// SPDX-License-Identifier: BSL-1.0
#include "chaos/conductor.hpp"

#include "chaos/judge.hpp"
#include "chaos/left_lease.hpp"
#include "chaos/own_network.hpp"
#include "chaos/plan.hpp"
#include "kind/fenced.hpp"
#include "kind/queue.hpp"
#include "kind/semaphore.hpp"
#include "kit/certificates.hpp"
#include "kit/child_process.hpp"
#include "kit/fault_proxy.hpp"
#include "kit/probe.hpp"
#include "kit/redis_server.hpp"
#include "kit/text.hpp"
#include "kit/watched_group.hpp"
#include "redis/command.hpp"
#include "simulation/clocks.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace redlock::chaos {

namespace {

using test::direction;
using test::fault_proxy;
using victim = fault::victim;
using namespace std::chrono_literals;

/// Between two looks. Nothing reports that a journal grows, that keys expire, or that a date is set.
constexpr milliseconds glance = 20ms;
/// A longer wait is a failure. Time counts only while this machine runs its processes.
constexpr milliseconds longest_wait = 60s;
constexpr milliseconds hopeless = 5min;
/// For messages that were on their way when the last program left.
constexpr milliseconds last_words = 3s;

using words = std::vector<std::string>;

/// A semaphore's key may outlive its permits, if the one that ended last was given back (rule P1).
bool has_no_permit(test::probe& eye, std::string const& key)
{
    constexpr std::string_view script = R"(
        if redis.call('type', KEYS[1]).ok ~= 'hash' or redis.call('pttl', KEYS[1]) < 0 then return 0 end
        local clock = redis.call('time')
        local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
        for _, permit in ipairs(redis.call('hvals', KEYS[1])) do
            if (tonumber(permit:sub(33)) or 0) > now then return 0 end
        end
        return 1)";
    return eye.command({"EVAL", std::string(script), "1", key}) == "1";
}

/// A fence and a marker; and a queue that will expire, because a killed program does not leave it.
bool may_stay(test::probe& eye, std::string const& key)
{
    auto const is_one_of = [&](std::initializer_list<std::string_view> suffixes) {
        return std::ranges::any_of(suffixes, [&](std::string_view suffix) { return key.ends_with(suffix); });
    };
    return is_one_of({kind::fence_suffix, kind::permit_fences_suffix, redis::marker_name}) ||
           (is_one_of({kind::queue_suffix}) && eye.pttl(key) >= 0) || has_no_permit(eye, key);
}

/// The rights that a script lacks decide how far it gets.
words rights_to_take(kinds of)
{
    words rights{"-set", "-eval", "-evalsha", "-client|tracking"};
    if (of == kinds::sets || of == kinds::fenced_sets)
        rights.insert(rights.end(), {"-exists", "-del"});
    if (of == kinds::permits || of == kinds::fenced_permits)
        rights.insert(rights.end(), {"-hset", "-hdel", "-zadd", "-zrem", "-pexpireat"});
    return rights;
}

/// Returns the orders that disturb a server, and those that end the disturbance.
std::pair<words, words> orders_of(fault const& f, kinds of)
{
    words const rights = rights_to_take(of);
    std::map<std::string_view, std::pair<words, words>> const all{
        {"read-only", {{"REPLICAOF", "127.0.0.1", "1"}, {"REPLICAOF", "NO", "ONE"}}}, // there is no server
        {"follow", {{}, {"REPLICAOF", "NO", "ONE"}}},
        {"back up", {{"SAVE"}, {}}},
        {"forget scripts", {{"SCRIPT", "FLUSH"}, {}}},
        {"disconnect", {{"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"}, {}}},
        {"pause",
         {{"CLIENT", "PAUSE", std::to_string(f.length.count()), f.amount % 2 == 0 ? "ALL" : "WRITE"}, {}}},
        {"out of memory", {{"CONFIG", "SET", "maxmemory", "1"}, {"CONFIG", "SET", "maxmemory", "0"}}},
        {"forbid",
         {{"ACL", "SETUSER", "default", rights.at(f.amount % rights.size())},
          {"ACL", "SETUSER", "default", "allcommands"}}}};
    auto const found = all.find(f.what);
    return found == all.end() ? std::pair<words, words>{} : found->second;
}

/// Reads the date when no time passes between the two clocks.
milliseconds date_without_time_passed()
{
    nanoseconds before{}, date{};
    do {
        before = now();
        date = std::chrono::system_clock::now().time_since_epoch();
    } while (now() - before > 1ms);
    return std::chrono::duration_cast<milliseconds>(date - before);
}

/// One server with its two proxies.
struct node {
    node(bool durable, milliseconds clock_ahead)
        : server({.arguments = durable ? words{"--appendonly", "yes", "--appendfsync", "always"}
                                       : words{"--repl-diskless-sync-delay", "0"},
                  .own_clock = true}),
          ways{std::make_unique<fault_proxy>(server.port()), std::make_unique<fault_proxy>(server.port())},
          ahead(clock_ahead)
    {
        server.set_clock_ahead(ahead);
    }

    void restart(bool with_its_data)
    {
        if (!with_its_data)
            std::filesystem::remove(server.file("dump.rdb"));
        server.restart();
        started = now();
    }
    std::string tell(words const& command)
    {
        return test::probe(server.port(), longest_wait).command(command);
    }

    test::redis_server server;
    std::array<std::unique_ptr<fault_proxy>, 2> ways;
    simulation::step_budget steps{};
    milliseconds ahead;
    nanoseconds started{}; ///< again
    bool answers = true;
};

struct program {
    unsigned number = 0;
    test::child_process process{};
};

class conductor {
public:
    conductor(std::uint64_t seed, milliseconds length, std::string const& self)
        : all_(seed), length_(length), self_(self)
    {
        note(all_.describe());
        note(network_.entered() ? "a network of its own"
                                : "the machine's network: proxies stand in for lost packets");
        for (unsigned n = 0; n != all_.servers(); ++n)
            nodes_.emplace_back(all_.durable[n], all_.clocks_ahead[n]);
        if (all_.has_group)
            group_.emplace(3, words{"--min-replicas-to-write", "1", "--min-replicas-max-lag", "1"});
        for (program& one : programs_)
            start(one);
    }

    outcome run();

private:
    void start(program&);
    void befall_all();
    void calm_down();
    void leave(program&);
    void execute_wills(program const&);
    void end_programs();
    void check_keys();
    [[nodiscard]] std::string figures(verdict const&) const;
    [[nodiscard]] std::string story() const;

    enum class stage : std::uint8_t { begins, is_half_over, ends };
    void befall(fault const&, stage);
    void befall_way(fault const&, fault_proxy&, stage) const;
    void befall_network(fault const&, fault_proxy&, stage) const;
    void befall_server(fault const&, node&, stage);
    void befall_program(fault const&, program&, stage);
    void befall_group(fault const&, test::watched_group&, stage);
    void flush(fault const&);
    void step_clock(fault const&, node&);

    template <class Condition>
    [[nodiscard]] bool wait_for(milliseconds longest,
                                Condition holds); ///< false: the condition does not hold in time
    void say(std::string const& word) const { std::ofstream(directory_.file(word)) << word; }
    void note(std::string const& what) { notes_.emplace_back(now(), what); }
    void flaw(std::string const& what)
    {
        flaws_.push_back(what);
        note("FLAW: " + what);
    }

    cast all_;
    milliseconds length_;
    std::string self_;
    test::temporary_directory directory_{"redlock-chaos"};
    journal journal_{directory_.file("journal")};
    own_network network_{};        ///< before all that listens
    test::redis_server guarded_{}; ///< the data that the locks guard; never disturbed
    std::deque<node> nodes_{};
    std::optional<test::watched_group> group_{};
    std::size_t former_master_ = 0; ///< that was killed or stopped
    std::vector<program> programs_{all_.programs};
    std::vector<program> leaving_{};
    unsigned started_ = 0;
    std::map<std::string_view, unsigned> befell_{};
    std::vector<std::pair<nanoseconds, std::string>> notes_{};
    std::vector<std::string> flaws_{};
    milliseconds first_date_ = date_without_time_passed();
    milliseconds date_moved_{};
    bool machine_runs_ = true; ///< otherwise no wait counts
    nanoseconds began_ = now();
};

outcome conductor::run()
{
    if (!wait_for(longest_wait,
                  [this] { return std::ranges::count(journal_.entries(), event::holds, &entry::what) != 0; }))
        flaw("nobody gets a lock");
    befall_all();
    calm_down();
    end_programs();
    check_keys();
    verdict const seen = judge(journal_.entries());
    for (std::string const& what : seen.flaws)
        flaw(what);
    outcome all{.figures = figures(seen), .story = story()};
    if (date_moved_ > all_.smallest_slack() / 4)
        all.excuse = "this machine's clock was set";
    else if (!machine_runs_ && flaws_.empty())
        all.excuse = "this machine hardly ran";
    for (std::string const& what : flaws_)
        all.flaws += what + '\n';
    return all;
}

/// Every other program connects through the second proxies.
void conductor::start(program& one)
{
    one.number = started_++;
    words command{self_,
                  "--participate",
                  std::to_string(all_.seed),
                  std::to_string(one.number),
                  directory_.path().string(),
                  std::to_string(guarded_.port())};
    for (node const& its : nodes_)
        command.push_back(its.ways.at(one.number % 2)->url());
    if (group_)
        command.push_back(group_->url());
    one.process = test::child_process(command, directory_.file("said"));
    note("program " + std::to_string(one.number) + " comes");
}

template <class Condition>
bool conductor::wait_for(milliseconds longest, Condition holds)
{
    nanoseconds const began = now();
    for (milliseconds waited{};;) {
        bool const over = waited > longest; // if the check took long, it is repeated once
        if (holds())
            return true;
        machine_runs_ = machine_runs_ && now() - began < hopeless;
        if (over || !machine_runs_)
            return !machine_runs_;
        date_moved_ = std::max(date_moved_, std::chrono::abs(date_without_time_passed() - first_date_));
        nanoseconds const before = now();
        std::this_thread::sleep_for(glance);
        waited += now() - before < 2 * glance ? glance : 0ms;
    }
}

void conductor::befall_all()
{
    struct step {
        milliseconds at;
        stage when;
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
        (void)wait_for(length_, [&] { return now() >= start + one.at; });
        befall(one.what, one.when);
    }
}

void conductor::befall(fault const& f, stage when)
{
    befell_[f.what] += when == stage::begins ? 1 : 0;
    if (when != stage::is_half_over)
        note((when == stage::ends ? "end of " : "") + std::string(f.what) + ' ' + std::to_string(f.target));
    switch (f.whose) {
    case victim::way: return befall_way(f, *nodes_[f.target / 2].ways.at(f.target % 2), when);
    case victim::server: return befall_server(f, nodes_[f.target], when);
    case victim::program: return befall_program(f, programs_[f.target], when);
    case victim::group: return befall_group(f, *group_, when);
    }
}

void conductor::befall_way(fault const& f, fault_proxy& way, stage when) const
{
    auto const where = f.amount % 2 == 0 ? direction::to_server : direction::to_client;
    if (f.what == "lose packets")
        return befall_network(f, way, when);
    if (when == stage::ends) {
        if (f.what == "lose") // a stream without some of its bytes is none that TCP delivers
            way.black_hole();
        way.release();
        way.accept();
    }
    if (when != stage::begins)
        return;
    if (f.what == "delay")
        way.delay(where, f.length / 10);
    if (f.what == "hold")
        way.hold(where);
    if (f.what == "lose")
        way.drop(where);
    if (f.what == "cut")
        way.cut_one_way(where);
    if (f.what == "dribble")
        way.dribble(where);
    if (f.what == "black hole")
        way.black_hole();
    if (f.what == "refuse")
        way.refuse();
    if (f.what == "refuse" || f.what == "reset")
        way.reset_all();
}

/// In both directions, or in one. Without a network of its own the proxy holds everything back.
void conductor::befall_network(fault const& f, fault_proxy& way, stage when) const
{
    for (auto const where : {direction::to_server, direction::to_client}) {
        bool const concerned = f.amount % 3 == 0 || (f.amount % 3 == 1) == (where == direction::to_server);
        if (!concerned || when == stage::is_half_over)
            continue;
        if (network_.entered() && when == stage::begins)
            network_.cut(way.port(), where);
        else if (network_.entered())
            network_.mend(way.port(), where);
        else if (when == stage::begins)
            way.cut_one_way(where);
        else
            way.pass(where);
    }
}

void conductor::befall_server(fault const& f, node& its, stage when)
{
    bool const dies = f.what == "kill" || f.what == "empty" || f.what == "follow";
    its.answers = when == stage::ends || !(dies || f.what == "stop" || f.what == "pause");
    if (when == stage::is_half_over) {
        if (f.what != "follow")
            return;
        node const& master = nodes_[(f.target + 1 + f.amount % all_.servers()) % all_.servers()];
        its.restart(false);
        note(its.tell(
            {"REPLICAOF", "127.0.0.1", &master == &its ? "1" : std::to_string(master.server.port())}));
        return;
    }
    bool const begins = when == stage::begins;
    if (f.what == "stop")
        return begins ? its.server.pause() : its.server.resume();
    if (begins && dies)
        return its.server.kill();
    if (dies && f.what != "follow")
        return its.restart(f.what == "kill");
    if (begins && f.what == "set clock")
        return step_clock(f, its);
    if (begins && f.what == "flush")
        return flush(f);
    auto const [first, last] = orders_of(f, all_.locks_are);
    if (words const& said = begins ? first : last; !said.empty())
        note(its.tell(said));
}

/// Flushes one server, or all that can be flushed and are not durable.
void conductor::flush(fault const& f)
{
    for (unsigned n = 0; n != all_.servers(); ++n)
        if (n == f.target || (f.amount % 2 == 0 && !all_.durable[n] && nodes_[n].answers))
            note(nodes_[n].tell({"FLUSHALL"}));
}

/// C1, as the clocks are when this one is set. A step that makes the uptime too long must not matter (C3).
void conductor::step_clock(fault const& f, node& its)
{
    milliseconds by{static_cast<std::int64_t>(f.amount / 2 % 300)};
    bool const young = its.started != nanoseconds{} && now() - its.started < 2 * all_.longest_key();
    if (f.amount % 2 == 0)
        by = std::max(-by, -all_.furthest_clock() - its.ahead);
    else
        by = std::chrono::floor<milliseconds>(
            its.steps.take(young ? 0ms : std::min(by, all_.furthest_clock() - its.ahead),
                           all_.smallest_slack() / 2, all_.longest_key() * 3 / 2, now()));
    its.ahead += by;
    its.server.set_clock_ahead(its.ahead);
    note("by " + std::to_string(by.count()) + " ms");
}

void conductor::befall_program(fault const& f, program& its, stage when)
{
    if (f.what == "stop program" && when == stage::begins)
        its.process.pause();
    if (f.what == "stop program" && when == stage::ends)
        its.process.resume();
    if (f.what == "stop program" || when != stage::begins)
        return;
    if (!its.process.running())
        flaw("program " + std::to_string(its.number) + " has ended too early");
    if (f.what == "kill program") {
        its.process.kill();
        execute_wills(its);
    } else {
        leave(its);
    }
    start(its);
}

/// Leaves the leases of a killed program to others.
void conductor::execute_wills(program const& dead)
{
    for (unsigned actor = 0; actor != draw_parts(all_, dead.number).size(); ++actor) {
        entry of{.program = static_cast<std::uint16_t>(dead.number),
                 .actor = static_cast<std::uint8_t>(actor)};
        std::string const will = directory_.file(name_of_will(of.owner()));
        auto const left = take_left(will, will + "-taken");
        if (!left)
            continue;
        of = entry::of(left->owner, event::leaves_behind);
        of.at = now();
        of.lock = static_cast<std::uint8_t>(left->lock);
        of.things = left->things;
        journal_.append(of);
        leave_behind(*left);
    }
}

/// If the Sentinels name no master now, the last one is the victim again.
void conductor::befall_group(fault const& f, test::watched_group& group, stage when)
{
    if (when == stage::is_half_over)
        return;
    bool const begins = when == stage::begins;
    if (f.what == "fail over") {
        if (begins)
            note(group.fail_over() ? "the Sentinels choose another master" : "not now");
        return;
    }
    if (begins)
        if (auto const master = group.master(); master != group.members.size())
            former_master_ = master;
    auto& member = group.members[former_master_];
    if (f.what == "kill master")
        return begins ? member.kill() : group.members.restart(former_master_);
    begins ? member.pause() : member.resume();
}

/// A program that is slow to wake may miss every open window (W5). If one has not been served, the served ones leave,
/// and then it must be.
void conductor::calm_down()
{
    constexpr unsigned rounds = 2;
    std::size_t const from = journal_.size();
    nanoseconds const began = now();
    note("from here on nothing bad happens");
    say("calm");
    std::set<std::pair<unsigned, unsigned>> waiting;
    for (program const& one : programs_)
        for (unsigned actor = 0; actor != draw_parts(all_, one.number).size(); ++actor)
            waiting.insert({one.number, actor});
    if (all_.has_election)
        for (program const& one : programs_)
            waiting.insert({one.number, leader_watcher});
    auto const all_served = [&] {
        for (entry const& one : journal_.entries(from))
            if (one.at > began && (one.what == event::holds || one.what == event::hears_surely))
                waiting.erase({one.program, one.actor});
        // The keys of killed programs have expired.
        return waiting.empty() && now() - began > all_.longest_key() + 2 * all_.furthest_clock();
    };
    bool served = wait_for(longest_wait, all_served);
    for (unsigned round = 0; !served && round != rounds; ++round) {
        std::erase_if(programs_, [&](program& one) {
            auto const first = waiting.lower_bound({one.number, 0});
            bool const goes = first == waiting.end() || first->first != one.number;
            if (goes)
                leave(one);
            return goes;
        });
        served = wait_for(longest_wait, all_served);
    }
    if (!served)
        flaw(std::to_string(waiting.size()) + " did not get their lock, one of program " +
             std::to_string(waiting.begin()->first));
}

void conductor::leave(program& one)
{
    note("program " + std::to_string(one.number) + " leaves");
    say("leave-" + std::to_string(one.number));
    leaving_.push_back(std::move(one));
}

void conductor::end_programs()
{
    note("everybody leaves");
    say("leave");
    std::ranges::move(programs_, std::back_inserter(leaving_));
    for (program& one : leaving_) {
        bool const ended = wait_for(longest_wait, [&] { return !one.process.running(); });
        if (machine_runs_ && one.process.exit_status() != 0)
            flaw("program " + std::to_string(one.number) + (ended ? " did not end well" : " does not end"));
    }
}

void conductor::check_keys()
{
    std::string left;
    auto const gone = [&] {
        left.clear();
        auto const look_at = [&](std::uint16_t port) {
            test::probe eye(port, longest_wait);
            for (std::string const& key : eye.keys())
                if (!may_stay(eye, key))
                    left = key + " is left for " + std::to_string(eye.pttl(key)) + " ms";
        };
        for (node const& its : nodes_)
            look_at(its.server.port());
        if (group_ && group_->master() != group_->members.size())
            look_at(group_->members[group_->master()].port());
        return left.empty();
    };
    if (!wait_for(last_words, gone))
        flaw("a key of " + left);
}

std::string conductor::figures(verdict const& seen) const
{
    std::string text = all_.describe() + "; " + std::to_string((now() - began_) / 1s) + " s, " +
                       std::to_string(started_) + " clients, " + std::to_string(seen.leases) + " leases, " +
                       std::to_string(seen.refused) + " refused, " + std::to_string(seen.lost) +
                       " lost, told after " + std::to_string(seen.latest_told) + " looks at most, " +
                       std::to_string(seen.writes) + " writes, " + std::to_string(seen.writes_late) +
                       " too late, " + std::to_string(seen.adopted) + " adoptions, " +
                       std::to_string(seen.terms) + " terms, heard of " + std::to_string(seen.heard) +
                       " times, " + std::to_string(seen.changes) + " changes of nodes; faults: ";
    for (auto const& [what, times] : befell_)
        text += std::string(what) + ' ' + std::to_string(times) + ", ";
    return text + (flaws_.empty() ? "no flaw" : "FLAW");
}

std::string conductor::story() const
{
    auto lines = notes_;
    for (entry const& one : journal_.entries())
        lines.emplace_back(one.at, "    " + name_of_thing(thing_of(one.lock)) + ' ' + describe(one));
    std::ranges::stable_sort(lines, {}, &std::pair<nanoseconds, std::string>::first);
    std::string text;
    for (auto const& [at, what] : lines)
        text += test::in_seconds(at) + ' ' + what + '\n';
    return text + test::text_of(directory_.file("said"));
}

} // namespace

outcome conduct(std::uint64_t seed, milliseconds length, std::string const& self)
{
    return conductor(seed, length, self).run();
}

} // namespace redlock::chaos
