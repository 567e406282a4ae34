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
    runtime_.clean.drop_keys();
}

std::shared_ptr<lock_plan const> engine::plan_of(all_options const& options, kind::lock_kind const& type,
                                                 kind::lock_terms terms)
{
    auto plan = plans_.get(shared_from_this(), runtime_, settings(), options, type, std::move(terms));
    runtime_.nodes.expect_keys(plan->key_ttl, plan->terms.slack);
    return plan;
}

std::shared_ptr<lock_state> engine::make_lock(std::string name, all_options const& options,
                                              kind::lock_kind const& type, kind::lock_terms terms)
{
    return std::make_shared<lock_state>(plan_of(options, type, std::move(terms)), keys_.at(std::move(name)));
}

std::shared_ptr<lock_state> engine::make_lock(std::vector<std::string> names, all_options const& options,
                                              kind::lock_kind const& type)
{
    return std::make_shared<lock_state>(plan_of(options, type), new key_group(keys_, std::move(names)));
}

std::shared_ptr<lock_state> engine::make_like(lock_state const& other)
{
    auto const plan = plan_of(other.plan->options, other.plan->kind, other.plan->kind_terms);
    auto const several = other.key().several;
    if (several.empty())
        return std::make_shared<lock_state>(plan, keys_.at(other.name()));
    return std::make_shared<lock_state>(plan, new key_group(keys_, {several.begin(), several.end()}));
}

std::shared_ptr<lock_state> engine::make_like(lock_state const& other, kind::lock_terms terms)
{
    return std::make_shared<lock_state>(plan_of(other.plan->options, other.plan->kind, std::move(terms)),
                                        other.wanted);
}

std::shared_ptr<engine> engine::successor() const
{
    if (!retired_.load(std::memory_order_acquire))
        return nullptr;
    auto const its = [this] {
        std::scoped_lock const guard(heirs_);
        return next_;
    }();
    auto further = its->successor(); // there was no memory for leaving the keys to that
    return further ? further : its;
}

/// As long as the lock is there, so that what its attempts come to is found again.
std::shared_ptr<lock_state> engine::heir_of(lock_state& lock)
{
    auto const its = successor();
    if (!its)
        return nullptr;
    std::scoped_lock const guard(heirs_);
    if (!lock.heir || &lock.heir->client() != its.get())
        lock.heir = its->make_like(lock);
    return lock.heir;
}

engine& engine::present(std::shared_ptr<lock_state>& lock)
{
    auto heir = heir_of(*lock);
    if (!heir)
        return *this;
    lock = std::move(heir);
    engine& its = lock->client();
    its.loop().request_turn();
    return its;
}

} // namespace redlock::detail
