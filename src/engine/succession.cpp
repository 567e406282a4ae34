// SPDX-License-Identifier: BSL-1.0
#include "engine/succession.hpp"

#include "core/memory.hpp"
#include "core/tally.hpp"
#include "engine/configuration.hpp"
#include "engine/context_end.hpp"
#include "engine/engine.hpp"
#include "engine/wait_op.hpp"
#include "redis/url.hpp"
#include <redlock/detail/error_access.hpp>
#include <redlock/error.hpp>

#include <boost/system/errc.hpp>
#include <boost/system/error_code.hpp>

#include <algorithm>
#include <utility>

namespace redlock::detail {

using boost::system::error_code;

namespace {

/// Clients with the old list and clients with the new one must exclude each other.
void require_meeting(client_settings const& old_list, client_settings const& new_list)
{
    auto const count = [](auto number) { return static_cast<unsigned>(number); };
    unsigned const common = count(std::ranges::count_if(new_list.peers, [&](auto const& its) {
        return std::ranges::any_of(
            old_list.peers, [&](auto const& other) { return redis::same_keys(its->where, other->where); });
    }));
    unsigned const one = count(old_list.peers.size());
    unsigned const other = count(new_list.peers.size());
    if (!core::majorities_meet(one, other, one + other - common))
        misconfigured("at most one server may be added or removed at a time; this list keeps " +
                      std::to_string(common) + " of " + std::to_string(one) + " and adds " +
                      std::to_string(other - common));
}

} // namespace

succession::succession(net::any_io_executor executor, config settings, std::shared_ptr<net::machine> on)
    : executor_(std::move(executor)), settings_(std::move(settings)), on_(std::move(on)),
      current_(make_engine(executor_, settings_, on_))
{}

std::shared_ptr<engine> succession::current() const
{
    std::scoped_lock const held(guard_);
    return current_;
}

// rule N9
succession::node_change succession::prepare(std::vector<std::string> nodes)
{
    std::shared_ptr<engine> present;
    {
        std::scoped_lock const held(guard_);
        if (current_->forked())
            throw error_access::make(make_error_code(errc::forked),
                                     "this client belongs to the parent process", {});
        if (changing_ || (former_ && !former_->ended()))
            throw error_access::make(make_error_code(boost::system::errc::operation_in_progress),
                                     "what began before the last change of the nodes has not ended", {});
        std::erase_if(earlier_, [](auto const& each) { return each.expired(); });
        earlier_.reserve(earlier_.size() + 1);
        changing_ = true;
        present = current_;
    }
    try {
        config wanted = settings_;
        wanted.nodes = std::move(nodes);
        wanted.admission.assume_fresh = false; // said of the first nodes, which keep it
        require_meeting(present->settings(), check(wanted, *on_));
        return {shared_from_this(), make_engine(executor_, wanted, on_)};
    } catch (...) {
        change_ended();
        throw;
    }
}

void succession::node_change::take_over(engine& present, wait_op& waiting) noexcept
{
    error_code why = present.closing() ? make_error_code(errc::shut_down) : error_code();
    if (!why && !core::if_memory_allows([&] { present.leave_knowledge_to(made_); }))
        why = make_error_code(boost::system::errc::not_enough_memory);
    if (!why && !of_->adopt(made_))
        why = make_error_code(errc::shut_down);
    if (why)
        return waiting.finish(why);
    of_->leave_keys();
    present.retire(waiting);
}

bool succession::adopt(std::shared_ptr<engine> next) noexcept
{
    std::scoped_lock const held(guard_);
    if (ending_)
        return false;
    former_ = std::exchange(current_, std::move(next));
    earlier_.push_back(former_);
    return true;
}

/// Makes all earlier engines lead to the present one, so that none keeps those in between. Finds also locks that
/// another thread made during the change. Without memory such a lock's key life counts from its first use.
void succession::leave_keys() noexcept
{
    auto const present = current();
    for (auto const& each : earlier_)
        if (auto const its = each.lock())
            core::if_memory_allows([&] { its->leave_keys_to(present); });
}

void succession::change_ended() noexcept
{
    std::scoped_lock const held(guard_);
    changing_ = false;
}

succession::both succession::last() noexcept
{
    std::scoped_lock const held(guard_);
    ending_ = true;
    return {current_, former_ && !former_->ended() ? former_ : nullptr};
}

void succession::end() noexcept
{
    auto const all = last();
    if (all.former)
        all.former->client_gone();
    all.current->client_gone();
}

} // namespace redlock::detail
