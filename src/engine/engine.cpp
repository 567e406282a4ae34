#include "engine/engine.hpp"

#include <utility>

namespace redlock::detail {

engine::engine(net::any_io_executor executor, client_settings settings, std::shared_ptr<net::machine> on)
    : runtime_(std::move(executor), std::move(settings), std::move(on), *this, static_cast<net::task&>(*this),
               sizeof(held_lease))
{
    loop().made_in(runtime_.its.process(), *this);
}

engine::~engine()
{
    runtime_.clean.drop_keys();
}

std::shared_ptr<lock_state> engine::make_lock(std::string name, lock_options const& options,
                                              kind::lock_kind const& type)
{
    auto plan = plans_.get(shared_from_this(), runtime_, settings(), options, type);
    runtime_.nodes.expect_keys(plan->key_ttl, plan->terms.slack);
    return std::make_shared<lock_state>(std::move(plan), keys_.at(std::move(name)));
}

} // namespace redlock::detail
