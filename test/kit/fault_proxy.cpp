// SPDX-License-Identifier: BSL-1.0
#include "kit/fault_proxy.hpp"

#include "kit/fault_proxy_impl.hpp"

#include <utility>

namespace redlock::test {

fault_proxy::fault_proxy(std::uint16_t server_port, std::chrono::milliseconds patience)
    : impl_(std::make_unique<impl>(server_port, patience))
{}

fault_proxy::~fault_proxy() = default;

std::uint16_t fault_proxy::port() const noexcept
{
    return impl_->port();
}

std::string fault_proxy::url() const
{
    return "redis://127.0.0.1:" + std::to_string(port());
}

void fault_proxy::pass(direction way)
{
    impl_->order([way](impl& on) { on.set(way, mode::pass); });
}

void fault_proxy::hold(direction way)
{
    impl_->order([way](impl& on) { on.set(way, mode::hold); });
}

void fault_proxy::delay(direction way, std::chrono::milliseconds by)
{
    impl_->order([way, by](impl& on) { on.set(way, mode::delay, by); });
}

void fault_proxy::drop(direction way)
{
    impl_->order([way](impl& on) { on.set(way, mode::drop); });
}

void fault_proxy::dribble(direction way)
{
    impl_->order([way](impl& on) { on.set(way, mode::dribble); });
}

void fault_proxy::cut_one_way(direction way)
{
    impl_->order([way](impl& on) { on.set(way, mode::cut); });
}

void fault_proxy::release()
{
    release(direction::to_server);
    release(direction::to_client);
}

void fault_proxy::flush(direction way)
{
    impl_->order([way](impl& on) { on.each([way](session& one) { one.towards(way).flush(); }); });
}

void fault_proxy::duplicate(direction way)
{
    impl_->order([way](impl& on) { on.wanted(way).duplicate = true; });
}

void fault_proxy::garbage(std::string bytes)
{
    impl_->order(
        [bytes = std::move(bytes)](impl& on) { on.wanted(direction::to_client).replacement = bytes; });
}

void fault_proxy::reset_all()
{
    impl_->order([](impl& on) { on.each([](session& one) { one.reset(); }); });
}

void fault_proxy::close_all()
{
    impl_->order([](impl& on) { on.each([](session& one) { one.close_orderly(); }); });
}

void fault_proxy::refuse()
{
    impl_->order([](impl& on) { on.refuse(); });
}

void fault_proxy::black_hole()
{
    impl_->order([](impl& on) { on.black_hole(); });
}

void fault_proxy::accept()
{
    impl_->order([](impl& on) { on.listen(); });
}

void fault_proxy::redirect(std::uint16_t server_port)
{
    impl_->order([server_port](impl& on) { on.redirect(server_port); });
}

std::uint64_t fault_proxy::bytes(direction way) const
{
    return impl_->news().read().bytes[index(way)];
}

std::uint64_t fault_proxy::forwarded(direction way) const
{
    return impl_->news().read().forwarded[index(way)];
}

std::uint64_t fault_proxy::held(direction way) const
{
    return impl_->news().read().held[index(way)];
}

std::size_t fault_proxy::connections() const
{
    return impl_->news().read().open;
}

std::size_t fault_proxy::accepted() const
{
    return impl_->news().read().accepted;
}

void fault_proxy::wait_for_bytes(direction way, std::uint64_t count) const
{
    impl_->news().wait("bytes", [=](figures const& now) { return now.bytes[index(way)] >= count; });
}

void fault_proxy::wait_forwarded(direction way, std::uint64_t count) const
{
    impl_->news().wait("forwarded", [=](figures const& now) { return now.forwarded[index(way)] >= count; });
}

void fault_proxy::wait_held(direction way, std::uint64_t min_bytes) const
{
    impl_->news().wait("held", [=](figures const& now) { return now.held[index(way)] >= min_bytes; });
}

void fault_proxy::wait_connections(std::size_t exactly) const
{
    impl_->news().wait("connections", [=](figures const& now) { return now.open == exactly; });
}

void fault_proxy::wait_accepted(std::size_t at_least) const
{
    impl_->news().wait("accepted", [=](figures const& now) { return now.accepted >= at_least; });
}

} // namespace redlock::test
