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

void node::run_clock_at(double rate, duration now)
{
    clock_ahead +=
        duration{static_cast<std::int64_t>(static_cast<double>(now.count()) * (clock_rate - rate))};
    clock_rate = rate;
}

constexpr std::int64_t month_us = 30LL * 24 * 3600 * 1'000'000;

network::network(timeline& t, unsigned nodes, std::uint64_t seed)
    : time_(t), dice_(static_cast<std::minstd_rand::result_type>(seed))
{
    for (unsigned i = 0; i != nodes; ++i) {
        nodes_.push_back(std::make_unique<node>(*this, i));
        start(i);
        nodes_.back()->redis.is.started_us -= month_us;
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

std::shared_ptr<net::stream> network::make_stream(unsigned host, net::any_io_executor const& executor,
                                                  std::weak_ptr<void> busy)
{
    return std::make_shared<sim_stream>(*this, host, executor, std::move(busy));
}

void network::run_server(unsigned number, std::shared_ptr<link> const& from, std::string const& bytes)
{
    from->unread += bytes;
    serve(number, from);
}

void network::hang_up(unsigned number, std::shared_ptr<link> const& from)
{
    from->finished = true;
    serve(number, from);
}

/// What came while it stalled is executed when it goes on, also for a client that has hung up meanwhile.
void network::serve(unsigned number, std::shared_ptr<link> const& from)
{
    node& n = *nodes_[number];
    if (!n.reachable)
        from->lose();
    if (from->lost())
        return;
    if (n.stalled_until > time_.now())
        return time_.at(n.stalled_until, [this, number, from] { serve(number, from); });
    if (!n.up)
        return;
    if (!links_.contains(from->id())) // of an earlier life
        return from->reset();
    if (!from->unread.empty())
        n.redis.receive(from->id(), std::exchange(from->unread, {}), n.wall_us(time_.now()));
    if (from->finished)
        forget(number, from->id());
}

void network::speak(unsigned number, server::connection_id id)
{
    node& n = *nodes_[number];
    auto const at = links_.find(id);
    auto const to = at == links_.end() ? nullptr : at->second.lock();
    std::string bytes = n.redis.take_output(id);
    if (n.garble && !bytes.empty())
        bytes = n.garble(id, std::move(bytes));
    if (!to || bytes.empty())
        return;
    if (std::exchange(n.cuts_answer, false))
        return cut_answer(number, to, bytes);
    to->send_back(std::move(bytes));
}

/// Its server has executed what it answers.
void network::cut_answer(unsigned number, std::shared_ptr<link> const& to, std::string const& bytes)
{
    if (auto const some = dice_() % bytes.size(); some != 0)
        to->send_back(bytes.substr(0, some));
    to->reset_behind();
    time_.after({}, [this, number, id = to->id()] { forget(number, id); }); // it may be telling others
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

/// Its first digits tell it from all others, as those that a server draws do.
std::string network::new_id(char fill)
{
    std::string const life = std::to_string(++lives_);
    return std::string(8 - life.size(), '0') + life + std::string(32, fill);
}

void network::start(std::size_t number, data keys)
{
    node& n = *nodes_[number];
    server::traits& is = n.redis.is;
    is.run_id = new_id('0');
    is.replid = new_id('a');
    is.replid2 = std::string(40, '0');
    is.replica = is.loading = false;
    is.started_us = n.wall_us(time_.now());
    n.redis.keys().replace(std::move(keys));
    n.up = true;
}

void network::promote(std::size_t number, data keys)
{
    server::traits& is = nodes_[number]->redis.is;
    std::string before = is.replid;
    kill(number);
    start(number, std::move(keys));
    is.replid2 = std::move(before);
    is.started_us -= month_us;
}

void network::follow(std::size_t number)
{
    node& n = *nodes_[number];
    (void)n.redis.execute({"FLUSHALL"}, n.wall_us(time_.now()));
    n.redis.is.replica = true;
    n.redis.is.replid = new_id('b');
    n.redis.is.replid2 = std::string(40, '0');
}

void network::lead(std::size_t number)
{
    server::traits& is = nodes_[number]->redis.is;
    if (!std::exchange(is.replica, false)) // it was restarted meanwhile
        return;
    is.replid2 = std::exchange(is.replid, new_id('a'));
}

void network::reset_connections(std::size_t number, std::optional<unsigned> host)
{
    for (auto const& [id, weak] : std::map(links_))
        if (auto const l = weak.lock(); l && l->node() == number && l->host() == host.value_or(l->host())) {
            nodes_[number]->redis.disconnect(id);
            links_.erase(id);
            l->reset();
        }
}

} // namespace redlock::world
