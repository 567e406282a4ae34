#include "testing/state.hpp"
#include <redlock/testing/made_up_lease.hpp>

#include <utility>

namespace redlock::testing {

namespace {

constexpr std::chrono::seconds made_up_ttl{10};
constexpr std::string_view made_up_nonce = "0123456789abcdef0123456789abcdef";

} // namespace

mutex made_up_lease::make_lock(client& locks, std::string name, bool fenced)
{
    lock_options options;
    options.ttl = made_up_ttl;
    options.renew = false;
    options.tolerate_suspect = true;
    return fenced ? static_cast<mutex>(fenced_mutex(locks, std::move(name), options))
                  : mutex(locks, std::move(name), options);
}

made_up_lease::made_up_lease(boost::asio::io_context& context, std::uint64_t token, std::string name)
    : world_(context, 1), client_(world_.make_client()),
      lock_(make_lock(client_, std::move(name), token != 0)), lease_(lock_.adopt(made_up_nonce, token))
{
    world_.state_->grant(world_.key(lock_.name()), made_up_nonce, token, 2 * made_up_ttl);
    confirm();
}

void made_up_lease::suspect()
{
    world_.advance(made_up_ttl);
}

void made_up_lease::confirm()
{
    bool done = false;
    lease_.extend([&done](boost::system::error_code) { done = true; });
    world_.run_until([&done] { return done; });
}

void made_up_lease::lose()
{
    world_.lose(lease_);
    world_.run_until([this] { return lease_.state() == lease_state::lost; });
}

} // namespace redlock::testing
