// SPDX-License-Identifier: BSL-1.0
#include "engine/multi_waiter.hpp"

#include "core/memory.hpp"
#include "engine/all_options.hpp"
#include "engine/held_lease.hpp"
#include "engine/lock_descriptor.hpp"
#include "engine/nonce_source.hpp"
#include "kind/kind.hpp"
#include "redis/command.hpp"

#include <boost/system/errc.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <span>
#include <utility>

namespace redlock::detail {

namespace {

/// Limits of the phase in which all names are asked for at once.
constexpr unsigned most_refusals = 8;
constexpr core::duration longest_try = std::chrono::seconds{1};

} // namespace

/// A waiter in the queue of one of the names. It stands for the whole, or wants its name alone.
class multi_waiter::part final : public waiter {
public:
    part(multi_waiter& all, key_queue& its) : queue(its), all_(all) { stand_for_all(all.whole().started()); }

    part(part const&) = delete;
    part& operator=(part const&) = delete;
    ~part() { release(); }

    key_queue& queue;

    void first_in_one_more(core::start_mode how) override { all_.first_in_one_more(how); }
    void fail(boost::system::error_code why) override { all_.fail(why); }
    void deliver(boost::intrusive_ptr<held_lease> got) override
    {
        lease_ = std::move(got);
        all_.take_names_singly();
    }
    void receive(boost::intrusive_ptr<held_lease> got) override { deliver(std::move(got)); }
    void tell_waiting(std::size_t, bool) override {}

    /// From now on its queue asks the nodes for its one name (rule M8).
    void stand_alone(lock_ptr lock, core::instant now)
    {
        begin(std::move(lock), std::nullopt, now);
        part_of = nullptr;
        has_turn = false; // that turn was for all names
    }
    [[nodiscard]] held_lease* lease() const { return lease_.get(); }
    void come_back()
    {
        release();
        stand_for_all(started_);
    }

private:
    /// The whole keeps the lock.
    void stand_for_all(core::instant since)
    {
        begin(all_.whole().lock(), std::nullopt, since);
        part_of = &all_;
    }
    /// A lease that is over stays as it is.
    void release()
    {
        if (auto const had = std::exchange(lease_, nullptr))
            had->handle_gone();
    }

    multi_waiter& all_;
    boost::intrusive_ptr<held_lease> lease_{};
};

waiter::waiter() = default;
waiter::~waiter() = default;

multi_waiter::multi_waiter(key_state& names, queue_list const& queues, waiter& whole)
    : names_(names), queues_(queues), whole_(whole)
{
    for (auto const& each : queues_)
        parts_.push_back(std::make_unique<part>(*this, *each));
    names_.count_waiter();
}

multi_waiter::~multi_waiter()
{
    on().loop().cancel(*this);
    for (auto const& each : parts_)
        each->queue.remove(*each);
    names_.discount_waiter();
}

/// The last queue may end this.
void multi_waiter::enter()
{
    for (auto const& each : parts_)
        each->queue.enqueue(*each);
}

/// Votes are released before the queues ask on behalf of other waiters. Leases of single names end with their parts.
void multi_waiter::leave()
{
    if (acquirer* const its = acquirer_) {
        set_acquirer(nullptr);
        its->stop();
    }
    delete_given_up(on().nodes.all());
    for (auto const& each : parts_)
        each->queue.leave(*each);
}

void multi_waiter::done()
{
    whole_.several.reset();
}

void multi_waiter::fail(boost::system::error_code why)
{
    waiter& whole = whole_;
    leave();
    done();
    whole.forget_attempts(); // they were those of all names at once
    whole.fail(why);
}

// rule M6
void multi_waiter::first_in_one_more(core::start_mode how)
{
    how_ = std::max(how_, how);
    ++first_;
    if (asks_for_all())
        ask();
}

void multi_waiter::ask()
{
    set_acquirer(queues_.front()->queues().new_acquirer());
    if (!acquirer_)
        return fail(make_error_code(boost::system::errc::not_enough_memory));
    bool const begins = given_up_.empty();
    if (begins) {
        asks_since_ = on().loop().now();
        on().loop().schedule(*this, asks_since_ + patience());
    }
    acquirer_->start(*this, names_, whole_, begins ? how_ : core::start_mode::at_once);
}

/// One acquirer asks for all names. Null: it does so no longer.
void multi_waiter::set_acquirer(acquirer* in_charge)
{
    acquirer_ = in_charge;
    for (auto const& each : parts_)
        each->asked_by = in_charge;
}

acquirer* multi_waiter::acquirer_in_charge() const
{
    for (auto const& each : queues_)
        if (each->first() && each->first()->asked_by)
            return each->first()->asked_by;
    return nullptr;
}

/// How long it asks for all names at once.
core::duration multi_waiter::patience() const
{
    return std::min<core::duration>(whole_.lock()->config->options.ttl / 10, longest_try);
}

/// Has it asked for all names at once often enough, or for long enough?
bool multi_waiter::is_tired() const
{
    return whole_.waits() && refusals_ != 0 &&
           (refusals_ >= most_refusals || core::elapsed(asks_since_, on().loop().now()) >= patience());
}

/// Deletes the keys of names that it had taken singly. After enough refusals it takes the names singly, without the
/// acquirer.
// rule M8
bool multi_waiter::on_attempt_lost(errc cause)
{
    delete_given_up(on().nodes.all());
    if (cause != errc::contended)
        return false;
    ++refusals_;
    if (!is_tired())
        return false;
    set_acquirer(nullptr);
    take_names_singly();
    return true;
}

/// An attempt that is under way may still be won, and a position is called in its order.
void multi_waiter::expire()
{
    if (!acquirer_ || !acquirer_->polls() || !is_tired())
        return;
    acquirer& vain = *acquirer_;
    set_acquirer(nullptr);
    vain.stop();
    take_names_singly();
}

void multi_waiter::won(acquirer& by, held_lease& held)
{
    for (auto const& each : queues_)
        each->won(by, held);
    core::node_set others = on().nodes.all();
    others.erase(by.won().votes().holders());
    delete_given_up(others);
    done();
}

void multi_waiter::acquirer_ended()
{
    set_acquirer(nullptr);
    leave();
    done();
}

/// With one name after the other.
void multi_waiter::take_names_singly()
{
    if (!core::if_memory_allows([this] { take_next(); }))
        fail(make_error_code(boost::system::errc::not_enough_memory));
}

/// Each of them is kept, however long it takes to get the others.
void multi_waiter::prepare()
{
    lock_config const& its = *whole_.lock()->config;
    all_options options = its.options;
    options.renew = true;
    options.max_hold.reset();
    options.progress_within.reset();
    if (whole_.has_limit())
        options.retry.outage_patience = std::chrono::years{1}; // its limit ends it
    alone_ = std::make_shared<lock_config const>(its.client, its.on, its.settings, options,
                                                 its.kind.counts() ? kind::fenced : kind::plain);
    given_up_.reserve(parts_.size() * redis::nonce_length);
}

/// \throws std::bad_alloc
// rule M8
void multi_waiter::take_next()
{
    if (taken_ == 0)
        prepare();
    if (!has_taken())
        return start_over();
    if (taken_ == parts_.size())
        return give_up_for_all();
    lock_ptr lock(new lock_descriptor(alone_, queues_[taken_]));
    part& wanted = *parts_[taken_++];
    wanted.stand_alone(std::move(lock), on().loop().now());
    wanted.queue.go_on();
}

/// None of them was lost while the others were waited for.
bool multi_waiter::has_taken() const
{
    return std::ranges::all_of(std::span(parts_).first(taken_),
                               [](auto const& each) { return each->queue.holder() == each->lease(); });
}

/// Gives up all taken leases, and keeps their keys, so that one vote can replace all keys (rule Q5).
// rule M8
void multi_waiter::give_up_for_all()
{
    taken_ = 0;
    for (auto const& each : parts_) {
        held_lease& taken = *each->lease();
        each->queue.take_over(*each); // first: no other waiter of this client may go on
        taken.detach();
        given_up_ += taken.owner().text();
        each->come_back();
    }
    ask();
}

/// Last in all queues.
void multi_waiter::start_over()
{
    taken_ = first_ = 0;
    refusals_ = 0;
    for (auto const& each : parts_) {
        each->queue.leave(*each);
        each->come_back();
    }
    enter();
}

/// Deletes the keys whose leases were given up (rule M8), on nodes that may still have them.
void multi_waiter::delete_given_up(core::node_set where) noexcept
{
    std::string const nonces = std::exchange(given_up_, {});
    for (std::size_t i = 0; !where.empty() && i * redis::nonce_length != nonces.size(); ++i) {
        nonce const owner(std::string_view(nonces).substr(i * redis::nonce_length, redis::nonce_length));
        on().rollbacks.try_start({{queues_[i], &alone_->kind, owner}, on().loop().now() + alone_->key_ttl},
                                 where, where);
    }
}

bool multi_waiter::is_first_everywhere() const
{
    return std::ranges::all_of(parts_, [](auto const& each) { return each->queue.first() == each.get(); });
}

std::size_t multi_waiter::position() const
{
    std::size_t before = 0;
    for (auto const& each : parts_)
        if (each->hook.is_linked())
            before = std::max(before, each->queue.position(*each));
    return before;
}

} // namespace redlock::detail
