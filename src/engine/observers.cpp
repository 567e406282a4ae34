// SPDX-License-Identifier: BSL-1.0
#include <redlock/observer.hpp>

#include <memory>
#include <utility>
#include <vector>

namespace redlock {
namespace {

class all_observers final : public observer {
public:
    explicit all_observers(std::vector<std::shared_ptr<observer>> all) : all_(std::move(all))
    {
        std::erase(all_, nullptr);
    }

    void on_node(node_event const& e) noexcept override { tell(&observer::on_node, e); }
    void on_wait(wait_event const& e) noexcept override { tell(&observer::on_wait, e); }
    void on_vote(vote_event const& e) noexcept override { tell(&observer::on_vote, e); }
    void on_attempt(attempt_event const& e) noexcept override { tell(&observer::on_attempt, e); }
    void on_acquire(acquire_event const& e) noexcept override { tell(&observer::on_acquire, e); }
    void on_lease(lease_event const& e) noexcept override { tell(&observer::on_lease, e); }
    void on_linger(linger_event const& e) noexcept override { tell(&observer::on_linger, e); }
    void on_release(release_event const& e) noexcept override { tell(&observer::on_release, e); }
    void on_warning(warning_event const& e) noexcept override { tell(&observer::on_warning, e); }

private:
    template <class Event>
    void tell(void (observer::*handler)(Event const&) noexcept, Event const& e) const noexcept
    {
        for (auto const& one : all_)
            ((*one).*handler)(e);
    }

    std::vector<std::shared_ptr<observer>> all_;
};

} // namespace

std::shared_ptr<observer> observers(std::vector<std::shared_ptr<observer>> all)
{
    return std::make_shared<all_observers>(std::move(all));
}

} // namespace redlock
