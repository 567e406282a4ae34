#include "core/fencing.hpp"
#include "core/tally.hpp"
#include "lock/client_access.hpp"
#include "redis/command.hpp"
#include "testing/state.hpp"
#include "world/process.hpp"
#include <redlock/testing/world.hpp>

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <stdexcept>

namespace redlock::testing {

namespace asio = boost::asio;
using core::duration;

namespace {

constexpr std::chrono::hours patience{1};
constexpr std::string_view somebody = "feedfacefeedfacefeedfacefeedface";

/// The world's clocks, for one client.
struct owned_machine {
    owned_machine(std::shared_ptr<void> its, redlock::world::network& net, unsigned host)
        : keeps(std::move(its)), machine(net, host, host + 1)
    {}
    std::shared_ptr<void> keeps;
    redlock::world::sim_machine machine;
};

} // namespace

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

void world::state::grant(std::string const& key, std::string_view nonce, std::uint64_t token,
                         std::chrono::milliseconds ttl)
{
    std::string const length = std::to_string(ttl.count());
    for (std::size_t n = 0; n != net.size(); ++n) {
        if (!can_be_had(n))
            continue;
        (void)execute(n, {"SET", key, std::string(nonce), "NX", "PX", length});
        if (token != 0)
            (void)execute(n, {"SET", key + std::string(redis::fence_suffix),
                              std::to_string(token >> core::hand_off_bits), "PX", length});
    }
}

void world::state::remove(std::string const& key, std::string_view nonce)
{
    for (std::size_t n = 0; n != net.size(); ++n)
        for (auto const& [its, value] : std::map(net.at(n).redis.keys().all()))
            if (value.text == nonce && (key.empty() || its == key))
                (void)execute(n, {"DEL", its});
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
    common_.assume_fresh = true;
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
    if (settings.nodes.empty())
        settings.nodes = common_.nodes;
    unsigned const host = state_->hosts++;
    for (std::size_t n = 0; n != size(); ++n)
        state_->net.between(host, n).latency = duration::zero();
    auto const owned = std::make_shared<owned_machine>(state_, state_->net, host);
    return lock::make_client(context_.get_executor(), settings,
                             std::shared_ptr<net::machine>(owned, &owned->machine));
}

config world::settings() const
{
    return common_;
}

void world::settle()
{
    bool ran = true;
    while (ran) {
        if (context_.stopped())
            context_.restart();
        ran = context_.poll() != 0;
        ran = state_->time.step(state_->time.now()) || ran;
    }
}

void world::run_until(std::function<bool()> const& condition)
{
    refuse_handlers();
    duration const limit = state_->time.now() + patience;
    for (settle(); !condition(); settle())
        if (!state_->time.step(limit))
            throw std::runtime_error(
                "redlock::testing::world: an hour of its time is over, or nothing can happen any more");
}

void world::advance(std::chrono::milliseconds time)
{
    refuse_handlers();
    duration const end = state_->time.now() + time;
    for (settle(); state_->time.step(end); settle())
        ;
}

void world::refuse_handlers() const
{
    if (context_.get_executor().running_in_this_thread())
        throw std::logic_error(
            "redlock::testing::world: this runs the context, and is not for its handlers and "
            "coroutines; they have sleep()");
}

asio::awaitable<void> world::sleep(std::chrono::milliseconds time)
{
    auto const timer = std::make_shared<asio::steady_timer>(context_, asio::steady_timer::time_point::max());
    state_->time.after(time, [timer] { timer->cancel(); });
    boost::system::error_code ec;
    co_await timer->async_wait(asio::redirect_error(asio::use_awaitable, ec));
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

void world::stall(std::size_t node, std::chrono::milliseconds time)
{
    state_->node(node).stalled_until = state_->time.now() + time;
}

void world::flush(std::size_t node)
{
    (void)state_->execute(node, {"FLUSHALL"});
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

void world::hold(std::string_view name, std::chrono::milliseconds time)
{
    if (held(name))
        throw std::logic_error("redlock::testing::world: '" + std::string(name) + "' is held already");
    state_->grant(key(name), somebody, 0, time);
}

void world::let_go(std::string_view name)
{
    state_->remove(key(name), somebody);
}

void world::lose(lease& held)
{
    state_->remove({}, held.nonce());
    held.extend([](boost::system::error_code) {});
}

} // namespace redlock::testing
