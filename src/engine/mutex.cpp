#include "engine/acquire_op.hpp"
#include "engine/cancellation.hpp"
#include "engine/configuration.hpp"
#include "engine/engine.hpp"
#include "engine/held_lease.hpp"
#include "engine/key_queue.hpp"
#include "engine/lease_access.hpp"
#include "engine/lock_state.hpp"
#include "kind/fenced.hpp"
#include <redlock/fenced_mutex.hpp>
#include <redlock/mutex.hpp>

#include <boost/system/errc.hpp>

#include <algorithm>
#include <array>
#include <exception>
#include <new>
#include <type_traits>
#include <utility>

namespace redlock {

namespace detail {

template <class Signature>
boost::asio::any_io_executor const& start_acquire<Signature>::executor() const noexcept
{
    return lock->client().executor();
}

namespace {

/// Begins an acquisition.
template <class Signature>
struct acquire_start {
    void operator()(engine& self)
    {
        acquire_op& started = self.new_acquire_op();
        cancel.lead_to(self, started);
        started.start(std::move(what), how_long, std::move(handler));
        cancel.arrived(started);
    }

    void fail(boost::system::error_code ec)
    {
        if constexpr (!std::is_same_v<Signature, throwing_lease_signature>)
            handler(ec, lease());
        else if (ec == boost::system::errc::not_enough_memory)
            handler(std::make_exception_ptr(std::bad_alloc()), lease());
        else
            handler(std::make_exception_ptr(lock_error(ec, ec.message(), {})), lease());
    }

    std::shared_ptr<lock_state> what;
    wait_limit how_long;
    cancel_path<acquire_op> cancel;
    completion_handler<Signature> handler;
};

} // namespace

template <class Signature>
void start_acquire<Signature>::begin(completion_handler<Signature> handler)
{
    engine& client = lock->client();
    cancel_path<acquire_op> cancel(client, handler.slot());
    client.initiate(acquire_start<Signature>{std::move(lock), limit, std::move(cancel), std::move(handler)});
}

// The first has a type of Boost among its arguments, which is hidden here and would hide it. The second is visible as its
// arguments are, and was defined in the header: an attribute would come too late.
template struct REDLOCK_EXPORT start_acquire<lease_signature>;
template struct start_acquire<throwing_lease_signature>;

} // namespace detail

struct detail::lock_access {
    static std::shared_ptr<lock_state> make(client& owner, std::string name, lock_options const& options,
                                            kind::lock_kind const& type)
    {
        check(name, options, type, owner.engine_->settings());
        return owner.engine_->make_lock(std::move(name), options, type);
    }
};

mutex::mutex(client& owner, std::string name, lock_options options)
    : state_(detail::lock_access::make(owner, std::move(name), options, kind::plain))
{}

fenced_mutex::fenced_mutex(client& owner, std::string name, lock_options options)
    : mutex(detail::lock_access::make(owner, std::move(name), options, kind::fenced))
{}

lease mutex::adopt(std::string_view nonce, std::uint64_t fencing_token)
{
    auto const refuse = [this](std::string why) { detail::misconfigured(std::move(why), name()); };
    std::array<char, redis::nonce_length> text{};
    if (nonce.size() != text.size())
        refuse("a nonce has " + std::to_string(text.size()) + " characters, not " +
               std::to_string(nonce.size()));
    std::ranges::copy(nonce, text.begin());
    if (!state_->plan->kind.counts() && fencing_token != 0)
        refuse("a fencing token is given for a lock without tokens");
    if (state_->plan->kind.counts() && fencing_token >> core::hand_off_bits == 0)
        refuse("a fenced lock's lease is adopted with its fencing token, which is " +
               std::to_string(core::fencing_token(1)) + " or more, not " + std::to_string(fencing_token));
    if (fencing_token >> core::hand_off_bits >= kind::fence_end)
        refuse("a fencing token is below 2^53, not " + std::to_string(fencing_token));
    return detail::lease_access::make(detail::adopt_lease(state_, detail::nonce(text), fencing_token));
}

mutex::executor_type mutex::get_executor() const noexcept
{
    return state_->client().executor();
}

std::string const& mutex::name() const noexcept
{
    return state_->name();
}

lock_options const& mutex::options() const noexcept
{
    return state_->plan->options;
}

std::size_t mutex::waiting() const noexcept
{
    return detail::key_queue::of(*state_).waiting();
}

std::vector<node_outcome> mutex::last_attempt() const
{
    return state_->last_attempt();
}

lock_error mutex::explain(boost::system::error_code ec) const
{
    return state_->explain(ec);
}

} // namespace redlock
