#include "engine/engine.hpp"
#include "engine/held_lease.hpp"
#include "engine/key_queue.hpp"
#include "engine/replies.hpp"

#include <algorithm>
#include <limits>
#include <utility>

// How a lease is kept: extensions, and the replies to all that it sends.
namespace redlock::detail {

namespace {

using meaning = kind::answer::meaning;

node_report report_of(kind::answer const& said, kind::lock_kind const& type, kind::request what,
                      redis::resp_node const& reply)
{
    node_report row;
    report(said, type, what, reply, row);
    return row;
}

core::extension_answer counted(meaning said)
{
    switch (said) {
    case meaning::granted: return core::extension_answer::mine;
    case meaning::repaired: return core::extension_answer::repaired;
    case meaning::denied: return core::extension_answer::not_mine;
    default: return core::extension_answer::failed;
    }
}

} // namespace

/// What nobody works under is not kept alive (rule H8).
void held_lease::renew()
{
    core::instant const now = client().loop().now();
    core::duration const silence = now.boot - core::duration{progressed_.load(std::memory_order_relaxed)};
    bool const stalled = silence > lock_->plan->terms.progress_within;
    bool const news = stalled && !stalled_;
    stalled_ = stalled;
    if (!stalled)
        return start_extension();
    if (news)
        tell(event::stalled);
    machine_.postpone_renewal(now);
    schedule();
}

void held_lease::extend(wait_op& w)
{
    take_up();
    if (machine_.over())
        return w.finish(why_over());
    waiting_.push_back(w);
    if (!machine_.extending())
        start_extension();
}

bool held_lease::extension_awaited() const
{
    return std::ranges::any_of(waiting_, [](wait_op const& w) { return !w.waits_for_the_end(); });
}

/// Who waits for the end goes on waiting.
void held_lease::finish_extension(boost::system::error_code result)
{
    for (auto at = waiting_.begin(); at != waiting_.end();) {
        wait_op& w = *at++;
        if (!w.waits_for_the_end())
            w.finish(result);
    }
}

void held_lease::start_extension()
{
    if (lost_by_now())
        return vacate();
    if (!machine_.proven() && waits_for_nodes())
        return;
    ++round_;
    machine_.extension_started(client().loop().now());
    forget_record();
    publish_votes();
    for (unsigned i = 0; i != client().size() && machine_.extending() && !machine_.over(); ++i)
        extend_on(i);
    if (machine_.extending())
        schedule();
}

void held_lease::extend_on(unsigned node)
{
    if (node_report row; !client().admit(node, *lock_, row)) {
        tell_answer(node, row);
        keep(node, std::move(row));
        return answer_extension(node, core::extension_answer::failed);
    }
    // What adopts is asked once: it is always said as text.
    if (machine_.proven())
        ask(node, purpose::extension, form_for(client().at(node), lock_->plan->kind, kind::request::extend));
    else
        ask(node, purpose::adoption, redis::script_form::text);
}

void held_lease::ask(unsigned node, purpose p, redis::script_form form)
{
    net::node& n = client().at(node);
    lock_->plan->commands->append(n.output(), request_of(p), claim(), form);
    if (extends(p) && lock_->plan->kind.marked)
        kind::append_marker(n.output(), client().marker_of(node).text());
    expect(n, p, form);
}

kind::claim held_lease::claim() const
{
    return {lock_->key(), nonce_.text(), fence_};
}

void held_lease::expect(net::node& node, purpose p, redis::script_form form)
{
    if (outstanding_++ == 0)
        intrusive_ptr_add_ref(this);
    node.expect(*this, tag(p) | (form == redis::script_form::text ? as_text : 0));
}

kind::request held_lease::request_of(purpose p)
{
    switch (p) {
    case purpose::extension: return kind::request::extend;
    case purpose::adoption: return kind::request::adopt;
    case purpose::release: return kind::request::release;
    case purpose::watch: break;
    }
    return kind::request::owner;
}

/// All replies on their way share one reference; the last one gives it back when it has been dealt with.
struct held_lease::arrival {
    explicit arrival(held_lease& h) : held(h) {}
    arrival(arrival const&) = delete;
    arrival& operator=(arrival const&) = delete;
    ~arrival()
    {
        if (--held.outstanding_ == 0)
            intrusive_ptr_release(&held);
    }
    held_lease& held;
};

void held_lease::on_reply(unsigned node, std::uint32_t t, redis::resp_node const& reply)
{
    arrival const guard(*this);
    switch (purpose_of(t)) {
    case purpose::watch: return on_watch(reply);
    case purpose::release: return on_release(node, t, reply);
    case purpose::extension:
    case purpose::adoption: return on_extension(node, t, reply);
    }
}

void held_lease::on_release(unsigned node, std::uint32_t t, redis::resp_node const& reply)
{
    auto const answer = read_answer(client().at(node), lock_->plan->kind, kind::request::release, reply);
    if (answer.what == meaning::unknown_script && (t & as_text) == 0)
        return say_again(node, purpose::release);
    if (answer.what == meaning::error)
        client().remark(node, "release", reply);
    if (record_ || answer.what != meaning::granted)
        keep(node, report_of(answer, lock_->plan->kind, kind::request::release, reply));
    answer_release(node, answer.what == meaning::granted || answer.what == meaning::denied,
                   answer.what == meaning::granted);
}

void held_lease::on_extension(unsigned node, std::uint32_t t, redis::resp_node const& reply)
{
    // Of a lease that is over nothing is said again: it would come behind the release (rule R1).
    bool const wanted = extends_now(t) && !machine_.over();
    auto const answer = read_answer(client().at(node), lock_->plan->kind, request_of(purpose_of(t)), reply);
    if (answer.what == meaning::unknown_script && wanted && (t & as_text) == 0)
        return lost_by_now() ? vacate() : say_again(node, purpose::extension);
    if (answer.what == meaning::other_data)
        client().marker_of(node).missed();
    if (answer.what == meaning::error)
        client().remark(node, "extend", reply);
    node_report row = report_of(answer, lock_->plan->kind, request_of(purpose_of(t)), reply);
    if (!wanted)
        return tell_answer(node, row); // what comes too late says nothing of the end
    tell_answer(node, row, core::elapsed(machine_.extension_sent(), client().loop().now()));
    keep(node, std::move(row));
    answer_extension(node, counted(answer.what));
}

/// Who waits has asked in between, and found the key.
void held_lease::say_again(unsigned node, purpose p)
{
    ask(node, p, redis::script_form::text);
    if (p == purpose::release)
        lock_->wanted->changed_here(core::node_set(node));
}

void held_lease::on_failure(unsigned node, std::uint32_t t, net::failure const& why)
{
    arrival const guard(*this);
    bool const wanted = extends_now(t) && !machine_.over();
    if (wanted && why.unsent) // a young node's connection stands now: it may be old enough for this lock
        return extend_on(node);
    if (purpose_of(t) == purpose::release && why.unsent &&
        client().at(node).reachable()) // no node is too young
        return ask(node, purpose::release, redis::script_form::text);
    if (extends(purpose_of(t))) {
        node_report row;
        report_failure(why, row);
        tell_answer(node, row);
        if (wanted)
            keep(node, std::move(row));
    }
    if (purpose_of(t) == purpose::release) {
        keep_failure(node, why);
        fail_release(node);
    } else if (extends_now(t)) {
        answer_extension(node, core::extension_answer::failed);
    }
}

void held_lease::answer_extension(unsigned node, core::extension_answer answer)
{
    if (machine_.over())
        return;
    bool const open = machine_.extending();
    auto const outcome = machine_.answer(node, answer, client().loop().read_clock());
    if (open || outcome == core::lease_machine::outcome::lost)
        return settle(outcome);
    publish_votes(); // the answer of a node that the verdict did not wait for
}

void held_lease::time_out_extension()
{
    for (unsigned i = 0; i != client().size(); ++i)
        if (machine_.awaits(i))
            keep_silence(i);
    settle(machine_.time_out(client().loop().read_clock()));
}

void held_lease::settle(core::lease_machine::outcome outcome)
{
    using result = core::lease_machine::outcome;
    switch (outcome) {
    case result::pending: return publish_votes();
    case result::extended: {
        core::duration const spare =
            core::duration{deadline_boot_.load(std::memory_order_relaxed)} - client().loop().now().boot;
        publish(lease_state::held);
        keep_confirmation();
        tell(event::renewed, spare);
        failed_ = 0;
        finish_extension({});
        if (std::exchange(changed_, false))
            machine_.postpone_renewal(client().loop().now()); // not at a third of the TTL, but soon
        return schedule();
    }
    case result::failed:
        publish(state_.load(std::memory_order_relaxed));
        if (failed_ != std::numeric_limits<std::uint8_t>::max())
            ++failed_;
        if (failed_ == 1) // the others are told at the row's end
            tell(event::renewal_failed);
        finish_extension(errc::no_quorum);
        return schedule();
    case result::lost: lose(); return vacate();
    }
}

} // namespace redlock::detail
