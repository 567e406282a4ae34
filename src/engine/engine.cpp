// SPDX-License-Identifier: BSL-1.0
#include "engine/engine.hpp"

#include "engine/key_group.hpp"

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
    runtime_.rollbacks.drop_keys();
}

std::shared_ptr<lock_config const> engine::config_of(all_options const& options, kind::lock_kind const& type,
                                                     kind::lock_terms kind_terms)
{
    auto config =
        configs_.get(shared_from_this(), runtime_, settings(), options, type, std::move(kind_terms));
    runtime_.nodes.expect_keys(config->key_ttl, config->terms.slack);
    return config;
}

lock_ptr engine::make_lock(std::string name, all_options const& options, kind::lock_kind const& type,
                           kind::lock_terms terms)
{
    return new lock_descriptor(config_of(options, type, std::move(terms)), keys_.at(std::move(name)));
}

boost::intrusive_ptr<key_state> engine::keys_of(std::vector<std::string> names)
{
    return {new key_group(keys_, std::move(names))};
}

lock_ptr engine::make_lock(std::vector<std::string> names, all_options const& options,
                           kind::lock_kind const& type)
{
    return new lock_descriptor(config_of(options, type), keys_of(std::move(names)));
}

lock_ptr engine::make_like(lock_descriptor const& other)
{
    auto const config = config_of(other.config->options, other.config->kind, other.config->kind_terms);
    auto const several = other.redis_key().several;
    if (several.empty())
        return new lock_descriptor(config, keys_.at(other.name()));
    return new lock_descriptor(config, keys_of({several.begin(), several.end()}));
}

lock_ptr engine::make_like(lock_descriptor const& other, kind::lock_terms terms)
{
    return new lock_descriptor(config_of(other.config->options, other.config->kind, std::move(terms)),
                               other.key);
}

std::shared_ptr<engine> engine::successor() const
{
    if (!retired_.load(std::memory_order_acquire))
        return nullptr;
    auto const its = [this] {
        std::scoped_lock const guard(successor_guard_);
        return next_;
    }();
    auto further = its->successor(); // without memory, no keys were left to the further engine
    return further ? further : its;
}

/// Keeps the successor for as long as the lock lives, so that the results of the lock's attempts are found again.
lock_ptr engine::find_successor_of(lock_descriptor& lock)
{
    auto const its = successor();
    std::scoped_lock const guard(successor_guard_);
    if (!lock.successor || &lock.successor->client() != its.get())
        lock.successor = its->make_like(lock);
    return lock.successor;
}

engine& engine::successor_or_self(lock_ptr& lock)
{
    auto successor = successor_of(*lock);
    if (!successor)
        return *this;
    lock = std::move(successor);
    engine& its = lock->client();
    its.loop().request_turn();
    return its;
}

} // namespace redlock::detail
