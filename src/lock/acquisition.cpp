#include "lock/acquisition.hpp"

#include "core/backoff.hpp"
#include "core/validity.hpp"
#include "lock/engine.hpp"
#include "lock/held_lease.hpp"
#include "lock/lease_access.hpp"
#include "lock/replies.hpp"
#include "net/random.hpp"
#include "redis/error_class.hpp"
#include <redlock/observer.hpp>

#include <boost/asio/error.hpp>

#include <algorithm>
#include <utility>

namespace redlock::lock {

acquisition::acquisition(engine& owner) : engine_(owner), rows_(owner.size()) {}

void acquisition::start(std::shared_ptr<lock_state> lock, wait_limit limit, lease_completion handler)
{
    lock_ = std::move(lock);
    handler_ = std::move(handler);
    started_ = engine_.loop().now();
    limited_ = limit.has_value();
    once_ = limit == one_attempt;
    limit_ = limit.value_or(core::duration::zero());
    first_number_ = number_;
    refusals_ = 0;
    outage_ = false;
    result_ = {};
    if (engine_.closing())
        return fail(errc::shut_down);
    connect_or_vote();
}

/// The clock of an attempt starts when enough nodes can be asked: connecting is not paid from the lease. A fenced vote
/// is not sent ahead of the handshake, which tells whose data it will meet.
void acquisition::connect_or_vote()
{
    for (unsigned i = 0; i != engine_.size() && (lock_->fenced || engine_.ready() != engine_.size()); ++i)
        (void)engine_.at(i).usable();
    if (engine_.ready() >= core::majority(engine_.size()) || engine_.connecting() == 0)
        return vote();
    phase_ = phase::connecting;
    engine_.loop().schedule(*this, within_limit(engine_.loop().now() + engine_.settings().connect_timeout));
}

void acquisition::nodes_changed()
{
    if (phase_ == phase::connecting)
        connect_or_vote();
    else if (phase_ == phase::pausing && outage_)
        vote();
}

void acquisition::expire()
{
    core::instant const now = engine_.loop().now();
    switch (phase_) {
    case phase::connecting:
        return out_of_time(now) && limit_ > core::duration::zero() ? fail(errc::timed_out) : vote();
    case phase::voting: return attempt_timed_out();
    case phase::pausing: return out_of_time(now) ? fail(errc::timed_out) : connect_or_vote();
    default: return;
    }
}

void acquisition::won()
{
    engine_.loop().cancel(*this);
    if (core::reached(core::deadline(attempt_.sent(), lock_->terms.ttl), engine_.loop().now()))
        return lose(errc::too_slow);
    phase_ = phase::won;
    engine_.loop().enqueue(static_cast<net::task&>(*this));
}

void acquisition::lose(errc cause)
{
    tell(cause);
    ++refusals_;
    if (cause != errc::no_quorum)
        outage_ = false;
    else if (!std::exchange(outage_, true) || waits_for_quarantine())
        outage_began_ = engine_.loop().now();
    bool const again = !once_ && may_retry(cause);
    take_back();
    if (!again)
        return fail(cause);
    if (out_of_time(engine_.loop().now()))
        return fail(errc::timed_out);
    pause(cause);
}

/// On all nodes, also those that did not answer: a reply may have been lost, not the vote (rule A6).
void acquisition::take_back()
{
    lock_->publish(rows_);
    rows_.resize(engine_.size());
    // A vote may wait for a connection before it is executed.
    engine_.compensate(lock_, nonce_, attempt_.sent() + engine_.settings().connect_timeout + lock_->key_ttl);
}

bool acquisition::may_retry(errc cause) const
{
    retry_policy const& policy = lock_->options.retry;
    if (policy.max_attempts != 0 && number_ - first_number_ >= policy.max_attempts)
        return false;
    if (cause != errc::no_quorum || waits_for_quarantine())
        return true;
    return !hopeless() &&
           (limited_ || core::elapsed(outage_began_, engine_.loop().now()) < policy.outage_patience);
}

/// With the quarantined nodes there would be a majority: their time ends by itself, and is no outage.
bool acquisition::waits_for_quarantine() const
{
    unsigned quarantined = 0;
    unsigned voting = 0;
    for (node_report const& row : rows_) {
        quarantined += row.result == node_result::quarantined ? 1U : 0U;
        voting += row.result == node_result::granted || row.result == node_result::held_by_other ||
                          row.result == node_result::pending
                      ? 1U
                      : 0U;
    }
    return quarantined != 0 && voting + quarantined >= core::majority(engine_.size());
}

/// A majority can never be had while so many nodes need an operator.
bool acquisition::hopeless() const
{
    unsigned needing = 0;
    for (node_report const& row : rows_)
        needing += row.result == node_result::refused && redis::permanent(row.error) ? 1U : 0U;
    return needing > engine_.size() - core::majority(engine_.size());
}

void acquisition::pause(errc cause)
{
    phase_ = phase::pausing;
    retry_policy const& policy = lock_->options.retry;
    auto const first = std::max<core::duration>(policy.min_delay, 2 * engine_.round_trip());
    auto const bits = net::random_bits();
    auto const delay = cause == errc::no_quorum ? core::half_jitter(refusals_, first, policy.max_delay, bits)
                                                : core::full_jitter(refusals_, first, policy.max_delay, bits);
    engine_.loop().schedule(*this, within_limit(engine_.loop().now() + delay));
}

bool acquisition::out_of_time(core::instant now) const
{
    return limited_ && core::elapsed(started_, now) >= limit_;
}

core::instant acquisition::within_limit(core::instant at) const
{
    if (!limited_ || once_)
        return at;
    return core::remaining(at, started_ + limit_) > core::duration::zero() ? started_ + limit_ : at;
}

void acquisition::abort(boost::system::error_code ec)
{
    if (phase_ == phase::voting || phase_ == phase::won)
        take_back();
    if (phase_ != phase::failed)
        fail(ec);
}

void acquisition::cancel(std::uint32_t generation)
{
    if (generation == generation_)
        abort(boost::asio::error::operation_aborted);
}

void acquisition::forsake()
{
    auto const handler = std::move(handler_);
    auto const lock = std::move(lock_);
    lease_.reset();
}

void acquisition::fail(boost::system::error_code ec)
{
    engine_.loop().cancel(*this);
    phase_ = phase::failed;
    result_ = ec;
    engine_.loop().enqueue(static_cast<net::task&>(*this));
}

void acquisition::run()
{
    if (phase_ == phase::failed)
        return deliver_failure();
    core::instant const now = engine_.loop().read_clock();
    if (core::reached(core::deadline(attempt_.sent(), lock_->terms.ttl), now)) // it was in time when counted
        return lose(errc::too_slow);
    engine_.measured(core::elapsed(attempt_.sent(), now));
    tell({});
    lock_->publish(rows_);
    rows_.resize(engine_.size());
    lease_ = new_held_lease(engine_, lock_, nonce_, attempt_, number_ - first_number_,
                            core::elapsed(started_, now));
    deliver({});
}

void acquisition::deliver_failure()
{
    if (std::holds_alternative<completion_handler<lease_signature>>(handler_))
        return deliver({});
    auto table = lock_->last_attempt();
    auto message = story(table);
    deliver(std::make_exception_ptr(lock_error(result_, std::move(message), std::move(table))));
}

/// Retired first: the handler may start the next operation. The turn keeps the engine alive.
void acquisition::deliver(std::exception_ptr failure)
{
    auto handler = std::move(handler_);
    auto const result = result_;
    lease granted = phase_ == phase::won ? lease_access::make(lease_) : lease();
    phase_ = phase::idle;
    ++generation_;
    engine_.end(*this);
    retire_if_drained();
    if (auto* const plain = std::get_if<completion_handler<lease_signature>>(&handler))
        (*plain)(result, std::move(granted));
    else
        std::get<completion_handler<throwing_lease_signature>>(handler)(std::move(failure),
                                                                        std::move(granted));
}

void acquisition::retire_if_drained()
{
    if (phase_ != phase::idle || outstanding_ != 0)
        return;
    lease_.reset();
    lock_.reset();
    engine_.retire(*this);
}

/// "timed out after 512 ms and 7 attempts; last: no quorum: 1 of 3 granted; ..."
std::string acquisition::story(std::vector<node_outcome> const& table) const
{
    std::string text = result_.message();
    unsigned const attempts = number_ - first_number_;
    if (result_ == errc::timed_out) {
        auto const waited = core::elapsed(started_, engine_.loop().now());
        text += " after " + std::to_string(waited / std::chrono::milliseconds{1}) + " ms and " +
                std::to_string(attempts) + (attempts == 1 ? " attempt" : " attempts");
        if (attempts != 0)
            text += "; last: " + make_error_code(last_cause_).message();
    }
    if (attempts != 0)
        text += ": " + summary(table);
    return text;
}

void acquisition::tell(errc result)
{
    last_cause_ = result;
    observer* const watcher = engine_.watcher();
    if (!watcher)
        return;
    auto const ec = result == errc{} ? boost::system::error_code{} : make_error_code(result);
    watcher->on_attempt({lock_->name, ec, attempt_.granted(), engine_.size(), number_ - first_number_,
                         core::elapsed(attempt_.sent(), engine_.loop().now())});
}

} // namespace redlock::lock
