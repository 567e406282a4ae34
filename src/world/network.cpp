// SPDX-License-Identifier: BSL-1.0
#include "world/network.hpp"

#include "net/executor.hpp"
#include "world/link.hpp"
#include "world/tls.hpp"

#include <boost/asio/error.hpp>

#include <algorithm>
#include <utility>

namespace redlock::world {

namespace asio = boost::asio;

node::node(network& net, unsigned number)
    : redis([&net, number](server::connection_id id) { net.speak(number, id); }),
      address(0x7f4d0001U + number) // 127.77.0.1
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
        tell_address(i);
    }
}

network::~network() = default;

std::string network::url(std::size_t i) const
{
    return "redis://" + nodes_[i]->address.to_string() + ':' + std::to_string(port);
}

std::optional<unsigned> network::at_address(asio::ip::address_v4 address) const
{
    auto const found = std::ranges::find(nodes_, address, &node::address);
    if (found == nodes_.end())
        return {};
    return static_cast<unsigned>(found - nodes_.begin());
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
    (from->secure() ? from->enciphered : from->unread) += bytes;
    serve(number, from);
}

void network::hang_up(unsigned number, std::shared_ptr<link> const& from)
{
    from->finished = true;
    serve(number, from);
}

/// Bytes that came while the server stalled are executed when it continues, also those of a client that has hung up
/// meanwhile.
void network::serve(unsigned number, std::shared_ptr<link> const& from)
{
    node& n = *nodes_[number];
    if (from->cut_off())
        from->lose();
    if (from->lost())
        return;
    if (n.stalled_until > time_.now())
        return time_.at(n.stalled_until, [this, number, from] { serve(number, from); });
    if (!n.up)
        return;
    if (!links_.contains(from->id())) // a link to an earlier process
        return from->reset();
    if (from->secure() && !decipher(number, from))
        return;
    if (!from->unread.empty() && n.overhear)
        n.overhear(from->id(), from->unread);
    if (!from->unread.empty())
        n.redis.receive(from->id(), std::exchange(from->unread, {}), n.wall_us(time_.now()));
    if (from->finished)
        forget(number, from->id());
}

/// False: there is nothing more, for now or permanently.
bool network::decipher(unsigned number, std::shared_ptr<link> const& from)
{
    node& n = *nodes_[number];
    if (!from->tls.established() && n.tls.silent_until > time_.now()) {
        time_.at(n.tls.silent_until, [this, number, from] { serve(number, from); });
        return false;
    }
    auto heard = from->tls.receive(from->enciphered, n.tls);
    from->unread += heard.said;
    if (!heard.answer.empty())
        from->send_back(std::move(heard.answer));
    if (heard.over) {
        from->end_behind(asio::error::eof);
        forget(number, from->id());
    }
    return !heard.over;
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
    if (to->secure())
        bytes = tls_record::wrap(tls_record::data, bytes);
    if (std::exchange(n.cuts_answer, false))
        return cut_answer(number, to, bytes);
    to->send_back(std::move(bytes));
}

/// The server has executed the commands that the answer belongs to.
void network::cut_answer(unsigned number, std::shared_ptr<link> const& to, std::string const& bytes)
{
    if (auto const some = dice_() % bytes.size(); some != 0)
        to->send_back(bytes.substr(0, some));
    to->end_behind(asio::error::connection_reset);
    time_.after({},
                [this, number, id = to->id()] { forget(number, id); }); // the server may be writing to other
                                                                        // clients
}

std::shared_ptr<link> network::join(unsigned host, unsigned number, entrance by)
{
    auto made = std::make_shared<link>(*this, host, number, by, next_id_++);
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
        if (l && (with_rst || l->local()))
            l->reset();
        at = links_.erase(at);
    }
}

/// Its first digits differ from those of all other ids, as they do for real servers.
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

std::vector<std::shared_ptr<link>> network::take_links(std::size_t number, bool remote_only,
                                                       std::optional<unsigned> host)
{
    std::vector<std::shared_ptr<link>> taken;
    for (auto const& [id, weak] : std::map(links_))
        if (auto l = weak.lock(); l && l->node() == number && !(remote_only && l->local()) &&
                                  l->host() == host.value_or(l->host())) {
            forget(l->node(), id);
            taken.push_back(std::move(l));
        }
    return taken;
}

void network::reset_connections(std::size_t number, std::optional<unsigned> host)
{
    for (auto const& l : take_links(number, false, host))
        l->reset();
}

std::vector<std::shared_ptr<link>> network::links_of(std::size_t number, unsigned host) const
{
    std::vector<std::shared_ptr<link>> found;
    for (auto const& [id, weak] : links_)
        if (auto l = weak.lock(); l && l->node() == number && l->host() == host && !l->local())
            found.push_back(std::move(l));
    return found;
}

void network::hold_connections(std::size_t number, unsigned host, duration until)
{
    for (auto const& l : links_of(number, host))
        l->hold_until(until);
}

void network::reset_clients(std::size_t number, unsigned host)
{
    for (auto const& l : links_of(number, host))
        l->reset_client();
}

void network::close_connections(std::size_t number, bool announced)
{
    for (auto const& l : take_links(number)) {
        if (l->secure() && announced)
            l->send_back(tls_record::wrap(tls_record::alert, tls_record::close_notify));
        l->end_behind(asio::error::eof);
    }
}

void network::move(std::size_t number, bool with_rst)
{
    node& n = *nodes_[number];
    n.address = asio::ip::address_v4(n.address.to_uint() + 0x100U);
    for (auto const& l : take_links(number, true))
        with_rst ? l->reset() : l->lose();
}

} // namespace redlock::world
