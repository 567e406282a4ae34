// SPDX-License-Identifier: BSL-1.0
#include "engine/conversion.hpp"

#include "core/instant.hpp"
#include "engine/key_state.hpp"
#include "engine/runtime.hpp"
#include <redlock/error.hpp>
#include <redlock/node_outcome.hpp>

namespace redlock::detail {

template class round<conversion>;

void conversion::append(std::string& out, kind::request what, redis::script_form form) const
{
    auto const number = what == kind::request::write_back ? votes_.token() : proposal_;
    lease_->lock().plan->commands->append(out, what, {lease_->lock().key(), lease_->owner().text(), number},
                                          form);
}

/// Silence that falls later is not heard of.
void conversion::pass_to(lease_status const& another, bool heard)
{
    if (!heard)
        unsure_ = nodes().all();
    lease_ = &another;
}

void conversion::upgrade(wait_op& w)
{
    rows_.resize(nodes().size());
    waits_.push_back(w);
    if (open_)
        return;
    runtime& on = lease_->on();
    renewal_ = kind::request::downgrade; // of what becomes a writer's in vain
    open_round();
    open_ = true;
    if (type().counts())
        proposal_ = core::proposal(lease_->lock().wanted->highest_number(), on.loop().machine().wall_clock());
    votes_ = core::attempt(type().agreement, nodes().size(), on.loop().now());
    for (node_report& row : rows_)
        row.clear();
    on.loop().schedule_after(*this, lease_->lock().plan->node_timeout);
    for (unsigned i = 0; i != nodes().size() && open_; ++i)
        ask(i);
}

/// A node that does not vote, or whose answer may not count, has no part in it.
void conversion::ask(unsigned node)
{
    if (!unsure_.contains(node) && nodes().admit(node, lease_->lock(), rows_[node]))
        send(node, kind::request::upgrade);
    else
        follow(votes_.voted(node, core::vote::failed));
}

void conversion::write_back()
{
    lease_->on().loop().schedule_after(*this, lease_->lock().plan->node_timeout);
    for (unsigned i = 0; i != nodes().size() && open_; ++i) {
        if (!votes_.to_write_back().contains(i))
            continue;
        if (nodes().at(i).make_usable())
            send(i, kind::request::write_back);
        else
            follow(votes_.wrote_back(i, core::vote::failed));
    }
}

void conversion::on_answer(node_answer const& got)
{
    if (got.late)
        return;
    key_state& key = *lease_->lock().wanted;
    if (type().counts())
        key.note_number(got.said.number);
    auto const vote = vote_of(got.said.what);
    bool const writes_back = got.what == kind::request::write_back;
    auto const then =
        writes_back ? votes_.wrote_back(got.node, vote) : votes_.voted(got.node, vote, got.said.number);
    if (open_ && !writes_back)
        report(got, type(), rows_[got.node]);
    if (open_)
        follow(then);
    else if (renewal_ == kind::request::adopt && votes_.holders().contains(got.node))
        late_vote(got.node);
}

/// What waited for a connection has not been sent.
void conversion::on_silence(unsigned node, kind::request what, bool late, net::failure const& why)
{
    if (late || !open_)
        return;
    if (what == kind::request::write_back)
        follow(votes_.wrote_back(node, core::vote::failed));
    else if (why.unsent)
        ask(node);
    else {
        report_failure(why, rows_[node]);
        follow(votes_.voted(node, core::vote::failed));
    }
}

void conversion::expire()
{
    for (unsigned i = 0; i != nodes().size(); ++i)
        if (votes_.awaits(i))
            rows_[i].result = node_result::timed_out;
    follow(votes_.time_out());
}

void conversion::follow(core::attempt::step then)
{
    using step = core::attempt::step;
    switch (then) {
    case step::pending: return;
    case step::write_back: return write_back();
    case step::won:
        close();
        if (!become_writer(votes_))
            return stay_reader(waits_, errc::too_slow);
        renewal_ = kind::request::adopt; // which renews a writer's alone
        return finish_all(waits_, {});
    case step::lost:
        close();
        lease_->lock().wanted->publish(rows_);
        return stay_reader(waits_, votes_.contended() ? errc::contended : errc::no_quorum);
    }
}

void conversion::close()
{
    lease_->on().loop().cancel(*this);
    open_ = false;
}

void conversion::stop(boost::system::error_code why)
{
    drop();
    finish_all(waits_, why);
}

void conversion::drop()
{
    if (open_)
        close();
}

} // namespace redlock::detail
