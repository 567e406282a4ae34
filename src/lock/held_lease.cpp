#include "lock/held_lease.hpp"

#include "lock/clock.hpp"
#include "lock/engine.hpp"
#include "lock/replies.hpp"
#include "lock/resource.hpp"
#include <redlock/observer.hpp>

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

namespace redlock::lock {

namespace {

/// Most leases are over by then. Of the others it is worth a question to each node to hear at once when a key goes.
constexpr core::duration before_watching = std::chrono::milliseconds{100};

node_report report_of(script_answer answer, redis::resp_node const& reply)
{
    node_report row;
    switch (answer) {
    case script_answer::done:
    case script_answer::repaired: row.result = node_result::granted; break;
    case script_answer::not_ours: row.result = node_result::held_by_other; break;
    case script_answer::stranger: report_stranger(row); break;
    default: report_refusal(reply, row);
    }
    return row;
}

} // namespace

held_lease::held_lease(std::shared_ptr<lock_state> lock, nonce const& owner, core::attempt const& won,
                       unsigned attempts, core::duration waited)
    : lock_(std::move(lock)), machine_(lock_->plan->terms, won.nodes(), won.sent(), won.holders()),
      progressed_(won.sent().boot.count()), waited_(waited), fence_(lock_->plan->fenced ? won.token() : 0),
      attempts_(attempts), nonce_(owner)
{
    publish(lease_state::held);
}

held_lease::held_lease(std::shared_ptr<lock_state> lock, held_lease const& before, unsigned attempts,
                       core::duration waited)
    : lock_(std::move(lock)),
      machine_(before.machine_.handed_over(lock_->plan->terms, before.client().loop().now())),
      progressed_(before.client().loop().now().boot.count()), waited_(waited), fence_(before.fence_),
      attempts_(attempts), handovers_(static_cast<std::uint16_t>(before.handovers_ + 1)),
      nonce_(before.nonce_)
{
    publish(lease_state::held);
}

boost::intrusive_ptr<held_lease> new_held_lease(void* block, std::shared_ptr<lock_state> const& lock,
                                                nonce const& n, core::attempt const& won, unsigned attempts,
                                                core::duration waited)
{
    static_assert(sizeof(held_lease) <= 312 + redis::nonce_length);
    boost::intrusive_ptr<held_lease> made(::new (block) held_lease(lock, n, won, attempts, waited));
    made->begin();
    return made;
}

void intrusive_ptr_add_ref(held_lease* held) noexcept
{
    held->references_.fetch_add(1, std::memory_order_relaxed);
}

void intrusive_ptr_release(held_lease* held) noexcept
{
    if (held->references_.fetch_sub(1, std::memory_order_acq_rel) != 1)
        return;
    if (held->link.is_linked()) // what should have ended it was destroyed with its context
        held->forsake();
    auto const lock = std::move(held->lock_); // keeps the client, and with it the memory
    held->~held_lease();
    lock->client().lease_blocks().give(held);
}

/// The smaller of two deadlines counts, so a reading between the two stores of an extension is too short, never too long.
core::duration held_lease::remaining() const
{
    auto const s = state_.load(std::memory_order_acquire);
    if (s != lease_state::held)
        return core::duration::zero();
    core::instant const deadline{core::duration{deadline_boot_.load(std::memory_order_acquire)},
                                 core::duration{deadline_raw_.load(std::memory_order_acquire)}};
    return std::max(core::remaining(deadline, read_clocks()), core::duration::zero());
}

lease_state held_lease::state() const
{
    auto const s = state_.load(std::memory_order_acquire);
    bool const overdue = s == lease_state::held && remaining() == core::duration::zero();
    if (!overdue)
        return s;
    return lock_->plan->terms.tolerate_suspect ? lease_state::suspect : lease_state::lost;
}

void held_lease::publish(lease_state s)
{
    core::instant const deadline = machine_.deadline();
    deadline_boot_.store(deadline.boot.count(), std::memory_order_release);
    deadline_raw_.store(deadline.raw.count(), std::memory_order_release);
    publish_votes();
    state_.store(s, std::memory_order_release);
}

void held_lease::publish_votes()
{
    votes_.store(static_cast<std::uint8_t>(machine_.votes()), std::memory_order_relaxed);
}

void held_lease::begin()
{
    client().begin(*this);
    began_ = client().loop().now().boot;
    schedule();
    tell(event::acquired);
}

void held_lease::late_grant(unsigned node)
{
    machine_.late_grant(node, client().loop().now()); // read after the reply's bytes had come
    publish_votes();
}

void held_lease::schedule()
{
    auto due = machine_.next_due();
    if (!due)
        return client().loop().cancel(*this);
    if (wants_watch() && began_ + before_watching < due->boot)
        due = client().loop().now() + (began_ + before_watching - client().loop().now().boot);
    if (machine_.extending()) {
        core::instant const patience = machine_.extension_sent() + lock_->plan->node_timeout;
        if (core::remaining(patience, *due) < core::duration::zero())
            due = patience;
    }
    client().loop().schedule(*this, *due);
}

void held_lease::expire()
{
    if (releasing_)
        return finish_release();
    if (!machine_.extending() && !extending_.empty()) // of an adopted lease
        return start_extension();
    core::instant const now = client().loop().now();
    if (machine_.extending() && core::reached(machine_.extension_sent() + lock_->plan->node_timeout, now))
        return time_out_extension();
    if (wants_watch() && began_ + before_watching <= now.boot)
        start_watching();
    switch (machine_.due(now)) {
    case core::lease_machine::duty::renew: return renew();
    case core::lease_machine::duty::tell_lost: lose(); return vacate();
    case core::lease_machine::duty::tell_suspect:
        publish(lease_state::suspect);
        tell(event::suspect);
        [[fallthrough]];
    case core::lease_machine::duty::none: return schedule();
    }
}

// Extension

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

void held_lease::extend(waiter& w)
{
    take_up();
    switch (machine_.phase()) {
    case core::lease_phase::lost: return w.finish(client().closing() ? errc::shut_down : errc::lease_lost);
    case core::lease_phase::released: return w.finish(client().closing() ? errc::shut_down : errc::released);
    default:
        extending_.push_back(w);
        if (!machine_.extending())
            start_extension();
    }
}

void held_lease::start_extension()
{
    if (!machine_.proven() && waits_for_nodes())
        return;
    ++round_;
    machine_.extension_started(client().loop().now());
    publish_votes();
    for (unsigned i = 0; i != client().size() && machine_.extending(); ++i) {
        net::node& node = client().at(i);
        if (node.usable())
            extend_on(i);
        else {
            node_report row;
            row.result = node_result::unreachable;
            tell_answer(i, row);
            answer_extension(i, core::extension_answer::failed);
        }
    }
    if (machine_.extending())
        schedule();
}

void held_lease::extend_on(unsigned node)
{
    if (lock_->plan->fenced)
        client().marker_of(node).require(); // where it was missed, it is asked for again
    if (lock_->plan->fenced && client().at(node).state() != node_state::ready)
        return answer_extension(node, core::extension_answer::failed);
    // What adopts is asked once: it is always said as text.
    ask(node, purpose::extension,
        machine_.proven() ? client().at(node).form(extension_script()) : redis::script_form::text);
}

void held_lease::ask(unsigned node, purpose p, redis::script_form form)
{
    net::node& n = client().at(node);
    if (p == purpose::watch)
        redis::append_owner(n.output(), lock_->key());
    else if (p == purpose::release)
        redis::append_release(n.output(), lock_->key(), nonce_.text(), form);
    else if (lock_->plan->fenced)
        append_fenced_extension(n, form);
    else
        lock_->plan->commands.append_extend(n.output(), lock_->key(), nonce_.text(), form);
    expect(node, p, form);
}

void held_lease::append_fenced_extension(net::node& node, redis::script_form form) const
{
    redis::fenced_commands const& commands = *lock_->plan->fenced;
    redis::fenced_commands::call const call{lock_->key(), nonce_.text(), fence_, form};
    machine_.proven() ? commands.append_extend(node.output(), call)
                      : commands.append_adopt(node.output(), call);
    redis::fenced_commands::append_marker(node.output(), node.incarnation());
}

void held_lease::expect(unsigned node, purpose p, redis::script_form form)
{
    if (outstanding_++ == 0)
        intrusive_ptr_add_ref(this);
    client().at(node).expect(*this, tag(p) | (form == redis::script_form::text ? as_text : 0));
}

net::node::script held_lease::extension_script() const
{
    return lock_->plan->fenced ? net::node::script::fenced_extend : net::node::script::extend;
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
    auto const p = purpose_of(t);
    if (p == purpose::watch)
        return on_watch(reply);
    auto const script = p == purpose::extension ? extension_script() : net::node::script::release;
    script_answer const answer = read_script_answer(client().at(node), script, reply);
    bool const wanted = p == purpose::release || current(t, p);
    if (answer == script_answer::unknown_script && wanted && (t & as_text) == 0)
        return say_again(node, p);
    if (answer == script_answer::stranger)
        client().marker_of(node).missed();
    if (answer == script_answer::error)
        client().remark(node, p == purpose::extension ? "extend" : "release", reply);
    if (p == purpose::extension)
        tell_answer(node, report_of(answer, reply),
                    current(t, p) ? core::elapsed(machine_.extension_sent(), client().loop().now())
                                  : core::duration::zero());
    if (p == purpose::release)
        return answer_release(answer == script_answer::done || answer == script_answer::not_ours,
                              answer == script_answer::done);
    if (current(t, p))
        answer_extension(node, answer == script_answer::done       ? core::extension_answer::mine
                               : answer == script_answer::repaired ? core::extension_answer::repaired
                               : answer == script_answer::not_ours ? core::extension_answer::not_mine
                                                                   : core::extension_answer::failed);
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
    if (purpose_of(t) == purpose::extension) {
        node_report row;
        report_failure(why, row);
        tell_answer(node, row);
    }
    if (purpose_of(t) == purpose::release) {
        client().owe(node, {lock_, nonce_, expires()});
        answer_release(false, false);
    } else if (current(t, purpose::extension)) {
        answer_extension(node, core::extension_answer::failed);
    }
}

void held_lease::answer_extension(unsigned node, core::extension_answer answer)
{
    if (machine_.phase() == core::lease_phase::lost || machine_.phase() == core::lease_phase::released)
        return;
    bool const open = machine_.extending();
    auto const outcome = machine_.answer(node, answer, client().loop().read_clock());
    if (open || outcome == core::lease_machine::outcome::lost)
        return settle(outcome);
    publish_votes(); // the answer of a node that the verdict did not wait for
}

void held_lease::time_out_extension()
{
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
        tell(event::renewed, spare);
        finish_all(extending_, {});
        if (std::exchange(changed_, false))
            machine_.postpone_renewal(client().loop().now()); // not at a third of the TTL, but soon
        return schedule();
    }
    case result::failed:
        publish(state_.load(std::memory_order_relaxed));
        tell(event::renewal_failed);
        finish_all(extending_, errc::no_quorum);
        return schedule();
    case result::lost: lose(); return vacate();
    }
}

void held_lease::tell(event what, core::duration spare)
{
    if (observer* const watcher = client().watcher())
        watcher->on_lease({what, lock_->name(), machine_.votes(), machine_.nodes(), remaining(), spare,
                           client().loop().now().boot - began_, cause()});
}

void held_lease::tell_answer(unsigned node, node_report const& row, core::duration round_trip)
{
    if (observer* const watcher = client().watcher())
        watcher->on_vote({lock_->name(), client().settings().names[node], true, row.result, round_trip,
                          row.error, row.words()});
}

} // namespace redlock::lock
