#include "engine/engine.hpp"

#include "engine/context_end.hpp"

#include <utility>

namespace redlock::detail {

std::shared_ptr<engine> engine::make(net::any_io_executor executor, config const& settings,
                                     std::shared_ptr<net::machine> on)
{
    if (!net::serialising(executor))
        misconfigured("the executor does not serialise: give a strand over the pool, or an io_context run by "
                      "one thread");
    auto made = std::make_shared<engine>(std::move(executor), check(settings, *on), on);
    made->loop().owned_by(made);
    context_end::tell(boost::asio::query(made->executor(), boost::asio::execution::context), made);
    return made;
}

engine::engine(net::any_io_executor executor, client_settings settings, std::shared_ptr<net::machine> on)
    : runtime_(std::move(executor), std::move(settings), std::move(on), *this, static_cast<net::task&>(*this),
               sizeof(held_lease))
{
    loop().made_in(runtime_.its.process(), *this);
}

engine::~engine() = default;

std::shared_ptr<lock_state> engine::make_lock(std::string name, lock_options const& options,
                                              kind::lock_kind const& type)
{
    return std::make_shared<lock_state>(plans_.get(shared_from_this(), runtime_, options, type),
                                        keys_.at(std::move(name)));
}

} // namespace redlock::detail
