// SPDX-License-Identifier: BSL-1.0
#include "engine/context_end.hpp"

#include "engine/configuration.hpp"
#include "engine/engine.hpp"

#include <utility>

namespace redlock::detail {

boost::asio::execution_context::id context_end::id;

std::shared_ptr<engine> make_engine(net::any_io_executor executor, config const& settings,
                                    std::shared_ptr<net::machine> on)
{
    if (!executor)
        misconfigured("the executor is empty: give that of an io_context, or a strand");
    if (!net::serialising(executor))
        misconfigured("the executor does not serialise: give a strand over the pool, or an io_context run by "
                      "one thread");
    auto made = std::make_shared<engine>(std::move(executor), check(settings, *on), on);
    made->loop().owned_by(made);
    context_end::tell(boost::asio::query(made->executor(), boost::asio::execution::context), made);
    return made;
}

void context_end::tell(boost::asio::execution_context& context, std::shared_ptr<engine> const& e)
{
    auto& self = boost::asio::use_service<context_end>(context);
    std::scoped_lock const guard(self.lock_);
    std::erase_if(self.engines_, [](auto const& known) { return known.expired(); });
    self.engines_.push_back(e);
}

void context_end::shutdown()
{
    for (auto const& known : std::exchange(engines_, {}))
        if (auto const alive = known.lock())
            alive->context_gone();
}

/// The reactor, which is older than this, has a set of its own by then.
void context_end::notify_fork(boost::asio::execution_context::fork_event event)
{
    if (event != boost::asio::execution_context::fork_child)
        return;
    for (auto const& known : engines_) // unguarded: only the thread that forked is here
        if (auto const alive = known.lock(); alive && alive->forked())
            alive->end_in_child();
}

} // namespace redlock::detail
