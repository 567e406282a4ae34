#include "world/network.hpp"

#include "world/link.hpp"

#include <boost/asio/ip/tcp.hpp>

#include <utility>

namespace redlock::world {

node::node(network& net, unsigned number)
    : redis([&net, number](server::connection_id id) { net.speak(number, id); })
{}

std::int64_t node::wall_us(duration now) const
{
    constexpr std::int64_t begin_us = 1'700'000'000'000'000;
    auto const passed =
        static_cast<std::int64_t>(static_cast<double>(now.count()) * clock_rate) + clock_ahead.count();
    return begin_us + passed / 1000;
}

network::network(timeline& t, unsigned nodes, std::uint64_t seed)
    : time_(t), dice_(static_cast<std::minstd_rand::result_type>(seed))
{
    for (unsigned i = 0; i != nodes; ++i) {
        nodes_.push_back(std::make_unique<node>(*this, i));
        start(i);
        nodes_.back()->redis.is.started_us -= 30LL * 24 * 3600 * 1'000'000; // it has been there for a month
    }
}

network::~network() = default;

std::string network::url(std::size_t i) const
{
    return "redis://127.77.0." + std::to_string(i + 1) + ":6379";
}

duration network::between_zero_and(duration most)
{
    return most.count() == 0 ? most : duration{static_cast<std::int64_t>(dice_()) % (most.count() + 1)};
}

std::shared_ptr<net::stream> network::make_stream(unsigned host, net::any_io_executor const& executor)
{
    return std::make_shared<sim_stream>(*this, host, executor);
}

void network::run_server(unsigned number, std::shared_ptr<link> const& from, std::string const& bytes)
{
    node& n = *nodes_[number];
    if (n.stalled_until > time_.now())
        return time_.at(n.stalled_until, [this, number, from, bytes] { run_server(number, from, bytes); });
    if (!n.up || !n.reachable)
        return;
    if (!links_.contains(from->id())) // of an earlier life
        return from->reset();
    n.redis.receive(from->id(), bytes, n.wall_us(time_.now()));
}

void network::speak(unsigned number, server::connection_id id)
{
    auto const at = links_.find(id);
    auto const to = at == links_.end() ? nullptr : at->second.lock();
    std::string bytes = nodes_[number]->redis.take_output(id);
    if (to && !bytes.empty())
        to->send_back(std::move(bytes));
}

std::shared_ptr<link> network::join(unsigned host, unsigned number)
{
    auto made = std::make_shared<link>(*this, host, number, next_id_++);
    links_[made->id()] = made;
    nodes_[number]->redis.connect(made->id());
    return made;
}

void network::forget(unsigned number, server::connection_id id)
{
    links_.erase(id);
    nodes_[number]->redis.disconnect(id);
}

void network::bury(unsigned host)
{
    for (auto const& [id, weak] : std::map(links_))
        if (auto const l = weak.lock(); l && l->host() == host)
            l->close();
    dead_.insert(host);
}

void network::kill(std::size_t number, bool with_rst)
{
    node& n = *nodes_[number];
    n.up = false;
    n.redis.die();
    for (auto at = links_.begin(); at != links_.end();) {
        auto const l = at->second.lock();
        if (l && l->node() != number) {
            ++at;
            continue;
        }
        if (l && with_rst)
            l->reset();
        at = links_.erase(at);
    }
}

void network::start(std::size_t number, std::map<std::string, keyspace::value> keys)
{
    node& n = *nodes_[number];
    ++lives_;
    std::string const life = std::to_string(lives_);
    n.redis.is.run_id = std::string(40 - life.size(), '0') + life;
    if (n.redis.is.replid.empty() || keys.empty())
        n.redis.is.replid = std::string(40 - life.size(), 'a') + life;
    n.redis.is.started_us = n.wall_us(time_.now());
    n.redis.keys().replace(std::move(keys));
    n.up = true;
}

void network::reset_connections(std::size_t number)
{
    for (auto const& [id, weak] : std::map(links_))
        if (auto const l = weak.lock(); l && l->node() == number) {
            nodes_[number]->redis.disconnect(id);
            links_.erase(id);
            l->reset();
        }
}

} // namespace redlock::world
