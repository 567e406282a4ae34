// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "net/coroutine.hpp"
#include "net/executor.hpp"
#include "net/machine.hpp"
#include "world/timeline.hpp"

#include <boost/asio/ip/address_v4.hpp>

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace redlock::world {

class network;

/// The records of the name servers, and their answers to all clients.
struct names {
    std::map<std::string, std::vector<boost::asio::ip::address_v4>> known{};
    duration latency = std::chrono::microseconds{200}; ///< at most
    net::error_code trouble{};                         ///< the error that they give instead of an address
    duration silent_until{};

    /// An answer is awaited for this time; then the error says "try again".
    static constexpr duration patience = std::chrono::seconds{5};
};

/// One process's look-ups, one after the other as on Asio's one thread for them: a look-up that has begun cannot be
/// interrupted.
class look_ups : public std::enable_shared_from_this<look_ups> {
public:
    look_ups(network& net, unsigned host) : net_(net), host_(host) {}

    struct question {
        std::string host;
        std::uint16_t port;
        std::vector<net::endpoint>* found;
        std::weak_ptr<void> asked; ///< gone: it was cancelled
        net::any_io_executor executor;
        net::resumption done;
        std::shared_ptr<void> busy;
    };
    void ask(question);

private:
    void begin();
    void end(net::error_code);
    [[nodiscard]] net::error_code answer(question const&) const;

    network& net_;
    unsigned host_;
    std::deque<question> waiting_{}; ///< the first is under way
};

class sim_resolver final : public net::resolver {
public:
    sim_resolver(net::any_io_executor executor, std::shared_ptr<look_ups> in, std::weak_ptr<void> busy)
        : executor_(std::move(executor)), in_(std::move(in)), busy_(std::move(busy))
    {}

    void resolve(std::string const& host, std::uint16_t port, std::vector<net::endpoint>& found,
                 net::resumption done) override
    {
        in_->ask({host, port, &found, asked_, executor_, std::move(done), busy_.lock()});
    }
    void cancel() override { asked_ = std::make_shared<int>(); }

private:
    net::any_io_executor executor_;
    std::shared_ptr<look_ups> in_;
    std::weak_ptr<void> busy_;
    std::shared_ptr<void> asked_ = std::make_shared<int>();
};

} // namespace redlock::world
