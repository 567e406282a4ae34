// SPDX-License-Identifier: BSL-1.0
#include "engine/held_lease.hpp"

#include <boost/system/errc.hpp>

#include <memory>
#include <new>
#include <utility>

// A writer that becomes a reader, and a reader that becomes a writer (docs/protocol.md, rules S12 and S13).
namespace redlock::detail {

class held_lease::own_conversion final : public conversion {
public:
    explicit own_conversion(held_lease& of) : conversion(of), lease_(&of) {}

    void pass_to(held_lease& another)
    {
        if (busy()) {
            intrusive_ptr_add_ref(&another);
            intrusive_ptr_release(lease_);
        }
        conversion::pass_to(another, lease_->drained());
        lease_ = &another;
    }

private:
    bool become_writer(core::attempt const& won) override { return lease_->become_writer(won); }
    void stay_reader(wait_list& asked, errc why) override { lease_->stay_reader(asked, why); }
    void late_vote(unsigned node) override { lease_->late_grant(node); }
    void hold() override { intrusive_ptr_add_ref(lease_); }
    void let_go() override { intrusive_ptr_release(lease_); }

    held_lease* lease_;
};

std::unique_ptr<conversion> held_lease::make_conversion()
{
    return std::make_unique<own_conversion>(*this);
}

/// Behind the one that has led so far.
void held_lease::take_conversion(held_lease& before)
{
    if (!before.conversion_)
        return;
    static_cast<own_conversion&>(*before.conversion_).pass_to(*this);
    conversion_ = std::move(before.conversion_);
}

/// The old deadline stands until a majority has confirmed it as a reader.
void held_lease::downgrade(std::unique_ptr<conversion> made)
{
    take_up();
    if (machine_.over())
        return;
    if (lose_if_over())
        return leave_key();
    if (!conversion_)
        conversion_ = std::move(made);
    conversion_->keep_as(kind::request::downgrade);
    stop_watching();
    tell(event::downgraded);
    start_extension();
    if (!machine_.over())
        lock().wanted->downgraded(*this);
}

/// Who has adopted it does not know which downgrades are on their way (rule S8).
void held_lease::try_upgrade(wait_op& w)
{
    take_up();
    if (!machine_.over() && lose_if_over())
        leave_key();
    if (machine_.over())
        return w.finish(why_over());
    if (!is_shared() || adopted_)
        return w.finish(errc::wrong_mode);
    if (group_ && !group_->followers.empty())
        return w.finish(errc::contended);
    try {
        if (!conversion_)
            conversion_ = make_conversion();
        conversion_->upgrade(w);
    } catch (std::bad_alloc const&) {
        w.finish(make_error_code(boost::system::errc::not_enough_memory));
    }
}

/// False: too late (rule S13).
bool held_lease::become_writer(core::attempt const& won)
{
    if (!machine_.upgrade(won.sent(), won.holders(), on().loop().read_clock()))
        return false;
    (void)leave_group();
    publish_number(won.token());
    (void)publish_mode(false);
    show(lease_state::held);
    lock().wanted->upgraded(*this);
    tell(event::upgraded);
    finish_extension({});
    schedule();
    return true;
}

/// What has become a writer's is made a reader's again.
void held_lease::stay_reader(wait_list& asked, errc why)
{
    if (lose_if_over())
        return leave_key();
    finish_all(asked, why);
    start_extension();
}

} // namespace redlock::detail
