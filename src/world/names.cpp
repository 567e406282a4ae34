// SPDX-License-Identifier: BSL-1.0
#include "world/names.hpp"

#include "net/executor.hpp"
#include "world/network.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <utility>

namespace redlock::world {

namespace asio = boost::asio;

void look_ups::ask(question what)
{
    net_.touch(host_);
    waiting_.push_back(std::move(what));
    if (waiting_.size() == 1)
        begin();
}

/// A look-up that was cancelled before it began ends then; one that is cancelled later does not notice.
void look_ups::begin()
{
    names const& all = net_.names();
    duration took =
        std::max(all.silent_until - net_.time().now(), duration{}) + net_.between_zero_and(all.latency);
    net::error_code ec;
    if (waiting_.front().asked.expired()) {
        took = {};
        ec = asio::error::operation_aborted;
    } else if (took >= names::patience) {
        took = names::patience;
        ec = asio::error::host_not_found_try_again;
    }
    net_.time().after(took, [weak = weak_from_this(), ec] {
        if (auto const self = weak.lock())
            self->end(ec);
    });
}

void look_ups::end(net::error_code ec)
{
    question asked = std::move(waiting_.front());
    waiting_.pop_front();
    if (!ec)
        ec = answer(asked);
    net::any_io_executor const executor = asked.executor;
    asio::post(executor, [asked = std::move(asked), ec]() mutable { asked.done(ec); });
    if (!waiting_.empty())
        begin();
}

net::error_code look_ups::answer(question const& asked) const
{
    names const& all = net_.names();
    auto const at = all.known.find(asked.host);
    if (all.trouble)
        return all.trouble;
    if (at == all.known.end())
        return asio::error::host_not_found;
    for (auto const& address : at->second)
        asked.found->emplace_back(asio::ip::tcp::endpoint(address, asked.port));
    return {};
}

} // namespace redlock::world
