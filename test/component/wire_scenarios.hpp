// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "component/wire_transcript.hpp"
#include <redlock/redlock.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

// All commands of a client in each of these scenarios. They use the public interface alone, and a theatre of three
// servers, which an earlier state of the library can be given, too:
//   client make_client(config), config settings(): with assume_fresh
//   void until(condition), void pass(milliseconds)
//   void tell(node, words): somebody else's command; traits& is(node); void forget_scripts(node)
//   void hold_answers(node, milliseconds): those of that time come at its end
//   void kill(node), void start(node): with its keys; void hang_up(node)
//   wire_transcript& said()
namespace redlock::test::wire {

namespace asio = boost::asio;
using boost::system::error_code;
using namespace std::chrono_literals;

/// The holder is silent for longer than a scenario lasts.
inline constexpr lock_options quiet{.ttl = 10min, .node_timeout = 20s, .fair = false};
/// The rendezvous node of this name is the first one.
inline constexpr std::string_view name = "seat:47";
inline constexpr std::size_t node_count = 3;

struct outcome {
    bool done = false;
    error_code ec{};
    lease held{};
    leadership leads{};
};

struct keeps_outcome {
    std::shared_ptr<outcome> into;

    void operator()(error_code ec) const
    {
        into->done = true;
        into->ec = ec;
    }
    void operator()(error_code ec, lease held) const
    {
        (*this)(ec);
        into->held = std::move(held);
    }
    void operator()(error_code ec, leadership won) const
    {
        (*this)(ec);
        into->leads = std::move(won);
    }
    void operator()(error_code ec, leader_info const&) const { (*this)(ec); }
};

/// A theatre with a client, and with what all scenarios do.
template <class Theatre>
class scene {
public:
    explicit scene(Theatre& in) : scene(in, in.settings()) {}
    scene(Theatre& in, config const& settings) : in_(in), client_(in.make_client(settings)) {}

    Theatre& in() { return in_; }
    redlock::client& locks() { return *client_; }
    mutex plain(lock_options with = quiet) { return {*client_, std::string(name), with}; }
    fenced_mutex fenced(lock_options with = quiet) { return {*client_, std::string(name), with}; }
    /// Both of two permits, of which the first one is drawn.
    semaphore permits(lock_options with = quiet)
    {
        return semaphore(*client_, std::string(name), 2, with).taking(2);
    }
    fenced_semaphore fenced_permits(lock_options with = quiet)
    {
        return fenced_semaphore(*client_, std::string(name), 2, with).taking(2);
    }
    election seat(lock_options with = quiet) { return {*client_, std::string(name), with}; }

    /// Begins the next part. All earlier commands have been answered.
    void next(std::string const& what)
    {
        in_.pass(60ms);
        in_.said().note(what);
    }

    template <class Lock>
    std::shared_ptr<outcome> begin(Lock lock)
    {
        auto result = std::make_shared<outcome>();
        lock.acquire(keeps_outcome{result});
        return result;
    }
    template <class Lock>
    lease try_to_take(Lock lock, std::string const& what = "try_acquire")
    {
        next(what);
        auto const result = std::make_shared<outcome>();
        lock.try_acquire(keeps_outcome{result});
        return await(result);
    }
    void extend(lease& held)
    {
        next("extend");
        auto const result = std::make_shared<outcome>();
        held.extend(keeps_outcome{result});
        await(result);
    }
    void release(lease held)
    {
        if (held.nonce().empty()) // its answer would come from another thread
            return;
        next("release");
        auto const result = std::make_shared<outcome>();
        held.release(keeps_outcome{result});
        await(result);
    }
    std::shared_ptr<outcome> begin_campaign(election by, std::string value)
    {
        auto result = std::make_shared<outcome>();
        by.campaign(std::move(value), keeps_outcome{result});
        return result;
    }
    leadership campaign(election const& by, std::string value)
    {
        next("campaign");
        auto const result = begin_campaign(by, std::move(value));
        await(result);
        return std::move(result->leads);
    }
    void proclaim(leadership& held, std::string value)
    {
        next("proclaim");
        auto const result = std::make_shared<outcome>();
        held.proclaim(std::move(value), keeps_outcome{result});
        await(result);
    }
    void resign(leadership held)
    {
        next("resign");
        auto const result = std::make_shared<outcome>();
        held.resign(keeps_outcome{result});
        await(result);
    }
    void ask_who_leads(election const& in)
    {
        next("leader");
        auto const result = std::make_shared<outcome>();
        in.leader(keeps_outcome{result});
        await(result);
    }
    lease await(std::shared_ptr<outcome> const& result)
    {
        in_.until([&] { return result->done; });
        next(!result->ec ? "-> done" : "-> failed");
        return std::move(result->held);
    }
    void end()
    {
        next("the client ends");
        client_.reset();
        in_.pass(60ms);
    }

    void tell_all(std::vector<std::string> const& words)
    {
        for (std::size_t n = 0; n != node_count; ++n)
            in_.tell(n, words);
    }
    void set_on(std::vector<std::size_t> const& where, std::string const& who)
    {
        for (std::size_t const n : where)
            in_.tell(n, {"SET", std::string(name), who, "PX", "3600000"});
    }

private:
    Theatre& in_;
    std::optional<redlock::client> client_;
};

template <class Theatre>
using act = void (*)(Theatre&);

inline std::string const another(32, '7');
inline std::string const a_third(32, '8');

/// Twice: the second time scripts are known.
template <class Scene, class Lock>
void take_and_release_twice(Scene& s, Lock const& lock)
{
    s.release(s.try_to_take(lock));
    s.release(s.try_to_take(lock));
    s.end();
}

template <class Theatre>
void plain_vote(Theatre& in)
{
    scene s(in);
    take_and_release_twice(s, s.plain());
}

template <class Theatre>
void plain_vote_by_resp2(Theatre& in)
{
    for (std::size_t n = 0; n != node_count; ++n)
        in.is(n).resp3 = false;
    scene s(in);
    take_and_release_twice(s, s.plain());
}

/// The first two let it in. The third knows nobody of that name.
template <class Theatre>
void credentials(Theatre& in)
{
    config settings = in.settings();
    for (std::size_t n = 0; n != node_count; ++n)
        in.is(n).password = "secret";
    settings.nodes[0].insert(8, ":secret@");
    settings.nodes[1].insert(8, "default:secret@").append("/5");
    settings.nodes[2].insert(8, "nobody:secret@");
    settings.key_prefix = "test:";
    settings.client_name = "stage";
    settings.reconnect.min_delay = settings.reconnect.max_delay = 1h; // a refused node is tried once
    scene s(in, settings);
    s.release(s.try_to_take(s.plain()));
    s.end();
}

template <class Theatre>
void credentials_by_resp2(Theatre& in)
{
    for (std::size_t n = 0; n != node_count; ++n)
        in.is(n).resp3 = false;
    credentials(in);
}

template <class Theatre>
void plain_refusal(Theatre& in)
{
    scene s(in);
    s.set_on({0, 1, 2}, another);
    s.try_to_take(s.plain());
    s.tell_all({"DEL", std::string(name)});
    s.set_on({0, 1}, another);
    s.try_to_take(s.plain(), "try_acquire, free at node 3");
    s.try_to_take(s.plain(), "try_acquire, free at node 3");
    s.end();
}

template <class Theatre>
void plain_split_vote(Theatre& in)
{
    scene s(in);
    s.set_on({1}, another);
    s.set_on({2}, a_third);
    s.try_to_take(s.plain());
    s.end();
}

template <class Theatre>
void plain_minority(Theatre& in)
{
    scene s(in);
    s.set_on({0}, another);
    s.release(s.try_to_take(s.plain()));
    s.end();
}

/// An error may hide a grant.
template <class Theatre>
void plain_error(Theatre& in)
{
    scene s(in);
    s.release(s.try_to_take(s.plain()));
    for (std::size_t const n : {1U, 2U})
        in.is(n).out_of_memory = true;
    s.try_to_take(s.plain(), "try_acquire, out of memory at nodes 2 and 3");
    s.end();
}

template <class Theatre>
void forget_scripts(Theatre& in, std::vector<std::size_t> const& where)
{
    for (std::size_t const n : where)
        in.forget_scripts(n);
}

template <class Theatre>
void plain_unknown_scripts(Theatre& in)
{
    scene s(in);
    lease held = s.try_to_take(s.plain());
    s.extend(held);
    s.extend(held);
    forget_scripts(in, {0, 1, 2});
    s.extend(held);
    s.release(std::move(held));
    held = s.try_to_take(s.plain());
    forget_scripts(in, {1});
    s.release(std::move(held));
    s.set_on({0, 1}, another);
    forget_scripts(in, {0, 1, 2});
    s.try_to_take(s.plain(), "try_acquire, free at node 3");
    s.end();
}

template <class Theatre>
void plain_extension(Theatre& in)
{
    scene s(in);
    lease held = s.try_to_take(s.plain());
    s.extend(held);
    in.tell(0, {"DEL", std::string(name)});
    s.extend(held);
    in.tell(1, {"DEL", std::string(name)});
    s.extend(held);
    s.release(std::move(held));
    s.end();
}

template <class Theatre>
void plain_renewal(Theatre& in)
{
    scene s(in);
    lease held = s.try_to_take(s.plain({.ttl = 1500ms}));
    in.pass(600ms); // a third of it, and not two
    s.release(std::move(held));
    s.end();
}

/// Another client has the lock, and releases it.
template <class Scene, class Lock>
void wait_for_it(Scene& s, Lock const& lock)
{
    s.release(s.try_to_take(lock));
    s.set_on({0, 1, 2}, another);
    s.next("acquire");
    auto const waits = s.begin(lock);
    s.next("the others release it");
    s.tell_all({"DEL", std::string(name)});
    s.release(s.await(waits));
    s.end();
}

inline constexpr retry_policy patient{.min_delay = 1h, .max_delay = 1h};

template <class Theatre>
void plain_wait(Theatre& in)
{
    scene s(in);
    lock_options with = quiet;
    with.retry = patient;
    wait_for_it(s, s.plain(with));
}

template <class Theatre>
void fenced_wait(Theatre& in)
{
    scene s(in);
    lock_options with = quiet;
    with.retry = patient;
    wait_for_it(s, s.fenced(with));
}

/// The third answers when all is over.
template <class Scene, class Lock>
void be_late(Scene& s, Lock const& lock)
{
    s.release(s.try_to_take(lock));
    s.in().hold_answers(2, 1s);
    s.release(s.try_to_take(lock));
    s.in().pass(2s);
    s.in().hold_answers(1, 1s);
    s.in().hold_answers(2, 1s);
    s.try_to_take(lock, "try_acquire, nodes 2 and 3 are slow");
    s.in().pass(2s);
    s.end();
}

template <class Theatre>
void plain_late_answer(Theatre& in)
{
    scene s(in);
    be_late(s, s.plain({.ttl = 10min, .node_timeout = 200ms}));
}

template <class Theatre>
void fenced_late_answer(Theatre& in)
{
    scene s(in);
    be_late(s, s.fenced({.ttl = 10min, .node_timeout = 200ms}));
}

/// Two operations wait for the holder: one gets the lease, and one has to ask.
template <class Scene, class Lock>
void hand_over(Scene& s, Lock const& lock)
{
    lease held = s.try_to_take(lock);
    s.next("acquire, twice");
    auto const second = s.begin(lock);
    auto const third = s.begin(lock);
    s.release(std::move(held));
    held = s.await(second);
    s.release(std::move(held));
    s.release(s.await(third));
    s.end();
}

template <class Theatre>
void plain_hand_over(Theatre& in)
{
    scene s(in);
    hand_over(s, s.plain());
}

template <class Theatre>
void fenced_hand_over(Theatre& in)
{
    scene s(in);
    hand_over(s, s.fenced());
}

/// The lease is too short for the second operation: it is released with the next vote.
template <class Theatre>
void plain_release_with_next_vote(Theatre& in)
{
    scene s(in);
    lease held = s.try_to_take(s.plain({.ttl = 5min, .node_timeout = 20s}));
    s.next("acquire, for longer");
    auto const second = s.begin(s.plain());
    s.release(std::move(held));
    s.release(s.await(second));
    s.end();
}

template <class Theatre>
void fenced_release_with_next_vote(Theatre& in)
{
    scene s(in);
    lease held = s.try_to_take(s.fenced({.ttl = 5min, .node_timeout = 20s}));
    s.next("acquire, for longer");
    auto const second = s.begin(s.fenced());
    s.release(std::move(held));
    s.release(s.await(second));
    s.end();
}

/// When its votes are on their way.
template <class Scene, class Lock>
void cancel(Scene& s, Lock lock)
{
    s.release(s.try_to_take(lock));
    s.in().pass(60ms);
    for (std::size_t n = 0; n != node_count; ++n)
        s.in().hold_answers(n, 200ms);
    s.in().said().note("acquire, cancelled");
    asio::cancellation_signal signal;
    auto const result = std::make_shared<outcome>();
    lock.acquire(asio::bind_cancellation_slot(signal.slot(), keeps_outcome{result}));
    s.in().pass(50ms);
    signal.emit(asio::cancellation_type::terminal);
    s.await(result);
    s.in().pass(500ms);
    s.end();
}

template <class Theatre>
void plain_cancellation(Theatre& in)
{
    scene s(in);
    cancel(s, s.plain());
}

template <class Theatre>
void fenced_cancellation(Theatre& in)
{
    scene s(in);
    cancel(s, s.fenced());
}

template <class Theatre>
void plain_adoption(Theatre& in)
{
    scene s(in);
    lease held = s.try_to_take(s.plain());
    std::string const nonce(held.nonce());
    s.next("detach");
    held.detach();
    s.next("adopt");
    lease adopted = s.plain().adopt(nonce);
    s.extend(adopted);
    s.release(std::move(adopted));
    s.end();
}

template <class Theatre>
void fenced_adoption(Theatre& in)
{
    scene s(in);
    lease held = s.try_to_take(s.fenced());
    std::string const nonce(held.nonce());
    auto const token = held.fencing_token();
    s.next("detach");
    held.detach();
    s.next("adopt");
    lease adopted = s.fenced().adopt(nonce, token);
    s.extend(adopted);
    s.release(std::move(adopted));
    s.end();
}

template <class Theatre>
void health_check(Theatre& in)
{
    config settings = in.settings();
    settings.health.check_interval = 1s;
    scene s(in, settings);
    lease held = s.try_to_take(s.plain());
    in.pass(1500ms);
    s.release(std::move(held));
    s.end();
}

/// A server is killed, and started again.
template <class Scene, class Lock>
void reconnect(Scene& s, Lock const& lock)
{
    lease held = s.try_to_take(lock);
    s.next("node 3 dies");
    s.in().kill(2);
    s.release(std::move(held));
    held = s.try_to_take(lock);
    s.next("node 3 comes back");
    s.in().start(2);
    s.in().pass(500ms);
    s.release(std::move(held));
    s.release(s.try_to_take(lock));
    s.end();
}

template <class Theatre>
config quick_to_reconnect(Theatre& in)
{
    config settings = in.settings();
    settings.reconnect.min_delay = 100ms;
    settings.reconnect.max_delay = 100ms;
    return settings;
}

template <class Theatre>
void plain_reconnection(Theatre& in)
{
    scene s(in, quick_to_reconnect(in));
    reconnect(s, s.plain());
}

template <class Theatre>
void fenced_reconnection(Theatre& in)
{
    scene s(in, quick_to_reconnect(in));
    reconnect(s, s.fenced());
}

/// Nothing is under way, and the servers close all connections.
template <class Scene, class Lock>
void vote_on_new_connections(Scene& s, Lock const& lock)
{
    s.release(s.try_to_take(lock));
    s.next("the nodes close their connections");
    for (std::size_t n = 0; n != node_count; ++n)
        s.in().hang_up(n);
    s.release(s.try_to_take(lock));
    s.end();
}

template <class Theatre>
void plain_vote_on_new_connections(Theatre& in)
{
    scene s(in, quick_to_reconnect(in));
    vote_on_new_connections(s, s.plain());
}

template <class Theatre>
void fenced_vote_on_new_connections(Theatre& in)
{
    scene s(in, quick_to_reconnect(in));
    vote_on_new_connections(s, s.fenced());
}

template <class Theatre>
void fenced_vote(Theatre& in)
{
    scene s(in);
    take_and_release_twice(s, s.fenced());
}

template <class Theatre>
void fenced_vote_by_resp2(Theatre& in)
{
    for (std::size_t n = 0; n != node_count; ++n)
        in.is(n).resp3 = false;
    scene s(in);
    take_and_release_twice(s, s.fenced());
}

template <class Theatre>
void fenced_raise(Theatre& in)
{
    scene s(in);
    s.release(s.try_to_take(s.fenced()));
    in.tell(0, {"SET", std::string(name) + ":redlock-fence", "8000000000000", "PX", "3600000"});
    s.release(s.try_to_take(s.fenced(), "try_acquire, with a high fence at node 1"));
    in.tell(1, {"SET", std::string(name) + ":redlock-fence", "8100000000000", "PX", "3600000"});
    s.release(s.try_to_take(s.fenced(), "try_acquire, with a higher fence at node 2"));
    s.end();
}

template <class Theatre>
void fenced_refusal(Theatre& in)
{
    scene s(in);
    s.set_on({0, 1, 2}, another);
    s.try_to_take(s.fenced());
    s.tell_all({"DEL", std::string(name)});
    s.set_on({0, 1}, another);
    s.try_to_take(s.fenced(), "try_acquire, free at node 3");
    s.end();
}

template <class Theatre>
void fenced_extension(Theatre& in)
{
    scene s(in);
    lease held = s.try_to_take(s.fenced());
    s.extend(held);
    in.tell(0, {"DEL", std::string(name)});
    s.next("its key is gone at node 1");
    s.extend(held);
    s.extend(held);
    s.set_on({0, 1}, another);
    s.next("others have it at nodes 1 and 2");
    s.extend(held);
    s.release(std::move(held));
    s.end();
}

template <class Theatre>
void fenced_unknown_scripts(Theatre& in)
{
    scene s(in);
    lease held = s.try_to_take(s.fenced());
    s.extend(held);
    forget_scripts(in, {0, 1, 2});
    s.extend(held);
    s.release(std::move(held));
    forget_scripts(in, {0, 1, 2});
    s.release(s.try_to_take(s.fenced()));
    forget_scripts(in, {1});
    s.release(s.try_to_take(s.fenced()));
    s.end();
}

template <class Scene, class Lock>
void extend_permits(Scene& s, Lock const& lock)
{
    lease held = s.try_to_take(lock);
    s.extend(held);
    s.in().tell(0, {"DEL", std::string(name)});
    s.next("its permits are gone at node 1");
    s.extend(held);
    s.release(std::move(held));
    s.end();
}

template <class Theatre>
void semaphore_vote(Theatre& in)
{
    scene s(in);
    take_and_release_twice(s, s.permits());
}

template <class Theatre>
void fenced_semaphore_vote(Theatre& in)
{
    scene s(in);
    take_and_release_twice(s, s.fenced_permits());
}

template <class Theatre>
void semaphore_extension(Theatre& in)
{
    scene s(in);
    extend_permits(s, s.permits());
}

template <class Theatre>
void fenced_semaphore_extension(Theatre& in)
{
    scene s(in);
    extend_permits(s, s.fenced_permits());
}

/// Refused by taken permits, and by a lock of another kind.
template <class Theatre>
void semaphore_refusal(Theatre& in)
{
    scene s(in);
    lease held = s.try_to_take(s.permits());
    s.try_to_take(s.permits(), "try_acquire, all permits are taken");
    s.release(std::move(held));
    s.set_on({0, 1, 2}, another);
    s.try_to_take(s.permits(), "try_acquire, another lock has the name");
    s.end();
}

inline constexpr lock_options in_line{.ttl = 10min, .node_timeout = 20s};

template <class Theatre>
void semaphore_line(Theatre& in)
{
    scene s(in);
    lease held = s.try_to_take(s.permits(in_line));
    s.next("acquire");
    auto const waits = s.begin(s.permits(in_line));
    s.release(std::move(held));
    s.release(s.await(waits));
    s.end();
}

template <class Theatre>
void election_term(Theatre& in)
{
    scene s(in);
    election const seat = s.seat({.ttl = 1500ms, .fair = false});
    leadership held = s.campaign(seat, "10.0.0.1:80");
    s.next("a third of its time passes");
    in.pass(400ms);
    s.proclaim(held, "10.0.0.1:81");
    s.ask_who_leads(seat);
    s.resign(std::move(held));
    s.ask_who_leads(seat);
    s.end();
}

/// The operation has waited in the same client.
template <class Theatre>
void election_succession(Theatre& in)
{
    scene s(in);
    leadership held = s.campaign(s.seat(), "10.0.0.1:80");
    s.next("another campaign");
    auto const waits = s.begin_campaign(s.seat(), "10.0.0.2:80");
    s.resign(std::move(held));
    s.await(waits);
    s.resign(std::move(waits->leads));
    s.end();
}

/// Plain locks come to meet what fenced ones know.
template <class Theatre>
void both_kinds(Theatre& in)
{
    scene s(in);
    s.release(s.try_to_take(s.plain()));
    s.release(s.try_to_take(s.fenced()));
    s.release(s.try_to_take(s.plain()));
    s.end();
}

template <class Theatre>
void destroyed_handle(Theatre& in)
{
    scene s(in);
    {
        lease held = s.try_to_take(s.plain());
        s.next("the lease is destroyed");
    }
    s.end();
}

template <class Theatre>
void shut_down(Theatre& in)
{
    scene s(in);
    lease const held = s.try_to_take(s.plain());
    s.next("shutdown");
    auto const result = std::make_shared<outcome>();
    s.locks().shutdown(keeps_outcome{result});
    s.await(result);
    s.end();
}

template <class Theatre>
struct scenario {
    std::string_view name;
    act<Theatre> play;

    friend std::ostream& operator<<(std::ostream& out, scenario const& s) { return out << s.name; }
};

template <class Theatre>
std::vector<scenario<Theatre>> all_scenarios()
{
    return {
        {"plain_vote", plain_vote},
        {"plain_vote_by_resp2", plain_vote_by_resp2},
        {"plain_vote_on_new_connections", plain_vote_on_new_connections},
        {"plain_refusal", plain_refusal},
        {"plain_split_vote", plain_split_vote},
        {"plain_minority", plain_minority},
        {"plain_error", plain_error},
        {"plain_unknown_scripts", plain_unknown_scripts},
        {"plain_extension", plain_extension},
        {"plain_renewal", plain_renewal},
        {"plain_wait", plain_wait},
        {"plain_late_answer", plain_late_answer},
        {"plain_hand_over", plain_hand_over},
        {"plain_release_with_next_vote", plain_release_with_next_vote},
        {"plain_cancellation", plain_cancellation},
        {"plain_adoption", plain_adoption},
        {"plain_reconnection", plain_reconnection},
        {"fenced_vote", fenced_vote},
        {"fenced_vote_by_resp2", fenced_vote_by_resp2},
        {"fenced_vote_on_new_connections", fenced_vote_on_new_connections},
        {"fenced_raise", fenced_raise},
        {"fenced_refusal", fenced_refusal},
        {"fenced_extension", fenced_extension},
        {"fenced_unknown_scripts", fenced_unknown_scripts},
        {"fenced_wait", fenced_wait},
        {"fenced_late_answer", fenced_late_answer},
        {"fenced_hand_over", fenced_hand_over},
        {"fenced_release_with_next_vote", fenced_release_with_next_vote},
        {"fenced_cancellation", fenced_cancellation},
        {"fenced_adoption", fenced_adoption},
        {"fenced_reconnection", fenced_reconnection},
        {"semaphore_vote", semaphore_vote},
        {"semaphore_extension", semaphore_extension},
        {"semaphore_refusal", semaphore_refusal},
        {"semaphore_line", semaphore_line},
        {"fenced_semaphore_vote", fenced_semaphore_vote},
        {"fenced_semaphore_extension", fenced_semaphore_extension},
        {"election_term", election_term},
        {"election_succession", election_succession},
        {"both_kinds", both_kinds},
        {"credentials", credentials},
        {"credentials_by_resp2", credentials_by_resp2},
        {"health_check", health_check},
        {"destroyed_handle", destroyed_handle},
        {"shut_down", shut_down},
    };
}

} // namespace redlock::test::wire
