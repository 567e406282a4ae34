// SPDX-License-Identifier: BSL-1.0
#include "engine/key_set.hpp"

#include "core/batch_policy.hpp"
#include "core/local_queue.hpp"
#include "engine/all_options.hpp"
#include "engine/held_lease.hpp"
#include "engine/key_state.hpp"
#include "engine/lock_state.hpp"
#include "engine/nonce_source.hpp"
#include "engine/runtime.hpp"
#include "kind/kind.hpp"

#include <boost/system/errc.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <new>
#include <optional>
#include <utility>

namespace redlock::detail {

namespace {

/// As long as the names are asked for all at once.
constexpr unsigned most_refusals = 8;
constexpr core::duration longest_patience = std::chrono::seconds{1};

/// For messages: "a, b".
std::string all_names(std::vector<std::string> const& names)
{
    std::string text;
    for (std::string const& name : names)
        text.append(text.empty() ? "" : ", ").append(name);
    return text;
}

} // namespace

/// In the queue of one of its keys. The lock is kept by whom it is for.
class set_turn::place final : public candidate {
public:
    explicit place(set_turn& whole) : whole_(whole) { stand_for_all(whole.whom().started()); }

    place(place const&) = delete;
    place& operator=(place const&) = delete;
    ~place() { release(); }

    [[nodiscard]] set_turn* turn() override { return alone_ ? nullptr : &whole_; }
    void come_first(core::start_mode how) override { whole_.come_first(how); }
    void fail(boost::system::error_code why) override { whole_.set_.fail(whole_, why); }
    void deliver(boost::intrusive_ptr<held_lease> got) override
    {
        lease_ = std::move(got);
        whole_.set_.go_on(whole_);
    }
    void receive(boost::intrusive_ptr<held_lease> got) override { deliver(std::move(got)); }
    void tell_waiting(std::size_t, bool) override {}

    /// From now on it is for its key alone.
    void stand_alone(std::shared_ptr<lock_state> lock, core::instant now)
    {
        begin(std::move(lock), std::nullopt, now);
        alone_ = true;
    }
    [[nodiscard]] held_lease* lease() const { return lease_.get(); }
    /// It is one of several again.
    void come_back()
    {
        release();
        stand_for_all(started_);
    }

private:
    void stand_for_all(core::instant since)
    {
        std::shared_ptr<lock_state> const kept_by_nobody;
        begin({kept_by_nobody, whole_.whom().lock().get()}, std::nullopt, since);
        alone_ = false;
    }
    /// Unless it is over.
    void release()
    {
        if (auto const had = std::exchange(lease_, nullptr))
            had->handle_gone();
    }

    set_turn& whole_;
    boost::intrusive_ptr<held_lease> lease_{};
    bool alone_ = false;
};

set_turn::set_turn(key_set& set, candidate& whom) : set_(set), whom_(whom)
{
    for (std::size_t i = 0; i != set_.queues_.size(); ++i)
        places_.push_back(std::make_unique<place>(*this));
}

set_turn::~set_turn()
{
    set_.on().loop().cancel(*this);
    for (std::size_t i = 0; i != places_.size(); ++i)
        set_.queues_[i]->drop(*places_[i]);
}

/// It may be over before this is.
void set_turn::enter()
{
    key_set& set = set_;
    for (std::size_t i = 0, size = places_.size(); i != size; ++i)
        set.queues_[i]->enqueue(*places_[i]);
}

void set_turn::leave()
{
    give_back(set_.on().nodes.all());
    for (std::size_t i = 0; i != places_.size(); ++i)
        set_.queues_[i]->leave(*places_[i]);
}

void set_turn::begin(core::instant now)
{
    asks_since_ = now;
    set_.on().loop().schedule(*this, now + patience());
}

/// How long it asks for all names at once.
core::duration set_turn::patience() const
{
    return std::min<core::duration>(whom_.lock()->plan->options.ttl / 10, longest_patience);
}

void set_turn::expire()
{
    set_.on_time(*this);
}

// rule M6
void set_turn::come_first(core::start_mode how)
{
    how_ = std::max(how_, how);
    if (++first_ == places_.size())
        set_.ask(*this);
}

bool set_turn::asks() const
{
    return first_ == places_.size();
}

bool set_turn::is_tired(core::instant now) const
{
    return whom_.waits() && refusals_ != 0 &&
           (refusals_ >= most_refusals || core::elapsed(asks_since_, now) >= patience());
}

kind::lock_kind const& set_turn::kind_of_one() const
{
    return whom_.lock()->plan->kind.counts() ? kind::fenced : kind::plain;
}

/// Each of them is kept, however long it takes to get the others.
void set_turn::prepare()
{
    lock_plan const& its = *whom_.lock()->plan;
    all_options options = its.options;
    options.renew = true;
    options.max_hold.reset();
    options.progress_within.reset();
    if (whom_.limited())
        options.retry.outage_patience = std::chrono::years{1}; // its limit ends it
    alone_ = std::make_shared<lock_plan const>(its.client, its.on, its.settings, options, kind_of_one());
    given_up_.reserve(places_.size() * redis::nonce_length);
}

// rule M8
void set_turn::take_next()
{
    if (taken_ == 0)
        prepare();
    if (!has_taken())
        return start_over();
    if (taken_ == places_.size())
        return give_up_for_all();
    auto const& queue = set_.queues_[taken_];
    places_[taken_++]->stand_alone(std::make_shared<lock_state>(alone_, queue), set_.on().loop().now());
    queue->ask(core::batch_policy::next::waiting);
}

/// None of them was lost while the others were waited for.
bool set_turn::has_taken() const
{
    for (std::size_t i = 0; i != taken_; ++i)
        if (set_.queues_[i]->holder_ != places_[i]->lease())
            return false;
    return true;
}

/// As a whole, before a vote may take their place (rule Q5). Their keys stay.
// rule M8
void set_turn::give_up_for_all()
{
    taken_ = 0;
    for (std::size_t i = 0; i != places_.size(); ++i) {
        held_lease& taken = *places_[i]->lease();
        set_.queues_[i]->holder_ = nullptr; // nobody else of this client goes on
        taken.detach();
        given_up_ += taken.owner().text();
        places_[i]->come_back();
        set_.queues_[i]->come_back(*places_[i]);
    }
    set_.ask(*this);
}

/// Last in all queues.
void set_turn::start_over()
{
    taken_ = first_ = 0;
    for (std::size_t i = 0; i != places_.size(); ++i) {
        set_.queues_[i]->leave(*places_[i]);
        places_[i]->come_back();
    }
    enter();
}

void set_turn::give_back(core::node_set where) noexcept
{
    runtime& on = set_.on();
    std::string const nonces = std::exchange(given_up_, {});
    for (std::size_t i = 0; !where.empty() && i * redis::nonce_length != nonces.size(); ++i)
        try {
            nonce const owner(std::string_view(nonces).substr(i * redis::nonce_length, redis::nonce_length));
            on.clean.start(on.clean.prepare(),
                           {{set_.queues_[i], &kind_of_one(), owner}, on.loop().now() + alone_->key_ttl},
                           where);
        } catch (std::bad_alloc const&) { // the keys expire by themselves
        }
}

bool set_turn::is_first_everywhere() const
{
    for (std::size_t i = 0; i != places_.size(); ++i)
        if (set_.queues_[i]->first() != places_[i].get())
            return false;
    return true;
}

std::size_t set_turn::position() const
{
    std::size_t before = 0;
    for (std::size_t i = 0; i != places_.size(); ++i)
        if (places_[i]->candidate::place.is_linked())
            before = std::max(before, set_.queues_[i]->position(*places_[i]));
    return before;
}

key_set::key_set(key_queues& all, std::vector<std::string> names)
    : lock_queue(all, all_names(names)), names_(std::move(names))
{
    for (std::string const& name : names_)
        queues_.emplace_back(static_cast<key_queue*>(all.at(name).get()));
}

runtime& key_set::on() const
{
    return static_cast<key_queues&>(index()).on();
}

redis::lock_key key_set::key() const
{
    return {index().key_prefix(), name(), names_};
}

void key_set::expect_keys(std::chrono::milliseconds ttl)
{
    for (auto const& each : queues_)
        each->expect_keys(ttl);
}

core::duration key_set::longest_key() const
{
    core::duration longest{};
    for (auto const& each : queues_)
        longest = std::max(longest, each->longest_key());
    return longest;
}

std::uint64_t key_set::highest_number() const
{
    std::uint64_t highest = 0;
    for (auto const& each : queues_)
        highest = std::max(highest, each->highest_number());
    return highest;
}

void key_set::note_number(std::uint64_t seen)
{
    for (auto const& each : queues_)
        each->note_number(seen);
}

bool key_set::busy() const
{
    return std::ranges::any_of(queues_, [](auto const& each) { return each->busy(); });
}

bool key_set::held_here() const
{
    return std::ranges::any_of(queues_, [](auto const& each) { return each->held_here(); });
}

/// Other locks of this client may have met others meanwhile.
std::uint8_t key_set::in_the_way() const
{
    auto const has_rivals = [](auto const& each) { return each->local().has_rivals(); };
    if (has_rivals(queues_[in_the_way_]))
        return in_the_way_;
    auto const first = std::ranges::find_if(queues_, has_rivals);
    return first == queues_.end() ? in_the_way_ : static_cast<std::uint8_t>(first - queues_.begin());
}

/// This client has had enough of none of its names.
bool key_set::may_hand_over(held_lease const& held, set_turn const& next) const
{
    auto const& policy = next.whom().lock()->plan->batch_policy;
    core::instant const now = on().loop().now();
    return std::ranges::all_of(queues_, [&](auto const& each) {
        return each->holder_ == &held && each->local().may_hand_over(policy, now);
    });
}

set_turn* key_set::find(candidate const& one) const
{
    auto const found = turns_.find(&one);
    return found == turns_.end() ? nullptr : found->second.get();
}

std::size_t key_set::position(candidate const& one) const
{
    set_turn const* const its = find(one);
    return its ? its->position() : 0;
}

acquirer* key_set::asking(candidate const& one) const
{
    if (!find(one) || (asked_for_ && &asked_for_->whom() == &one))
        return loop_;
    auto const asked = std::ranges::find_if(queues_, [](auto const& each) { return each->asking_; });
    return asked == queues_.end() ? nullptr : (*asked)->asking_;
}

/// With one name after the other, too.
bool key_set::served(candidate const& one) const
{
    set_turn const* const its = find(one);
    return its && its->asks();
}

void key_set::enqueue(candidate& one)
{
    bool const waits = busy();
    set_turn* its = nullptr;
    try {
        its = turns_.try_emplace(&one, std::make_unique<set_turn>(*this, one)).first->second.get();
    } catch (std::bad_alloc const&) {
        return one.fail(make_error_code(boost::system::errc::not_enough_memory));
    }
    insert(queue_.end(), one);
    its->enter();
    if (waits)
        one.tell_waiting(position(one), false);
}

/// Votes are released before the nodes are asked for another waiter.
void key_set::leave(candidate& one)
{
    if (!one.place.is_linked())
        return;
    if (asked_for_ && &asked_for_->whom() == &one) {
        acquirer& done = *loop_;
        stop_asking();
        done.stop();
    }
    drop(one);
    take(one)->leave();
}

std::unique_ptr<set_turn> key_set::take(candidate const& one)
{
    auto const found = turns_.find(&one);
    auto taken = std::move(found->second);
    turns_.erase(found);
    return taken;
}

void key_set::fail(set_turn& its, boost::system::error_code why)
{
    candidate& whom = its.whom();
    drop(whom);
    take(whom)->leave();
    whom.fail(why);
}

void key_set::ask(set_turn& first)
{
    acquirer* const loop = static_cast<key_queues&>(index()).new_loop();
    if (!loop)
        return fail(first, make_error_code(boost::system::errc::not_enough_memory));
    asked_for_ = &first;
    loop_ = loop;
    for (auto const& each : queues_)
        each->asking_ = loop;
    (void)local().ask(first.whom().lock()->plan->batch_policy, core::batch_policy::next::coming,
                      on().loop().now(), on().turn());
    bool const begins = first.given_up().empty();
    if (begins)
        first.begin(on().loop().now());
    loop->start(*this, first.whom(), begins ? first.how() : core::start_mode::at_once);
}

void key_set::stop_asking()
{
    for (auto const& each : queues_)
        if (each->asking_ == loop_)
            each->asking_ = nullptr;
    loop_ = nullptr;
    asked_for_ = nullptr;
    local().stop_asking();
}

bool key_set::reclaim(acquirer& by, errc cause)
{
    if (loop_ != &by)
        return false;
    set_turn& its = *asked_for_;
    its.give_back(on().nodes.all());
    if (cause != errc::contended)
        return false;
    its.refused();
    if (!its.is_tired(on().loop().now()))
        return false;
    stop_asking();
    go_on(its);
    return true;
}

/// An attempt that is under way may still be won, and a position is called in its order.
void key_set::on_time(set_turn& its)
{
    bool const pauses = asked_for_ == &its && loop_->polls();
    if (!pauses || !its.is_tired(on().loop().now()))
        return;
    acquirer& vain = *loop_;
    stop_asking();
    vain.stop();
    go_on(its);
}

/// With one key after the other.
void key_set::go_on(set_turn& its)
{
    try {
        its.take_next();
    } catch (std::bad_alloc const&) {
        fail(its, make_error_code(boost::system::errc::not_enough_memory));
    }
}

void key_set::won(acquirer& by, held_lease& held)
{
    bool const asked_for = loop_ == &by;
    for (auto const& each : queues_)
        each->won(by, held);
    local().won(asked_for, by.nobody_came(), on().loop().now());
    if (!asked_for)
        return;
    core::node_set others = on().nodes.all();
    others.erase(by.won().votes().holders());
    asked_for_->give_back(others);
    candidate& lucky = asked_for_->whom();
    stop_asking();
    drop(lucky);
    (void)take(lucky);
}

void key_set::loop_ended(acquirer const& by)
{
    if (loop_ != &by)
        return;
    candidate const& done = asked_for_->whom();
    stop_asking();
    take(done)->leave();
}

void key_set::taken_back(acquirer const& by, core::node_set where)
{
    for (auto const& each : queues_)
        each->taken_back(by, where);
}

void key_set::adopted(held_lease& held)
{
    for (auto const& each : queues_)
        each->adopted(held);
    local().hold(on().loop().now());
}

/// The next one in all queues, if it wants these keys and no others.
// rule M6
set_turn* key_set::next_in_all() const
{
    candidate* const first = queues_.front()->first();
    set_turn* const next = first ? first->turn() : nullptr;
    return next && next->set().names_ == names_ && next->is_first_everywhere() ? next : nullptr;
}

bool key_set::hand_over(held_lease& held)
{
    set_turn* const next = next_in_all();
    if (!next || !may_hand_over(held, *next) || !held.may_pass_to(*next->whom().lock()))
        return false;
    candidate& heir = next->whom();
    core::instant const now = on().loop().now();
    void* const block = on().lease_blocks.try_take();
    if (!block)
        return false;
    key_set& its = next->set();
    its.drop(heir);
    auto const places = its.take(heir);
    auto passed = held.pass_to(block, heir.lock(), heir.waited(now), heir.attempts());
    for (auto const& each : its.queues_)
        each->pass_on(*passed, now);
    its.local().hold(now);
    heir.receive(std::move(passed));
    return true;
}

void key_set::lease_ended(held_lease const& held)
{
    local().lease_ended(on().loop().now());
    for (auto const& each : queues_)
        each->lease_ended(held);
}

void key_set::changed_here(core::node_set where)
{
    for (auto const& each : queues_)
        each->changed_here(where);
}

boost::intrusive_ptr<key_state> key_queues::at_all(std::vector<std::string> names)
{
    return {new key_set(*this, std::move(names))};
}

} // namespace redlock::detail
