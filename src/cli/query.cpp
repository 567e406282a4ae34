// SPDX-License-Identifier: BSL-1.0
#include "cli/query.hpp"

#include "engine/configuration.hpp"
#include "net/coroutine.hpp"
#include "net/leaf/this_machine.hpp"
#include "net/stream.hpp"
#include "redis/push.hpp"
#include "redis/resp.hpp"
#include "redis/resp_parser.hpp"
#include "redis/text_number.hpp"
#include "redis/url.hpp"
#include <redlock/node_outcome.hpp>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/system/error_code.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace redlock::cli {

namespace asio = boost::asio;

std::string trouble_of(net::failure const& why)
{
    return std::string(to_string(why.result)) + (why.detail.empty() ? "" : " (" + why.detail + ')');
}

std::chrono::milliseconds clock_of(interview const& node)
{
    auto const now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::floor<std::chrono::milliseconds>(now +
                                                         node.ahead.value_or(std::chrono::microseconds{}));
}

namespace {

/// Wider than a lock's client needs: SCAN returns a thousand keys of other programs, of any length.
constexpr redis::parse_limits wide_limits{.max_bulk = std::size_t{16} << 20,
                                          .max_message = std::size_t{64} << 20};

/// Keeps `longest` bytes of each text.
answer to_answer(std::span<redis::resp_node const> message, std::size_t longest)
{
    auto const body = redis::body(message);
    redis::resp_node const& first = body.front();
    auto const kept = [&](redis::resp_node const& node) { return std::string(node.text.substr(0, longest)); };
    if (redis::is_error(first.type))
        return {.type = answer::kind::error, .text = std::string(first.text)};
    if (first.type == redis::resp_type::number)
        return {.type = answer::kind::number, .number = first.number};
    if (first.type == redis::resp_type::null)
        return {};
    if (!redis::is_aggregate(first.type))
        return {.type = answer::kind::text, .text = kept(first)};
    answer list{.type = answer::kind::list};
    for (redis::resp_node const& node : body)
        if (node.depth == 1)
            list.list.push_back(kept(node));
        else if (node.depth == 2)
            list.inner.push_back(kept(node));
    return list;
}

interview::transport transport_of(net::peer const& peer)
{
    if (peer.where.transport == redis::endpoint::kind::tls)
        return peer.verify ? interview::transport::verified : interview::transport::unverified;
    std::vector<redis::address> hosts = peer.where.sentinels;
    if (hosts.empty())
        hosts.push_back({peer.where.host, peer.where.port});
    bool const loopback = std::ranges::all_of(hosts, [](redis::address const& to) {
        boost::system::error_code ec;
        return asio::ip::make_address(to.host, ec).is_loopback() || to.host == "localhost";
    });
    return loopback || peer.where.transport == redis::endpoint::kind::unix_socket
               ? interview::transport::local
               : interview::transport::plain;
}

using questioner = std::function<questions(interview const&)>;
using dialogue = std::function<questions(std::size_t, interview const&)>;

/// One node's connection, questions and answers.
class interviewer final : private net::connect_listener {
public:
    /// \param next makes this node's next questions from its last answers
    interviewer(asio::io_context& context, std::shared_ptr<net::peer const> peer, bool called_durable,
                std::chrono::nanoseconds patience, questioner next)
        : peer_(std::move(peer)), next_(std::move(next)), patience_(patience), timer_(context),
          connector_(std::make_shared<net::connector>(context.get_executor(), *net::this_machine(), peer_,
                                                      static_cast<net::connect_listener&>(*this)))
    {
        result_.node = peer_->name;
        result_.how = transport_of(*peer_);
        result_.called_durable = called_durable;
        connector_->start();
    }

    [[nodiscard]] interview take() { return std::move(result_); }

private:
    void on_connect_failed(net::failure why) override { result_.failed = std::move(why); }
    void on_connected(std::shared_ptr<net::stream> connection, net::introduction told) override
    {
        stream_ = std::move(connection);
        result_.facts = std::move(told.facts);
        talk_ = talk();
        asio::post(timer_.get_executor(), [this] { talk_.start(); });
    }

    net::coroutine<void> talk()
    {
        questions first;
        first.ask({"TIME"});
        auto const sent = std::chrono::steady_clock::now();
        auto const clock = std::chrono::system_clock::now();
        bool good = co_await exchange(first);
        auto const took = std::chrono::steady_clock::now() - sent;
        result_.round_trip = std::chrono::duration_cast<std::chrono::microseconds>(took);
        if (good)
            read_clock(clock + std::chrono::duration_cast<std::chrono::microseconds>(took / 2));
        while (good) {
            questions const asked = next_(result_);
            if (asked.count == 0)
                break;
            result_.answers.clear();
            good = co_await exchange(asked);
        }
        timer_.cancel();
        stream_->close();
    }

    void read_clock(std::chrono::system_clock::time_point then)
    {
        answer const said = std::exchange(result_.answers, {}).front();
        std::int64_t seconds = 0;
        std::int64_t rest = 0;
        if (said.list.size() != 2 || !redis::read_number(said.list[0], seconds) ||
            !redis::read_number(said.list[1], rest))
            return;
        auto const theirs = std::chrono::seconds{seconds} + std::chrono::microseconds{rest};
        result_.ahead =
            theirs - std::chrono::duration_cast<std::chrono::microseconds>(then.time_since_epoch());
    }

    void limit_time()
    {
        timer_.expires_after(patience_);
        timer_.async_wait([this](boost::system::error_code ec) {
            if (ec)
                return;
            late_ = true;
            stream_->close();
        });
    }

    net::coroutine<bool> exchange(questions const& what)
    {
        limit_time();
        boost::system::error_code ec;
        net::operation written;
        stream_->write(asio::buffer(what.bytes), written.handler({}));
        ec = co_await written; // no initializer: g++ 11 would refuse it here
        std::size_t missing = what.count;
        std::size_t missing_in_time = missing;
        redis::resp_parser parser(wide_limits);
        std::string input;
        char chunk[8192];
        while (!ec && missing != 0) {
            auto const parsed = parser.next(input);
            if (parsed.status == redis::parse_status::malformed) {
                result_.failed =
                    net::failure{.result = node_result::unreachable,
                                 .detail = std::string(net::no_redis_server) + std::string(parser.what())};
                co_return false;
            }
            if (parsed.status == redis::parse_status::need_more) {
                input.erase(0, parsed.consumed);
                if (std::exchange(missing_in_time, missing) != missing)
                    limit_time(); // for the next answer: several may be long
                net::operation told;
                stream_->read(asio::buffer(chunk), told.handler({}));
                ec = co_await told;
                input.append(chunk, told.transferred());
                continue;
            }
            if (redis::value(parser.message()).type != redis::resp_type::push ||
                redis::is_subscription(parser.message())) {
                result_.answers.push_back(to_answer(parser.message(), what.longest));
                --missing;
            }
            input.erase(0, parsed.consumed);
        }
        if (ec)
            result_.failed =
                late_
                    ? net::failure{.result = node_result::timed_out, .detail = "no answer to a question"}
                    : net::failure{.result = node_result::unreachable, .detail = "question: " + ec.message()};
        co_return !ec;
    }

    std::shared_ptr<net::peer const> peer_;
    questioner next_;
    std::chrono::nanoseconds patience_;
    asio::steady_timer timer_;
    std::shared_ptr<net::connector> connector_;
    std::shared_ptr<net::stream> stream_;
    bool late_ = false; ///< the time limit, and not the server, has closed the connection
    interview result_;
    net::coroutine<void> talk_; // last: its frames refer to the rest
};

} // namespace

std::vector<interview> converse(config const& settings, dialogue const& next)
{
    auto const checked = detail::check(settings, *net::this_machine());
    asio::io_context context{1};
    std::vector<std::unique_ptr<interviewer>> all;
    for (std::size_t i = 0; i != checked.peers.size(); ++i)
        all.push_back(std::make_unique<interviewer>(
            context, checked.peers[i], checked.admission[i].durable, checked.terms[i].response_timeout,
            [&next, i](interview const& so_far) { return next(i, so_far); }));
    context.run();
    std::vector<interview> results;
    for (auto const& one : all)
        results.push_back(one->take());
    return results;
}

std::vector<interview> ask_nodes(config const& settings, questioner const& asked)
{
    return converse(settings, [&](std::size_t, interview const& so_far) {
        return so_far.answers.empty() ? asked(so_far) : questions{};
    });
}

} // namespace redlock::cli
