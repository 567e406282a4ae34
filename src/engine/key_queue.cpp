#include "engine/key_queue.hpp"

#include "engine/attempt_loop.hpp"
#include "engine/engine.hpp"
#include "engine/held_lease.hpp"
#include "engine/lock_state.hpp"

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

namespace redlock::detail {

key_queue::key_queue(key_index& registry, std::string name) : registry_(registry), name_(std::move(name)) {}

void intrusive_ptr_add_ref(key_queue* r) noexcept
{
    std::scoped_lock const guard(r->registry_.guard_);
    ++r->owners_;
}

void intrusive_ptr_release(key_queue* r) noexcept
{
    {
        std::scoped_lock const guard(r->registry_.guard_);
        if (--r->owners_ != 0)
            return;
        r->registry_.known_.erase(r);
    }
    delete r;
}

void key_queue::expect_keys(std::chrono::milliseconds ttl)
{
    auto const longest = static_cast<std::uint32_t>(ttl.count()); // 48 hours at most
    auto known = longest_key_ms_.load(std::memory_order_relaxed);
    while (known < longest && !longest_key_ms_.compare_exchange_weak(known, longest))
        ;
}

redis::lock_key key_queue::key() const
{
    return {registry_.key_prefix(), name_};
}

bool key_queue::held_by(std::string_view nonce) const
{
    return holder_ && holder_->owner().text() == nonce;
}

void key_queue::enqueue(acquire_op& a)
{
    queue_.push_back(a);
    a.ticket = ++tickets_;
    waiting_.store(waiting() + 1, std::memory_order_relaxed);
    if (holder_ || asking_)
        a.tell_waiting(position(a));
    else
        ask(core::batch_policy::next::coming);
}

void key_queue::leave(acquire_op& a)
{
    acquire_op* const next = after(a);
    drop(a);
    if (!served(a))
        return;
    if (next)
        asking_->serve(*next);
    else
        std::exchange(asking_, nullptr)->stop();
}

acquire_op* key_queue::after(acquire_op& a)
{
    if (!a.place.is_linked())
        return nullptr;
    auto const next = std::next(queue_.iterator_to(a));
    return next == queue_.end() ? nullptr : &*next;
}

void key_queue::drop(acquire_op& a)
{
    if (!a.place.is_linked())
        return;
    queue_.erase(queue_.iterator_to(a));
    waiting_.store(waiting() - 1, std::memory_order_relaxed);
}

bool key_queue::served(acquire_op const& a) const
{
    return asking_ && asking_->whom() == &a;
}

bool key_queue::lacks_nodes() const
{
    return asking_ && asking_->lacks_nodes();
}

bool key_queue::waits_for_nodes() const
{
    return asking_ && asking_->waits_for_nodes();
}

void key_queue::hurry(acquire_op& a)
{
    if (served(a) && !after(a))
        asking_->hurry();
}

/// Highest random weight: every client finds the same node, in whatever order the nodes are configured.
namespace {

/// Appleby's MurmurHash3 ends so: what differs at a name's end alone reaches all bits.
constexpr std::uint64_t spread(std::uint64_t hash)
{
    hash = (hash ^ hash >> 33U) * 0xff51afd7ed558ccdU;
    hash = (hash ^ hash >> 33U) * 0xc4ceb9fe1a85ec53U;
    return hash ^ hash >> 33U;
}

} // namespace

unsigned key_queue::rendezvous_node(std::vector<std::string> const& nodes) const
{
    auto const weight = [this](std::string_view node) { // FNV-1a
        std::uint64_t hash = 0xcbf29ce484222325U;
        for (std::string_view const part : {node, key().prefix, key().name})
            for (char const c : part)
                hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
        return spread(hash);
    };
    return static_cast<unsigned>(std::ranges::max_element(nodes, {}, weight) - nodes.begin());
}

namespace {

bool says_more_than_a_grant(node_report const& row)
{
    return row.result != node_result::granted && row.result != node_result::pending;
}

core::node_set grants(std::vector<node_report> const& rows)
{
    core::node_set granted;
    for (unsigned i = 0; i != rows.size(); ++i)
        if (rows[i].result == node_result::granted)
            granted.insert(i);
    return granted;
}

std::vector<node_report> rows_of(core::node_set granted, std::size_t nodes)
{
    std::vector<node_report> rows(nodes);
    for (unsigned i = 0; i != nodes; ++i)
        if (granted.contains(i))
            rows[i].result = node_result::granted;
    return rows;
}

} // namespace

/// With the guard of all tables held.
key_queue::others& key_queue::known_others()
{
    if (!others_)
        others_ = std::make_unique<others>();
    return *others_;
}

void key_queue::publish_success(std::vector<node_report>& rows) noexcept
{
    if (std::ranges::any_of(rows, says_more_than_a_grant))
        return publish(rows);
    granted_.store(grants(rows), std::memory_order_relaxed);
    if (!has_table()) // written here alone
        return;
    std::scoped_lock const guard(registry_.tables());
    std::vector<node_report>().swap(others_->table);
}

/// Where there is no memory for a first table there is none.
void key_queue::publish(std::vector<node_report>& rows) noexcept
{
    std::scoped_lock const guard(registry_.tables());
    try {
        auto& table = known_others().table;
        table.resize(rows.size());
        table.swap(rows);
    } catch (std::bad_alloc const&) {
    }
}

void key_queue::note_holder(unsigned node, unsigned nodes, kind::sighting const& seen) noexcept
{
    if (seen.owner == 0 && !seen.left && !seen.no_lock)
        return;
    std::scoped_lock const guard(registry_.tables());
    if (!has_table() && !make_table(nodes))
        return;
    node_report& row = others_->table[node];
    if (row.result == node_result::pending) // the attempt was decided without it
        row.result = node_result::held_by_other;
    if (seen.owner != 0)
        row.owner = seen.owner;
    if (seen.left)
        row.remaining = seen.left;
    if (seen.no_lock && row.result == node_result::held_by_other)
        describe_no_lock(row);
}

bool key_queue::make_table(unsigned nodes) noexcept
{
    try {
        known_others().table = rows_of(granted_.load(std::memory_order_relaxed), nodes);
        return true;
    } catch (std::bad_alloc const&) {
        return false;
    }
}

std::vector<node_outcome> key_queue::last_attempt(std::vector<std::string> const& nodes) const
{
    std::scoped_lock const guard(registry_.tables());
    if (has_table())
        return to_table(others_->table, nodes);
    auto const granted = granted_.load(std::memory_order_relaxed);
    return granted.size() == 0 ? std::vector<node_outcome>()
                               : to_table(rows_of(granted, nodes.size()), nodes);
}

std::size_t key_queue::position(acquire_op const& a) const
{
    return static_cast<std::size_t>(a.ticket - queue_.front().ticket);
}

/// Without memory for a contender nobody who waits can be asked for.
void key_queue::ask(core::batch_policy::next who)
{
    engine& client = queue_.front().lock()->client();
    attempt_loop* const asking = client.new_attempt_loop();
    while (!asking && !queue_.empty()) {
        acquire_op& vain = queue_.front();
        drop(vain);
        vain.starve();
    }
    if (!asking)
        return;
    acquire_op& first = queue_.front();
    core::instant const now = client.loop().now();
    batch_.look(now, client.turn());
    using start_mode = attempt_loop::start_mode;
    bool const overtakes = who == core::batch_policy::next::coming && batch_.has_rivals();
    auto const patient = overtakes ? start_mode::after_rivals : start_mode::in_turn;
    auto const how =
        batch_.may_go_on(first.lock()->plan->batch_policy, who, now) ? start_mode::at_once : patient;
    asking_ = asking;
    asking_->start(*this, first, how);
}

void key_queue::taken(attempt_loop& by, held_lease& held)
{
    if (asking_ == &by) {
        asking_ = nullptr;
        if (others_)
            others_->fairness.granted();
        drop(queue_.front());
    }
    changed_here(held.client().all_nodes()); // who waits has been overtaken
    if (by.offered_turn())
        batch_.nobody_came();
    batch_.granted(held.client().loop().now());
    holder_ = &held;
}

/// Without memory nobody was met.
void key_queue::met(std::uint64_t owner) noexcept
{
    std::scoped_lock const guard(registry_.tables());
    try {
        others& known = known_others();
        if (std::exchange(known.last_met, owner) != owner)
            known.fairness.another_had_it();
    } catch (std::bad_alloc const&) {
    }
}

void key_queue::taken_back(attempt_loop const& by, core::node_set where)
{
    if (asking_ != &by)
        changed_here(where);
}

void key_queue::abandoned(attempt_loop const& by)
{
    if (asking_ == &by)
        asking_ = nullptr;
}

void key_queue::adopted(held_lease& held)
{
    if (holder_)
        return;
    holder_ = &held;
    batch_.granted(held.client().loop().now());
}

bool key_queue::hand_over(held_lease& held)
{
    if (holder_ != &held || asking_ || queue_.empty())
        return false;
    acquire_op& next = queue_.front();
    core::instant const now = held.client().loop().now();
    if (!batch_.may_go_on(next.lock()->plan->batch_policy, core::batch_policy::next::waiting, now) ||
        !held.may_pass_to(*next.lock()))
        return false;
    void* const block = held.client().lease_blocks().try_take();
    if (!block)
        return false;
    drop(next);
    batch_.granted(now);
    auto passed = held.pass_to(block, next.lock(), next.waited(now), next.attempts());
    holder_ = passed.get();
    next.receive(std::move(passed));
    return true;
}

void key_queue::vacated(held_lease const& held)
{
    engine& client = held.client();
    changed_here(client.all_nodes());
    if (holder_ != &held)
        return;
    holder_ = nullptr;
    batch_.ended(client.loop().now());
    if (!queue_.empty() && !asking_ && !client.closing())
        ask(core::batch_policy::next::waiting);
}

void key_queue::key_changed(unsigned node)
{
    if (asking_)
        asking_->key_changed(node);
    if (holder_)
        holder_->key_changed(node);
}

void key_queue::changed_here(core::node_set where)
{
    if (asking_)
        asking_->changed_here(where);
}

/// With the guard held.
boost::intrusive_ptr<key_queue> key_index::share(key_queue& known)
{
    ++known.owners_;
    return {&known, false};
}

boost::intrusive_ptr<key_queue> key_index::at(std::string name)
{
    std::scoped_lock const guard(guard_);
    if (auto const found = known_.find(std::string_view(name)); found != known_.end())
        return share(**found);
    auto made = std::make_unique<key_queue>(*this, std::move(name));
    known_.insert(made.get());
    return share(*made.release());
}

boost::intrusive_ptr<key_queue> key_index::find(std::string_view key)
{
    if (!key.starts_with(key_prefix_))
        return nullptr;
    std::scoped_lock const guard(guard_);
    auto const found = known_.find(key.substr(key_prefix_.size()));
    return found == known_.end() ? nullptr : share(**found);
}

std::vector<boost::intrusive_ptr<key_queue>> key_index::all()
{
    std::vector<boost::intrusive_ptr<key_queue>> found; // goes after the guard, for which its elements ask
    std::scoped_lock const guard(guard_);
    found.reserve(known_.size());
    for (key_queue* const known : known_)
        found.push_back(share(*known));
    return found;
}

} // namespace redlock::detail
