// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "net/executor.hpp"
#include "net/machine.hpp"
#include <redlock/config.hpp>

#include <boost/asio/execution_context.hpp>

#include <memory>
#include <mutex>
#include <vector>

namespace redlock::detail {

class engine;

/// An engine that is told of its context's end.
/// \throws lock_error `errc::misconfigured`
[[nodiscard]] std::shared_ptr<engine> make_engine(net::any_io_executor, config const&,
                                                  std::shared_ptr<net::machine>);

/// Tells engines that their context is being destroyed, or is a forked child's (`notify_fork`). A handler that waits in
/// an engine may own the engine, as a coroutine that owns its client does. Only the context's end can break such a
/// cycle.
class context_end final : public boost::asio::execution_context::service {
public:
    using key_type = context_end;
    static boost::asio::execution_context::id id;

    explicit context_end(boost::asio::execution_context& context) : service(context) {}

    static void tell(boost::asio::execution_context&, std::shared_ptr<engine> const&);

private:
    void shutdown() override;
    void notify_fork(boost::asio::execution_context::fork_event) override;

    std::mutex lock_;
    std::vector<std::weak_ptr<engine>> engines_;
};

} // namespace redlock::detail
