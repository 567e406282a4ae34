// SPDX-License-Identifier: BSL-1.0
#include "engine/multi_waiter.hpp"

#include "core/batch_policy.hpp"
#include "engine/all_options.hpp"
#include "engine/held_lease.hpp"
#include "engine/lock_descriptor.hpp"
#include "engine/nonce_source.hpp"
#include "kind/kind.hpp"
#include "redis/command.hpp"

#include <boost/system/errc.hpp>

#include <algorithm>
#include <chrono>
#include <new>
#include <optional>
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
    explicit part(multi_waiter& all) : all_(all) { stand_for_all(all.whole().started()); }

    part(part const&) = delete;
    part& operator=(part const&) = delete;
    ~part() { release(); }

    [[nodiscard]] multi_waiter* part_of() override { return alone_ ? nullptr : &all_; }
    void first_in_one_more(core::start_mode how) override { all_.first_in_one_more(how); }
    void fail(boost::system::error_code why) override { all_.fail(why); }
    void deliver(boost::intrusive_ptr<held_lease> got) override
    {
        lease_ = std::move(got);
        all_.take_names_singly();
    }
    void receive(boost::intrusive_ptr<held_lease> got) override { deliver(std::move(got)); }
    void tell_waiting(std::size_t, bool) override {}

    void stand_alone(std::shared_ptr<lock_descriptor> lock, core::instant now)
    {
        begin(std::move(lock), std::nullopt, now);
        alone_ = true;
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
        std::shared_ptr<lock_descriptor> const kept_by_nobody;
        begin({kept_by_nobody, all_.whole().lock().get()}, std::nullopt, since);
        alone_ = false;
    }
    /// A lease that is over stays as it is.
    void release()
    {
        if (auto const had = std::exchange(lease_, nullptr))
            had->handle_gone();
    }

    multi_waiter& all_;
    boost::intrusive_ptr<held_lease> lease_{};
    bool alone_ = false;
};

multi_waiter::multi_waiter(key_state& names, queue_list const& queues, waiter& whole)
    : names_(names), queues_(queues), whole_(whole)
{
    for (std::size_t i = 0; i != queues_.size(); ++i)
        parts_.push_back(std::make_unique<part>(*this));
    names_.count_waiter();
}

multi_waiter::~multi_waiter()
{
    on().loop().cancel(*this);
    for (std::size_t i = 0; i != parts_.size(); ++i)
        queues_[i]->drop(*parts_[i]);
    names_.discount_waiter();
}

/// The last queue may end this.
void multi_waiter::enter()
{
    queue_list const& queues = queues_;
    for (std::size_t i = 0; i != queues.size(); ++i)
        queues[i]->enqueue(*parts_[i]);
}

/// Votes are released before the nodes are asked for another waiter.
void multi_waiter::leave()
{
    if (acquirer* const its = acquirer_) {
        stop_asking();
        its->stop();
    }
    give_back(on().nodes.all());
    for (std::size_t i = 0; i != parts_.size(); ++i)
        queues_[i]->leave(*parts_[i]);
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
    acquirer* const made = queues_.front()->new_acquirer();
    if (!made)
        return fail(make_error_code(boost::system::errc::not_enough_memory));
    acquirer_ = made;
    for (auto const& each : queues_)
        each->set_acquirer(made);
    bool const begins = given_up_.empty();
    if (begins) {
        asks_since_ = on().loop().now();
        on().loop().schedule(*this, asks_since_ + patience());
    }
    made->start(*this, names_, whole_, begins ? how_ : core::start_mode::at_once);
}

void multi_waiter::stop_asking()
{
    for (auto const& each : queues_)
        each->set_acquirer(nullptr);
    acquirer_ = nullptr;
}

acquirer* multi_waiter::acquirer_in_charge() const
{
    auto const asked =
        std::ranges::find_if(queues_, [](auto const& each) { return each->acquirer_of_first(); });
    return acquirer_ || asked == queues_.end() ? acquirer_ : (*asked)->acquirer_of_first();
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

bool multi_waiter::reclaim(errc cause)
{
    give_back(on().nodes.all());
    if (cause != errc::contended)
        return false;
    ++refusals_;
    if (!is_tired())
        return false;
    stop_asking();
    take_names_singly();
    return true;
}

/// An attempt that is under way may still be won, and a position is called in its order.
void multi_waiter::expire()
{
    if (!acquirer_ || !acquirer_->polls() || !is_tired())
        return;
    acquirer& vain = *acquirer_;
    stop_asking();
    vain.stop();
    take_names_singly();
}

void multi_waiter::won(acquirer& by, held_lease& held)
{
    for (auto const& each : queues_)
        each->won(by, held);
    core::node_set others = on().nodes.all();
    others.erase(by.won().votes().holders());
    give_back(others);
    done();
}

void multi_waiter::acquirer_ended(acquirer const&)
{
    stop_asking();
    leave();
    done();
}

/// With one name after the other.
void multi_waiter::take_names_singly()
{
    try {
        take_next();
    } catch (std::bad_alloc const&) {
        fail(make_error_code(boost::system::errc::not_enough_memory));
    }
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
    auto const& queue = queues_[taken_];
    parts_[taken_++]->stand_alone(std::make_shared<lock_descriptor>(alone_, queue), on().loop().now());
    queue->ask(core::batch_policy::next::waiting);
}

/// None of them was lost while the others were waited for.
bool multi_waiter::has_taken() const
{
    for (std::size_t i = 0; i != taken_; ++i)
        if (queues_[i]->holder() != parts_[i]->lease())
            return false;
    return true;
}

/// Gives up all taken leases, and keeps their keys, so that one vote can replace all keys (rule Q5).
// rule M8
void multi_waiter::give_up_for_all()
{
    taken_ = 0;
    for (std::size_t i = 0; i != parts_.size(); ++i) {
        held_lease& taken = *parts_[i]->lease();
        queues_[i]->take_over(*parts_[i]); // first: no other waiter of this client may go on
        taken.detach();
        given_up_ += taken.owner().text();
        parts_[i]->come_back();
    }
    ask();
}

/// Last in all queues.
void multi_waiter::start_over()
{
    taken_ = first_ = 0;
    for (std::size_t i = 0; i != parts_.size(); ++i) {
        queues_[i]->leave(*parts_[i]);
        parts_[i]->come_back();
    }
    enter();
}

/// Deletes the keys of the names that were taken, on nodes that may still have them.
void multi_waiter::give_back(core::node_set where) noexcept
{
    std::string const nonces = std::exchange(given_up_, {});
    for (std::size_t i = 0; !where.empty() && i * redis::nonce_length != nonces.size(); ++i)
        try {
            nonce const owner(std::string_view(nonces).substr(i * redis::nonce_length, redis::nonce_length));
            on().rollbacks.start(on().rollbacks.prepare(),
                                 {{queues_[i], &alone_->kind, owner}, on().loop().now() + alone_->key_ttl},
                                 where);
        } catch (std::bad_alloc const&) { // the keys expire by themselves
        }
}

bool multi_waiter::is_first_everywhere() const
{
    for (std::size_t i = 0; i != parts_.size(); ++i)
        if (queues_[i]->first() != parts_[i].get())
            return false;
    return true;
}

std::size_t multi_waiter::position() const
{
    std::size_t before = 0;
    for (std::size_t i = 0; i != parts_.size(); ++i)
        if (parts_[i]->hook.is_linked())
            before = std::max(before, queues_[i]->position(*parts_[i]));
    return before;
}

} // namespace redlock::detail
