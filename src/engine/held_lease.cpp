// SPDX-License-Identifier: BSL-1.0
#include "engine/held_lease.hpp"

#include "core/memory.hpp"
#include "engine/words.hpp"
#include "net/node.hpp"
#include "redis/resp.hpp"
#include <redlock/detail/error_access.hpp>
#include <redlock/node_outcome.hpp>
#include <redlock/observer.hpp>

#include <chrono>
#include <utility>
#include <vector>

namespace redlock::detail {

// A server holds a hundred thousand of these. Visual C++ leaves more padding.
#ifndef _MSC_VER
static_assert(sizeof(held_lease) <= 280 + redis::nonce_length);
#endif

namespace {

/// Most leases are over by then. For the others one question to each node is worth hearing at once when a key goes.
constexpr core::duration before_watching = std::chrono::milliseconds{100};

} // namespace

held_lease::held_lease(lock_ptr its, nonce const& owner, core::attempt const& won, core::node_set reached,
                       unsigned attempts, core::duration waited,
                       std::unique_ptr<kind::lease_arguments const> arguments)
    : lease_status(std::move(its), {owner, won.token(), 0, attempts, waited}, won.sent()),
      stage_(std::in_place_type<keeping>,
             core::lease_machine(lock().config->terms, won.nodes(), won.sent(), won.holders())),
      reached_(reached), arguments_(std::move(arguments))
{
    show(lease_state::held);
}

held_lease::held_lease(lock_ptr its, held_lease const& before, unsigned attempts, core::duration waited)
    : lease_status(std::move(its),
                   {before.owner(), before.number(), before.handovers() + 1, attempts, waited},
                   before.on().loop().now()),
      stage_(std::in_place_type<keeping>,
             before.kept().handed_over(lock().config->terms, before.on().loop().now())),
      reached_(before.reached_)
{
    show(lease_state::held);
}

void intrusive_ptr_add_ref(held_lease* held) noexcept
{
    held->references_.fetch_add(1, std::memory_order_relaxed);
}

void intrusive_ptr_release(held_lease* held) noexcept
{
    if (held->references_.fetch_sub(1, std::memory_order_acq_rel) != 1)
        return;
    if (held->link.is_linked()) // its operation was destroyed with its context
        held->abort(errc::forked);
    auto const lock = held->shared_lock();
    held->~held_lease();
    lock->config->on.lease_blocks.give(held);
}

void held_lease::begin()
{
    begun_ = true;
    on().life.begin_lease(*this);
    if (permits())
        ++lock().key->leases_with_permits;
    began_ = on().loop().now().boot;
    schedule();
    tell(event::acquired);
}

void held_lease::append(std::string& out, kind::request what, redis::script_form form) const
{
    kind::command_arguments args{lock().redis_key(), owner().text(), number()};
    if (what == kind::request::give_back)
        args.queue = release_arguments();
    // A node that has not confirmed, or where a vote waits for the connection, may give others, too (rule Q14).
    if (arguments_)
        arguments_->add_to(args, what == renewal() ||
                                     facts().holders.size() == reached_.size() + nodes().unsettled());
    if (downgraded_ && what >= kind::request::release) // an adoption is still the writer's
        type().append(out, what, args, form);
    else
        lock().config->commands->append(out, what, args, form);
}

void held_lease::late_grant(unsigned node)
{
    if (releasing_stage())
        return;
    kept().late_grant(node, on().loop().now()); // read after the reply's bytes had come
    show_votes();
}

void held_lease::schedule()
{
    if (releasing_stage())
        return;
    core::instant const now = on().loop().now();
    auto due = kept().next_due();
    if (!due)
        return on().loop().cancel(*this);
    if (extension_awaited())
        return on().loop().schedule(*this, now);
    if (wants_watch() && began_ + before_watching < due->boot)
        due = now + (began_ + before_watching - now.boot);
    auto const times_out = kept().round_ends(lock().config->node_timeout);
    if (times_out && core::sooner(*times_out, *due, now))
        due = times_out;
    on().loop().schedule(*this, *due);
}

void held_lease::expire()
{
    if (releasing const* const stage = releasing_stage())
        return stage->is_postponed ? release_the_rest() : finish_release();
    if (extension_awaited())
        return start_extension();
    core::instant const now = on().loop().now();
    auto const ends = kept().round_ends(lock().config->node_timeout);
    if (ends && core::reached(*ends, now) && !kept().lost_at(now))
        return time_out_extension();
    if (wants_watch() && began_ + before_watching <= now.boot)
        start_watching();
    switch (apply_clock(now)) {
    case core::lease_machine::duty::renew: return renew();
    case core::lease_machine::duty::tell_lost: return tell_key_of_end();
    default: return schedule();
    }
}

/// Returns what is due. If the end has come, it is told.
core::lease_machine::duty held_lease::apply_clock(core::instant now)
{
    if (releasing_stage())
        return core::lease_machine::duty::none;
    auto const duty = kept().due(now);
    if (duty == core::lease_machine::duty::tell_lost)
        lose();
    if (duty == core::lease_machine::duty::tell_suspect) {
        show(lease_state::suspect);
        tell(event::suspect);
    }
    return duty;
}

/// The deadline may pass before the timer runs. An expired lease must not be extended, which would keep other clients waiting
/// (rule H7). An expired lease must not end as a clean release either. Returns whether the lease is over.
bool held_lease::end_if_expired()
{
    if (apply_clock(on().loop().read_clock()) == core::lease_machine::duty::tell_lost)
        tell_key_of_end();
    return over();
}

// rules S10 and P5
bool held_lease::wants_watch() const
{
    return is_certain() && !kept().watching && type().watches != kind::watching::nothing &&
           lock().config->options.renew;
}

// rule W6
void held_lease::start_watching()
{
    kept().watching = true;
    nodes().expect_pushes();
    for (unsigned i = 0; i != nodes().size(); ++i)
        watch_on(i);
    if (type().watches == kind::watching::extensions)
        check_ownership(); // nodes report only keys that were read: an extension reads all of them
}

void held_lease::watch_on(unsigned node)
{
    net::node& asked = nodes().at(node);
    if (!asked.ensure_can_send_now())
        return;
    asked.track();
    if (asked.tracks() && type().watches == kind::watching::keys)
        send(node, kind::request::owner);
}

/// A node reports changes only on the connection that asked for reports. Changes before the new connection were not reported.
void held_lease::on_usable(unsigned node)
{
    reached_.insert(node); // commands that waited for the connection are sent
    if (!releasing_stage() && kept().watching)
        watch_on(node);
    if (type().watches == kind::watching::extensions)
        check_ownership();
}

void held_lease::stop_watching()
{
    if (!kept().watching)
        return;
    kept().watching = false;
    nodes().stop_expecting_pushes();
}

void held_lease::on_watch(node_answer const& got)
{
    bool const ours = type().read_observation(got.what, got.reply).nonce == owner().text();
    if (!ours && !redis::is_error(got.reply.type))
        check_ownership();
}

/// Rivals come and go on nodes where the key was not ours before. Each extension would wake the rivals, and each rival would
/// wake this client.
// rule W6
void held_lease::invalidated(unsigned node)
{
    if (facts().holders.contains(node))
        check_ownership();
}

/// One node's word does not count, but an extension does, which every node answers (rule W6). It begins in the next turn: this
/// lease may end with it, and others because of that, while a list of them is walked over.
void held_lease::check_ownership()
{
    if (!is_certain() || !kept().watching)
        return;
    if (kept().extending()) {
        kept().changed = true;
    } else {
        kept().renew_at(on().loop().now());
        schedule();
    }
}

void held_lease::tell(event what, core::duration spare, std::string_view detail)
{
    observer* const watcher = on().its.watcher();
    if (!watcher)
        return;
    auto const failed = releasing_stage() ? std::uint8_t{0} : kept().failed;
    watcher->on_lease({what, lock().name(), facts().holders.size(), nodes().size(), remaining(), spare,
                       on().loop().now().boot - began_, cause(), failed, detail, is_shared()});
}

void held_lease::tell_answer(unsigned node, node_report const& row, core::duration round_trip)
{
    if (observer* const watcher = on().its.watcher())
        watcher->on_vote({lock().name(), on().its.settings().names[node], true, row.result, round_trip,
                          row.error, row.words()});
}

void held_lease::keep(unsigned node, node_report&& said) noexcept
{
    if (!is_lost()) // the story of a loss does not change any more
        history_.keep(lock().key->tables(), facts(), node, std::move(said), on().loop().now());
}

/// Notes that the time of these nodes is over.
void held_lease::keep_silence(core::node_set those) noexcept
{
    for (unsigned i = 0; i != nodes().size(); ++i) {
        node_report row;
        row.result = node_result::timed_out;
        if (those.contains(i))
            keep(i, std::move(row));
    }
}

void held_lease::tell_loss()
{
    std::string text;
    if (on().its.watcher()) // the event has its cause all the same
        core::if_memory_allows([&] { text = explain(errc::lease_lost).what(); });
    tell(event::lost, {}, text);
}

lock_error held_lease::explain(boost::system::error_code ec, lock_stage stage) const
{
    bool const lost = ec == errc::lease_lost;
    loss_cause const why = lost ? cause() : loss_cause::none;
    std::string text = title(lock().name());
    text += lost ? " lost" : ": " + ec.message();
    if (why != loss_cause::none)
        text.append(" (").append(to_string(why)).append(")");
    std::vector<node_outcome> table;
    if (lost || ec == errc::no_quorum)
        history_.tell(lock().key->tables(), on().its.read_clocks(), on().its.settings().names,
                      lock().redis_key().several, text, table);
    if (!lost && table.empty())
        return lock().explain(ec, stage);
    return error_access::make(ec, std::move(text), std::move(table), {}, lock().name(), why, stage);
}

} // namespace redlock::detail
