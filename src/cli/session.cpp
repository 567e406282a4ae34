// SPDX-License-Identifier: BSL-1.0
#include "cli/session.hpp"

#include "core/tally.hpp"
#include "engine/in_words.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/error.hpp>
#include <boost/system/error_code.hpp>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

namespace redlock::cli {

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

/// How long pending work may take when the tool is done: releases on nodes that a majority did not wait for.
constexpr auto patience = 300ms;
/// The same after votes that were cancelled: some may wait for a connection.
constexpr auto long_patience = 1500ms;
/// After this time without a lock, the tool reports the reason.
constexpr auto longest_silence = 1s;

} // namespace

template <class Lock>
any_lock session::make_shared_lock(client& owner, options const& o)
{
    Lock const all(owner, o.name, o.lock);
    any_lock const& writing = all;
    return o.with == sharing::reader ? all.shared() : writing;
}

any_lock session::make_lock(client& owner, options const& o)
{
    if (o.with != sharing::none)
        return o.fenced ? make_shared_lock<fenced_shared_mutex>(owner, o)
                        : make_shared_lock<shared_mutex>(owner, o);
    if (o.names.size() > 1 && o.fenced)
        return fenced_multi_mutex(owner, o.names, o.lock);
    if (o.names.size() > 1)
        return multi_mutex(owner, o.names, o.lock);
    if (o.permits != 0 && o.fenced)
        return fenced_semaphore(owner, o.name, o.permits, o.lock).taking(o.count);
    if (o.permits != 0)
        return semaphore(owner, o.name, o.permits, o.lock).taking(o.count);
    if (o.fenced)
        return fenced_mutex(owner, o.name, o.lock);
    return mutex(owner, o.name, o.lock);
}

session::session(options const& o, output const& out)
    : options_(o), out_(out), client_(context_.get_executor(), watched(o.client)),
      lock_(as_usage([&] { return make_lock(client_, o); }))
{}

struct session::position_in_queue : observer {
    void on_wait(wait_event const& e) noexcept override
    {
        if (e.in_queue)
            before = e.before;
    }
    std::optional<std::size_t> before;
};

config session::watched(config settings)
{
    position_ = std::make_shared<position_in_queue>();
    settings.observer = settings.observer ? observers({settings.observer, position_}) : position_;
    return settings;
}

void session::run_until(bool const& done)
{
    while (!done) {
        if (context_.stopped())
            context_.restart();
        context_.run_one();
    }
}

void session::drain(std::chrono::milliseconds longest)
{
    signals_.stop();
    context_.restart();
    context_.run_for(longest);
}

void session::give_way_to(int signal)
{
    out_.fail_in_eval();
    drain(long_patience);
    signals_.die_of(signal);
}

template <class Won, class Start>
Won session::win(Start start)
{
    asio::cancellation_signal stop;
    int signal = 0;
    bool done = false;
    std::exception_ptr why;
    Won got;
    signals_.on_signal([&](int number) {
        signal = number;
        stop.emit(asio::cancellation_type::terminal);
    });
    auto const take = [&](std::exception_ptr e, Won won) {
        why = std::move(e);
        got = std::move(won);
        done = true;
    };
    start(with_diagnostics(asio::bind_cancellation_slot(stop.slot(), take)));
    waiting_ = !options_.quiet && options_.wait != 0ms;
    if (waiting_)
        explain_waiting();
    run_until(done);
    waiting_ = false;
    silence_.cancel();
    signals_.on_signal({});
    if (signal != 0) {
        got = Won();
        give_way_to(signal);
    }
    if (why)
        fail(why);
    return got;
}

/// Rethrows other exceptions than the lock's.
void session::fail(std::exception_ptr const& why)
{
    try {
        std::rethrow_exception(why);
    } catch (lock_error const& e) {
        auto const rows = e.outcomes().empty() ? last_attempt() : e.outcomes();
        settle();
        throw failure_of(e, rows, options_);
    }
}

lease session::acquire()
{
    return win<lease>([&](auto token) {
        if (!options_.wait)
            lock_.acquire(std::move(token));
        else if (*options_.wait == 0ms)
            lock_.try_acquire(std::move(token));
        else
            lock_.acquire_for(*options_.wait, std::move(token));
    });
}

leadership session::campaign(election& seat, std::string const& value)
{
    return win<leadership>([&](auto token) { seat.campaign(value, std::move(token)); });
}

lease session::adopt(std::string_view nonce, std::uint64_t fencing_token)
{
    if (options_.fenced)
        return fenced_mutex(client_, options_.name, options_.lock).adopt(nonce, fencing_token);
    return mutex(client_, options_.name, options_.lock).adopt(nonce);
}

std::vector<node_outcome> session::last_attempt() const
{
    return lock_.last_attempt();
}

/// Reports once; looks again only while there is nothing to report yet.
void session::explain_waiting()
{
    silence_.expires_after(longest_silence);
    silence_.async_wait([this](boost::system::error_code ec) {
        if (ec || !waiting_)
            return;
        std::string const why = obstacle();
        if (why.empty())
            return explain_waiting();
        nlohmann::json details{{"name", options_.name}, {"why", why}};
        if (position_->before && why == detail::position_in_words(*position_->before))
            details["before"] = *position_->before;
        out_.warn("waiting", "waiting for '" + options_.shown_name() + "': " + why, std::move(details));
    });
}

/// Describes why there is no majority, as far as it is known: nodes that are only connecting are not mentioned.
std::string session::obstacle() const
{
    auto const nodes = client_.node_table();
    std::size_t const majority = core::majority(static_cast<unsigned>(nodes.size()));
    auto const number_of = [&](node_state state) {
        return static_cast<std::size_t>(std::ranges::count(nodes, state, &node_status::state));
    };
    std::size_t const ready = number_of(node_state::ready);
    if (ready >= majority) {
        auto const rows = last_attempt();
        if (std::ranges::count(rows, node_result::held_by_other, &node_outcome::result) != 0)
            return position_->before ? detail::position_in_words(*position_->before) : "held by others";
        return rows.empty() ? "" : short_summary(rows);
    }
    std::vector<std::chrono::nanoseconds> quarantines;
    for (node_status const& node : nodes)
        if (node.state == node_state::quarantined)
            quarantines.push_back(node.remaining.value_or(0ms));
    if (ready + quarantines.size() >= majority) {
        std::ranges::sort(quarantines);
        return std::to_string(quarantines.size()) + " of " + std::to_string(nodes.size()) +
               " nodes quarantined, a majority may vote in " + seconds(quarantines[majority - ready - 1]);
    }
    return number_of(node_state::down) == 0 ? "" : troubles();
}

bool session::connecting() const
{
    return std::ranges::any_of(client_.node_table(),
                               [](node_status const& node) { return node.state == node_state::connecting; });
}

void session::complete(lease& held)
{
    auto const end = std::chrono::steady_clock::now() + patience;
    while (connecting() && std::chrono::steady_clock::now() < end)
        context_.run_one_for(patience);
    static_cast<void>(
        wait([&](auto handler) { held.extend(std::move(handler)); })); // the lease is granted in any case
}

void session::heed_signal(lease& held)
{
    int const signal = signals_.asked_to_end();
    if (signal == 0)
        return;
    static_cast<void>(wait([&](auto handler) { held.release(std::move(handler)); }));
    give_way_to(signal);
}

boost::system::error_code session::extend(lease& held)
{
    auto const end = std::chrono::steady_clock::now() + unhurried(options_.lock);
    for (;;) {
        auto const ec = wait([&](auto handler) { held.extend(std::move(handler)); });
        if (ec != errc::no_quorum || !connecting() || std::chrono::steady_clock::now() >= end)
            return ec;
        context_.run_one_for(patience);
    }
}

boost::system::error_code session::release(lease& held)
{
    auto const ec = wait([&](auto handler) { held.release(std::move(handler)); });
    settle();
    return ec;
}

void session::settle()
{
    drain(patience);
}

std::string session::troubles() const
{
    std::vector<node_words> rows;
    for (node_status const& node : client_.node_table())
        if (node.state != node_state::ready || !node.detail.empty())
            rows.push_back({node.node, std::string(to_string(node.state)) +
                                           (node.detail.empty() ? "" : " (" + node.detail + ')')});
    return grouped(rows);
}

failure failure_of(lock_error const& why, std::vector<node_outcome> const& table, options const& o)
{
    return {status_of(why, table, o.conflict),
            "'" + o.shown_name() + "': " + why.code().message() +
                (table.empty() ? "" : ": " + short_summary(table)),
            table};
}

std::chrono::milliseconds unhurried(lock_options const& lock)
{
    return std::min<std::chrono::milliseconds>(2500ms, lock.ttl / 2);
}

} // namespace redlock::cli
