// SPDX-License-Identifier: BSL-1.0
#include "core/fencing.hpp"
#include "core/instant.hpp"
#include "core/tally.hpp"
#include "engine/client_access.hpp"
#include "kind/fenced.hpp"
#include "net/machine.hpp"
#include "testing/state.hpp"
#include "world/network.hpp"
#include "world/process.hpp"
#include <redlock/testing/world.hpp>

#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <vector>

namespace redlock::testing {

namespace asio = boost::asio;
using core::duration;

namespace {

using std::chrono::milliseconds;

constexpr milliseconds for_ever = std::chrono::hours{24} * 365 * 100; ///< twice as much is no overflow
constexpr milliseconds fence_ttl = std::chrono::hours{24};
constexpr unsigned most_at_once = 200'000;
constexpr std::string_view somebody = "feedfacefeedfacefeedfacefeedface";

std::string in_words(milliseconds time)
{
    return std::to_string(time.count()) + " ms";
}

std::string complaint(std::string const& what)
{
    return "redlock::testing::world: " + what;
}

/// \return a hundred years, if it is more
milliseconds checked(milliseconds time, std::string const& of)
{
    if (time < milliseconds::zero())
        throw std::invalid_argument(complaint(of + " of " + in_words(time) + ": no time is negative"));
    return std::min(time, for_ever);
}

std::string waits_still(std::size_t asleep)
{
    std::string text = ", and what is waited for has not happened. ";
    if (asleep != 0)
        text +=
            std::to_string(asleep) + (asleep == 1 ? " coroutine is" : " coroutines are") + " in sleep(). ";
    return text + "(Timers, sockets and threads of the test's own are not waited for: they take real time)";
}

} // namespace

class world::state::counted {
public:
    explicit counted(std::size_t& number) : number_(number) { ++number_; }
    ~counted() { --number_; }
    counted(counted const&) = delete;
    counted& operator=(counted const&) = delete;

private:
    std::size_t& number_;
};

/// A coroutine in sleep().
struct world::state::sleeper {
    asio::steady_timer timer;
    bool rung = false;
    bool dropped = false;
};

/// The world's clocks, for one client.
struct world::state::owned_machine {
    owned_machine(std::shared_ptr<state> its, unsigned host)
        : of(std::move(its)), machine(of->net, host, host + 1)
    {
        of->machines.insert(&machine);
    }
    ~owned_machine() { of->machines.erase(&machine); }
    owned_machine(owned_machine const&) = delete;
    owned_machine& operator=(owned_machine const&) = delete;

    std::shared_ptr<state> const of;
    redlock::world::sim_machine machine;
};

void world::state::drive_itself()
{
    time.on_due([weak = weak_from_this()] {
        auto const self = weak.lock();
        if (!self || std::exchange(self->awake, true))
            return;
        asio::post(self->context, [self] {
            self->awake = false;
            while (self->time.step(self->time.now()))
                ;
        });
    });
}

redlock::world::node& world::state::node(std::size_t number)
{
    if (number >= net.size())
        throw std::out_of_range("redlock::testing::world: there are " + std::to_string(net.size()) +
                                " servers, and no number " + std::to_string(number));
    return net.at(number);
}

std::string world::state::execute(std::size_t number, std::vector<std::string> const& words)
{
    auto& its = node(number);
    return its.redis.execute(words, its.wall_us(time.now()));
}

bool world::state::can_be_had(std::size_t number)
{
    return net.at(number).up && net.at(number).reachable;
}

std::size_t world::state::keys_of(std::string const& key)
{
    std::size_t count = 0;
    for (std::size_t n = 0; n != net.size(); ++n) {
        auto& its = net.at(n);
        count += its.up && its.redis.keys().shows(key, its.wall_us(time.now()) / 1000) ? 1U : 0U;
    }
    return count;
}

std::size_t world::state::grant(std::string const& key, std::string_view nonce, std::uint64_t token,
                                milliseconds ttl)
{
    std::string const length = std::to_string(ttl.count());
    std::size_t count = 0;
    for (std::size_t n = 0; n != net.size(); ++n) {
        if (!can_be_had(n))
            continue;
        count += execute(n, {"SET", key, std::string(nonce), "NX", "PX", length}).front() == '+' ? 1U : 0U;
        if (token != 0)
            (void)execute(n, {"SET", std::string(key).append(kind::fence_suffix),
                              std::to_string(token >> core::hand_off_bits), "PX", length});
    }
    return count;
}

void world::state::remove(std::string const& key, std::string_view nonce)
{
    for (std::size_t n = 0; n != net.size(); ++n) {
        auto& its = net.at(n);
        if (its.redis.keys().text(key, its.wall_us(time.now()) / 1000) == nonce)
            (void)execute(n, {"DEL", key});
    }
}

std::optional<std::string> world::state::find(std::string_view nonce)
{
    for (std::size_t n = 0; n != net.size(); ++n)
        for (auto const& [key, value] : net.at(n).redis.keys().all())
            if (value.text == nonce)
                return key;
    return {};
}

void world::state::remove_share(std::string_view nonce)
{
    for (std::size_t n = 0; n != net.size(); ++n) {
        auto const keys = net.at(n).redis.keys().all();
        for (auto const& [key, value] : keys) {
            if (value.members.score(nonce))
                (void)execute(n, {"ZREM", key, std::string(nonce)});
            for (auto const& [permit, owner] : value.hash)
                if (owner.starts_with(nonce))
                    (void)execute(n, {"HDEL", key, permit});
        }
    }
}

void world::state::overtake(std::string const& key, std::uint64_t token)
{
    std::string fence(key);
    fence += kind::fence_suffix;
    std::uint64_t const next = (token >> core::hand_off_bits) + 1;
    for (std::size_t n = 0; n != net.size(); ++n) {
        auto& its = net.at(n);
        auto const stands = its.redis.keys().text(fence, its.wall_us(time.now()) / 1000);
        if (stands && std::stoull(*stands) >= next)
            continue;
        bool const full = std::exchange(its.redis.is.out_of_memory, false);
        (void)execute(n, {"SET", fence, std::to_string(next), "PX", std::to_string(fence_ttl.count())});
        its.redis.is.out_of_memory = full;
    }
}

void expect_no_end(lease const& held)
{
    if (held.state() == lease_state::empty)
        throw std::logic_error("redlock::testing: the lease is empty: it was moved away, or never acquired");
    if (held.state() == lease_state::released)
        throw std::logic_error("redlock::testing: the lease of '" + std::string(held.resource()) +
                               "' was released");
}

world::world(asio::io_context& context, std::size_t nodes, config common)
    : context_(context), common_(std::move(common))
{
    if (nodes == 0 || nodes > core::max_nodes)
        throw std::invalid_argument("a world has 1 to " + std::to_string(core::max_nodes) + " nodes, not " +
                                    std::to_string(nodes));
    state_ = std::make_shared<state>(context, nodes);
    state_->drive_itself();
    common_.nodes.clear();
    common_.admission.assume_fresh = true;
    for (std::size_t n = 0; n != nodes; ++n)
        common_.nodes.push_back(state_->net.url(n));
}

world::~world()
{
    state_->time.end();
}

client world::make_client()
{
    return make_client(common_);
}

client world::make_client(config settings)
{
    if (settings.nodes.empty()) {
        settings.nodes = common_.nodes;
        settings.admission.assume_fresh = true;
    }
    unsigned const host = state_->hosts++;
    for (std::size_t n = 0; n != size(); ++n)
        state_->net.between(host, n).latency = duration::zero();
    auto const owned = std::make_shared<state::owned_machine>(state_, host);
    return detail::make_client(context_.get_executor(), settings,
                               std::shared_ptr<net::machine>(owned, &owned->machine));
}

config world::settings() const
{
    return common_;
}

/// Until nothing more happens at this moment. True: the condition was so at a time.
bool world::settle(std::function<bool()> const& condition)
{
    bool met = condition();
    for (unsigned count = 0; something_happens(); ++count) {
        met = met || condition();
        if (count == most_at_once && met)
            break;
        if (count == most_at_once)
            throw std::runtime_error(complaint("no time passes: " + std::to_string(most_at_once) +
                                               " handlers have run at one moment. What tries again "
                                               "endlessly needs a pause, such as sleep()"));
    }
    return met;
}

/// True if something happens at the present moment.
bool world::something_happens()
{
    if (context_.stopped())
        context_.restart();
    return context_.poll_one() != 0 || state_->time.step(state_->time.now());
}

void world::run_until(std::function<bool()> const& condition, milliseconds limit)
{
    refuse_nesting();
    state::counted const here(state_->running);
    duration const wanted = state_->time.now() + checked(limit, "a limit");
    duration const end = std::min<duration>(wanted, for_ever);
    while (!settle(condition)) {
        if (state_->time.empty())
            throw std::runtime_error(complaint("nothing can happen any more" + waits_still(0)));
        if (!state_->time.step(end))
            throw std::runtime_error(
                complaint((wanted > end ? "its 100 years" : in_words(limit) + " of the world's time") +
                          " are over" + waits_still(state_->asleep)));
    }
}

void world::advance(milliseconds time)
{
    refuse_nesting();
    state::counted const here(state_->running);
    duration const end = state_->time.now() + checked(time, "advance()");
    if (end > for_ever || time > for_ever)
        throw std::invalid_argument(
            complaint("advance() of " + in_words(time) + ": a world lasts for 100 years"));
    auto const never = [] { return false; };
    for ((void)settle(never); state_->time.step(end); (void)settle(never))
        ;
}

void world::refuse_nesting() const
{
    if (state_->running || context_.get_executor().running_in_this_thread())
        throw std::logic_error(complaint("this runs the context, and is not for its handlers and coroutines, "
                                         "nor for conditions of run_until(); coroutines have sleep()"));
}

asio::awaitable<void> world::sleep(milliseconds time)
{
    return state::sleep(state_, time);
}

/// Its event is dropped with the world: that ends it, too.
asio::awaitable<void> world::state::sleep(std::shared_ptr<state> its, milliseconds time)
{
    milliseconds const length = checked(time, "sleep()");
    counted const one(its->asleep);
    auto const wake = std::make_shared<sleeper>(
        sleeper{asio::steady_timer(its->context, asio::steady_timer::time_point::max())});
    its->time.after(length, [wake, at_its_end = std::shared_ptr<void>(nullptr, [wake](void*) {
                                       wake->dropped = true;
                                       wake->timer.cancel();
                                   })] { wake->rung = true; });
    boost::system::error_code ec;
    if (!wake->dropped)
        co_await wake->timer.async_wait(asio::redirect_error(asio::use_awaitable, ec));
    if (!wake->rung)
        throw boost::system::system_error(asio::error::operation_aborted);
}

std::chrono::nanoseconds world::elapsed() const
{
    return state_->time.now();
}

std::size_t world::size() const
{
    return state_->net.size();
}

void world::kill(std::size_t node)
{
    auto& its = state_->node(node);
    if (!its.up)
        return;
    state_->saved[node] = its.redis.keys().all();
    state_->net.kill(node);
}

void world::restart(std::size_t node, data what)
{
    kill(node);
    auto keys = std::exchange(state_->saved[node], {});
    if (what == data::lost)
        keys.clear();
    state_->node(node).stalled_until = {};
    state_->net.start(node, std::move(keys));
}

void world::cut(std::size_t node)
{
    state_->node(node).reachable = false;
}

void world::mend(std::size_t node)
{
    state_->node(node).reachable = true;
}

void world::stall(std::size_t node, milliseconds time)
{
    state_->node(node).stalled_until = state_->time.now() + checked(time, "stall()");
}

void world::flush(std::size_t node)
{
    (void)state_->execute(node, {"FLUSHALL"});
    state_->saved.erase(node);
}

void world::exhaust_memory(std::size_t node, bool exhausted)
{
    state_->node(node).redis.is.out_of_memory = exhausted;
}

std::string world::key(std::string_view name) const
{
    return common_.key_prefix + std::string(name);
}

bool world::held(std::string_view name) const
{
    return state_->keys_of(key(name)) >= core::majority(static_cast<unsigned>(size()));
}

void world::hold(std::string_view name, milliseconds time)
{
    milliseconds const length = checked(time, "hold()");
    if (name.empty())
        throw std::invalid_argument(complaint("hold(): the lock's name is empty"));
    if (length == milliseconds::zero())
        throw std::invalid_argument(complaint("hold() of 0 ms: nobody holds a lock for no time"));
    if (held(name))
        throw std::logic_error(complaint("'" + std::string(name) + "' is held already"));
    if (state_->grant(key(name), somebody, 0, length) != 0)
        return;
    bool const any = state_->keys_of(key(name)) != 0;
    throw std::logic_error(
        complaint("'" + std::string(name) + "' is not taken: " +
                  (any ? "it is held on every server that can be reached" : "no server can be reached")));
}

void world::let_go(std::string_view name)
{
    state_->remove(key(name), somebody);
}

void world::lose(lease& held)
{
    expect_no_end(held);
    if (!state_->machines.contains(detail::machine_of(held)))
        throw std::logic_error(
            complaint("the lease of '" + std::string(held.resource()) + "' is one of another world"));
    if (held.state() == lease_state::lost)
        return;
    if (auto const its = state_->find(held.nonce())) {
        state_->remove(*its, held.nonce());
        if (held.fencing_token() != 0) // an extension would set a deleted key again
            state_->overtake(*its, held.fencing_token());
    }
    state_->remove_share(held.nonce());
    held.extend([](boost::system::error_code) {});
}

} // namespace redlock::testing
