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

std::shared_ptr<lock_plan const> engine::plan_of(lock_options const& options, kind::lock_kind const& type)
{
    auto plan = plans_.get(shared_from_this(), runtime_, settings(), options, type);
    runtime_.nodes.expect_keys(plan->key_ttl, plan->terms.slack);
    return plan;
}

std::shared_ptr<lock_state> engine::make_lock(std::string name, lock_options const& options,
                                              kind::lock_kind const& type, kind::permits permits)
{
    return std::make_shared<lock_state>(plan_of(options, type), keys_.at(std::move(name)), permits);
}

std::shared_ptr<lock_state> engine::make_lock(std::vector<std::string> names, lock_options const& options,
                                              kind::lock_kind const& type)
{
    return std::make_shared<lock_state>(plan_of(options, type), keys_.at_all(std::move(names)));
}

} // namespace redlock::detail
