#include "engine/engine.hpp"

#include "engine/context_end.hpp"
#include "engine/lock_state.hpp"

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

namespace redlock::detail {

namespace {

/// Releases owed to one node that is away. More are forgotten: their keys expire by themselves.
constexpr std::size_t max_pending_releases = 1024;

template <class T>
T& reuse_or_make(std::vector<T*>& free, std::vector<std::unique_ptr<T>>& all, engine& owner)
{
    if (free.empty()) {
        if (free.capacity() == all.size()) // room for giving it back
            free.reserve(2 * all.size() + 1);
        all.push_back(std::make_unique<T>(owner));
        return *all.back();
    }
    T* const reused = free.back();
    free.pop_back();
    return *reused;
}

} // namespace

std::shared_ptr<engine> engine::make(net::any_io_executor executor, config const& settings,
                                     std::shared_ptr<net::machine> on)
{
    if (!net::serialising(executor))
        misconfigured("the executor does not serialise: give a strand over the pool, or an io_context run by "
                      "one thread");
    auto made = std::make_shared<engine>(std::move(executor), check(settings, *on), on);
    made->loop_.owned_by(made);
    context_end::tell(boost::asio::query(made->executor(), boost::asio::execution::context), made);
    return made;
}

engine::engine(net::any_io_executor executor, client_settings settings, std::shared_ptr<net::machine> on)
    : settings_(std::move(settings)), process_(on->make_page()), loop_(executor, std::move(on)),
      lease_blocks_(sizeof(held_lease)), keys_(settings_.key_prefix),
      pending_releases_(settings_.peers.size()), admissions_(settings_), table_(settings_.names),
      quarantines_(settings_.peers.size()), states_(settings_.peers.size(), node_state::idle)
{
    for (unsigned i = 0; i != settings_.peers.size(); ++i) {
        nodes_.push_back(std::make_unique<net::node>(loop_, static_cast<net::node_listener&>(*this), i,
                                                     settings_.peers[i], settings_.terms[i]));
        markers_.push_back(std::make_unique<marker>(*this, i));
    }
    loop_.made_in(process_, *this);
    loop_.make_room_for(nodes_.size());
    make_room_for_draft();
}

engine::~engine() = default;

void engine::remark(unsigned node, std::string_view script, redis::resp_node const& reply)
{
    try {
        table_.remark(node, script, reply.text);
    } catch (std::bad_alloc const&) { // words are a courtesy
    }
}

void engine::measured(core::duration sample)
{
    round_trip_ += (sample - round_trip_) / 8;
}

core::duration engine::turn() const
{
    return std::max<core::duration>(3 * round_trip_, std::chrono::milliseconds{2});
}

void engine::hear()
{
    if (hearing_++ == 0)
        for (auto const& node : nodes_)
            node->listen(true);
}

void engine::stop_hearing()
{
    if (--hearing_ == 0)
        for (auto const& node : nodes_)
            node->listen(false);
}

acquire_op& engine::new_acquire_op()
{
    return reuse_or_make(free_acquire_ops_, acquire_ops_, *this);
}

void engine::retire(acquire_op& a)
{
    free_acquire_ops_.push_back(&a);
}

attempt_loop* engine::new_attempt_loop() noexcept
{
    try {
        return &reuse_or_make(free_attempt_loops_, attempt_loops_, *this);
    } catch (std::bad_alloc const&) {
        return nullptr;
    }
}

void engine::retire(attempt_loop& c)
{
    free_attempt_loops_.push_back(&c);
}

wait_op& engine::new_wait_op()
{
    return reuse_or_make(free_wait_ops_, wait_ops_, *this);
}

void engine::retire(wait_op& w)
{
    free_wait_ops_.push_back(&w);
}

undo& engine::new_undo()
{
    return reuse_or_make(free_undos_, undos_, *this);
}

void engine::retire(undo& c)
{
    free_undos_.push_back(&c);
}

inspector& engine::new_inspector()
{
    return reuse_or_make(free_inspectors_, inspectors_, *this);
}

void engine::retire(inspector& i)
{
    free_inspectors_.push_back(&i);
}

void engine::begin(acquire_op& a)
{
    acquiring_.push_back(a);
    if (outstanding_++ == 0)
        watch();
}

void engine::end(acquire_op& a)
{
    acquiring_.erase(acquiring_.iterator_to(a));
    if (--outstanding_ == 0)
        watch();
}

void engine::begin(held_lease& held)
{
    held_.push_back(held);
    if (outstanding_++ == 0)
        watch();
}

void engine::end(held_lease& held)
{
    held_.erase(held_.iterator_to(held));
    if (--outstanding_ == 0)
        watch();
}

void engine::watch()
{
    if (closed_)
        return;
    for (unsigned i = 0; i != size(); ++i) {
        nodes_[i]->watch(outstanding_ != 0);
        if (outstanding_ == 0 && !pending_releases_[i].empty()) // nobody else will bring the node back
            nodes_[i]->try_once();
    }
}

void engine::on_node_changed(unsigned node)
{
    node_state const now = nodes_[node]->state();
    node_state const before = std::exchange(states_[node], now);
    ready_ += (now == node_state::ready ? 1U : 0U) - (before == node_state::ready ? 1U : 0U);
    connecting_ += (now == node_state::connecting ? 1U : 0U) - (before == node_state::connecting ? 1U : 0U);
    bool const connected = now == node_state::ready;
    if (!connected) {
        markers_[node]->forget();
        quarantines_[node].reset();
    }
    tell_node(node, now != before);
    warnings_.node_changed(nodes_, node);
    if (closed_)
        return;
    if (connected)
        retry_releases(node);
    if (connected && (admissions_.has_unknown_past(node) || markers_[node]->is_in_use()))
        markers_[node]->require();
    if (!connected && now != node_state::down)
        return;
    met_.insert(node);
    tell_attempt_loops();
    if (now == node_state::ready)
        for (held_lease& held : held_)
            held.node_ready(node);
}

bool engine::meets_somebody() const
{
    for (unsigned i = 0; i != size(); ++i)
        if ((states_[i] == node_state::connecting && !met_.contains(i)) || markers_[i]->awaited())
            return true;
    return false;
}

void engine::connect()
{
    for (auto const& node : nodes_)
        (void)node->usable();
}

void engine::tell_attempt_loops()
{
    for (std::size_t i = 0; i != attempt_loops_.size();
         ++i) // NOLINT(modernize-loop-convert): there may be more
        attempt_loops_[i]->nodes_changed();
}

void engine::on_key_changed(unsigned node, std::optional<std::string_view> key)
{
    if (!key)
        for (auto const& any : keys_.all())
            any->key_changed(node);
    else if (auto const known = keys_.find(*key))
        known->key_changed(node);
}

void engine::on_tracking_refused(unsigned node, redis::resp_node const& why)
{
    remark(node, "CLIENT TRACKING", why);
    tell_attempt_loops();
}

/// Into the table, and to the observer what is news: what cannot be checked on a node is said once.
void engine::tell_node(unsigned node, bool news) noexcept
{
    try {
        describe_node(node, news);
    } catch (std::bad_alloc const&) { // without words
        table_.enter(node, states_[node]);
        if (observer* const o = watcher(); o && news)
            o->on_node({settings_.names[node], states_[node], {}});
    }
}

void engine::describe_node(unsigned node, bool news)
{
    node_state const now = states_[node];
    net::failure why = nodes_[node]->last_failure();
    bool const ready = now == node_state::ready;
    if (ready)
        why.detail = admissions_.blind_spots(node, *nodes_[node]);
    table_.enter(node, now, why);
    if (ready && !admissions_.has_unknown_past(node) && tell_longest_quarantine(node))
        return;
    bool const mention = !ready || (!why.detail.empty() && admissions_.first_mention(node));
    observer* const o = watcher();
    if (!o || !news)
        return;
    o->on_node({settings_.names[node], now, mention ? std::string_view(why.detail) : std::string_view()});
}

void engine::compensate(undo& c, pending_release owed, core::node_set where)
{
    ++undoing_;
    c.start(std::move(owed), where);
}

void engine::owe(unsigned node, pending_release owed)
{
    if (forsaken_ || core::reached(owed.expires, loop_.now()))
        return;
    if (observer* const o = watcher())
        o->on_linger(
            {owed.what.key->name(), settings_.names[node], core::remaining(owed.expires, loop_.now())});
    if (closed_)
        return;
    auto& all = pending_releases_[node];
    while (!all.empty() &&
           (all.size() >= max_pending_releases || core::reached(all.front().expires, loop_.now())))
        all.pop_front();
    try {
        all.push_back(std::move(owed));
    } catch (std::bad_alloc const&) {
        return;
    }
    if (outstanding_ == 0) // nobody else will bring the node back
        nodes_[node]->try_once();
}

void engine::retry_releases(unsigned node)
{
    auto& owed = pending_releases_[node];
    for (std::size_t left = owed.size(); left != 0 && !owed.empty(); --left) { // there may be more of them
        pending_release const first = std::move(owed.front());
        owed.pop_front();
        if (core::reached(first.expires, loop_.now()))
            continue;
        try {
            compensate(new_undo(), first, core::node_set(node));
        } catch (std::bad_alloc const&) { // the key expires by itself
        }
    }
}

} // namespace redlock::detail
