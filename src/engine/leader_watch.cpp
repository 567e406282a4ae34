// SPDX-License-Identifier: BSL-1.0
// rule EL3
#include "engine/leader_watch.hpp"

#include "core/memory.hpp"
#include "engine/exception_for.hpp"
#include "engine/key_queue.hpp"
#include "engine/key_state.hpp"
#include "engine/lock_descriptor.hpp"
#include "engine/words.hpp"
#include "kind/election.hpp"
#include "net/node.hpp"
#include <redlock/detail/error_access.hpp>
#include <redlock/error.hpp>
#include <redlock/node_outcome.hpp>

#include <boost/asio/error.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

namespace redlock::detail {

leader_watch::leader_watch(runtime& on, pool<leader_watch>& home)
    : runtime_(on), home_(home), rows_(on.nodes.size()), found_(on.nodes.size())
{}

void leader_watch::start(lock_ptr lock, std::optional<leader_info> known, handler_type handler)
{
    lock_ = std::move(lock);
    handler_ = std::move(handler);
    phase_ = phase::asking;
    observes_ = known.has_value();
    known_ = {};
    if (known)
        known_ = {known->term, known->revision, known->vacant, known->confirmed, 0};
    result_ = known ? std::move(*known) : leader_info();
    unsettled_.reset();
    too_few_ = runtime_.loop().now();
    std::ranges::generate(rows_, [] { return node_report(); });
    std::ranges::generate(found_, [] { return finding(); });
    begin();
    if (runtime_.life.closing())
        return finish(make_error_code(errc::shut_down));
    ask_all();
    connecting_ = !observes_ && !connected_to_majority();
    schedule();
    weigh();
}

void leader_watch::begin()
{
    if (!observes_)
        return runtime_.life.begin_inspection(*this);
    runtime_.life.begin_operation(*this);
    nodes().expect_pushes();
    key_queue::of(*lock_).add_leader_listener(*this);
}

void leader_watch::end()
{
    if (!observes_)
        return runtime_.life.end_inspection(*this);
    hook.unlink();
    nodes().stop_expecting_pushes();
    runtime_.life.end_operation(*this);
}

bool leader_watch::connected_to_majority() const
{
    return nodes().ready() >= core::majority(nodes().size());
}

void leader_watch::ask_all()
{
    asked_ = runtime_.loop().now();
    for (unsigned i = 0; i != nodes().size(); ++i)
        ask(i);
}

/// A node that may have lost data is not asked for the leader, as it has no vote (rule N4). A node that is being
/// connected is asked later: only then it is known whether it reports changes.
void leader_watch::ask(unsigned node)
{
    finding& its = found_[node];
    if (its.asked) {
        its.ask_again = true;
        return;
    }
    node_report row;
    if (!nodes().admit(node, *lock_, row)) {
        its.answer = {};
        rows_[node] = std::move(row);
        return;
    }
    net::node& server = nodes().at(node);
    if (observes_) {
        if (server.state() != node_state::ready)
            return;
        server.track();
    }
    its.asked = true;
    its.since = proven();
    if (its.connection != server.connection())
        its.answer = {};
    its.connection = server.connection();
    send(node, kind::request::leader);
}

void leader_watch::on_usable(unsigned node)
{
    if (phase_ == phase::asking)
        ask(node);
}

void leader_watch::on_nodes_changed()
{
    if (observes_)
        weigh();
}

/// Completes without news, unless other operations know more. Its caller asks again.
void leader_watch::on_retired()
{
    if (!observes_ || phase_ != phase::asking)
        return;
    core::leader_version const latest = lock_->key->latest_leader();
    if (known_.version() < latest) {
        result_ = leader_info();
        result_.term = latest.term;
        result_.revision = latest.revision;
    }
    finish({});
}

/// Asking may find a connection closed, and so end the watch. A finished watch stays listed until its task runs.
void leader_watch::leader_changed(core::node_set where)
{
    for (unsigned i = 0; i != nodes().size() && phase_ == phase::asking; ++i)
        if (where.contains(i))
            ask(i);
}

void leader_watch::on_answer(node_answer const& got)
{
    found_[got.node].asked = false;
    if (phase_ != phase::asking)
        return;
    take(got.node, got);
    question_ended(got.node);
}

/// Without memory for the value the node's answer is ignored.
void leader_watch::take(unsigned node, node_answer const& got)
{
    finding& its = found_[node];
    node_report row;
    auto const said = kind::read_leader(got.reply);
    if (said) {
        row.result = node_result::granted;
        bool const known = core::if_memory_allows([&] { its.value = said->value; });
        its.answer = {known, said->term, said->revision};
    } else {
        its.answer = {};
        report_refusal(got.reply, row);
    }
    rows_[node] = std::move(row);
}

/// An unsent question waited for a connection, which is ready now; that node may be old enough.
void leader_watch::on_silence(unsigned node, kind::request, bool, net::failure const& why)
{
    finding& its = found_[node];
    its.asked = false;
    if (phase_ != phase::asking)
        return;
    its.answer = {};
    its.ask_again = its.ask_again || why.unsent;
    node_report row;
    report_failure(why, row);
    rows_[node] = std::move(row);
    question_ended(node);
}

void leader_watch::question_ended(unsigned node)
{
    if (std::exchange(found_[node].ask_again, false))
        ask(node);
    weigh();
}

/// Returns the latest version that this client or the caller knows to be proven.
core::leader_version leader_watch::proven() const
{
    return std::max(lock_->key->latest_leader(), known_.proven());
}

/// An answer on a closed connection may be outdated, and no push would say so. An announcement behind the proven version
/// says that its leader is gone only if the node was asked after that was proven.
// rule EL4
bool leader_watch::counts(unsigned node, core::leader_version proven)
{
    finding const& its = found_[node];
    net::node const& by = nodes().at(node);
    bool const heard = by.state() == node_state::ready && by.connection() == its.connection;
    if (!its.answer.known || (observes_ && !heard))
        return false;
    bool const outdated = its.answer.version() < proven && its.since < proven;
    if (outdated)
        ask(node);
    return !outdated;
}

std::optional<core::leader_verdict> leader_watch::conclude()
{
    core::leader_version const latest = proven();
    std::array<core::leader_answer, core::max_nodes> said;
    for (unsigned i = 0; i != nodes().size(); ++i)
        if (counts(i, latest))
            said[i] = found_[i].answer;
    auto verdict = core::judge({said.data(), nodes().size()}, latest);
    if (!verdict)
        return verdict;
    if (verdict->vacant && verdict->term == known_.term)
        verdict->revision = std::max(verdict->revision, known_.revision);
    lock_->key->note_leader(verdict->proven());
    return verdict;
}

void leader_watch::weigh()
{
    if (phase_ != phase::asking)
        return;
    auto const verdict = conclude();
    if (phase_ != phase::asking) // a node was found gone, and its event has ended the watch
        return;
    observes_ ? judge_change(verdict) : judge_query(verdict);
}

void leader_watch::judge_query(std::optional<core::leader_verdict> const& verdict)
{
    if (std::exchange(connecting_, connecting_ && !verdict) && verdict)
        schedule();
    if (verdict && (verdict->vacant || verdict->confirmed))
        return report(*verdict);
    if (std::ranges::any_of(found_, &finding::asked))
        return;
    verdict ? report(*verdict) : finish(make_error_code(errc::no_quorum));
}

/// An unconfirmed announcement may be confirmed in a moment, or be over.
// rule EL5
void leader_watch::judge_change(std::optional<core::leader_verdict> const& verdict)
{
    core::instant const now = runtime_.loop().now();
    if (verdict)
        too_few_.reset();
    else if (!too_few_)
        too_few_ = now;
    auto const news = verdict ? core::news(known_, *verdict) : core::leader_news::none;
    if (news == core::leader_news::change)
        return report(*verdict);
    if (news == core::leader_news::none)
        unsettled_.reset();
    else if (!unsettled_)
        unsettled_ = now;
    if (unsettled_ && core::reached(*unsettled_ + lock_->config->node_timeout, now))
        return report(*verdict);
    if (too_few_ && core::reached(*too_few_ + lock_->config->options.retry.outage_patience, now))
        return finish(make_error_code(errc::no_quorum));
    schedule();
}

/// A push may be lost, and a server reports an expired key only when it finds it.
core::duration leader_watch::pause_between_questions() const
{
    core::duration pause = lock_->config->key_ttl;
    unsigned deaf = 0;
    for (unsigned i = 0; i != nodes().size(); ++i) {
        auto const interval = runtime_.its.settings().terms[i].check_interval;
        if (interval != core::duration::zero())
            pause = std::min(pause, interval);
        bool const asked = found_[i].connection == nodes().at(i).connection();
        if (nodes().at(i).state() == node_state::ready && asked && !nodes().at(i).tracks())
            ++deaf;
    }
    return deaf == 0 ? pause : std::min<core::duration>(pause, lock_->config->options.retry.max_delay);
}

void leader_watch::schedule()
{
    core::instant const now = runtime_.loop().now();
    if (!observes_) {
        auto const connecting =
            connecting_ ? runtime_.its.settings().connect_timeout : core::duration::zero();
        return runtime_.loop().schedule(*this, now + connecting + lock_->config->node_timeout);
    }
    core::instant due = asked_ + pause_between_questions();
    if (unsettled_ && core::sooner(*unsettled_ + lock_->config->node_timeout, due, now))
        due = *unsettled_ + lock_->config->node_timeout;
    auto const patience = lock_->config->options.retry.outage_patience;
    if (too_few_ && core::sooner(*too_few_ + patience, due, now))
        due = *too_few_ + patience;
    runtime_.loop().schedule(*this, due);
}

/// If the nodes are asked once, a node that has not answered by now does not count.
void leader_watch::expire()
{
    if (phase_ != phase::asking)
        return;
    if (observes_) {
        if (core::reached(asked_ + pause_between_questions(), runtime_.loop().now()))
            ask_all();
        return weigh();
    }
    for (unsigned i = 0; i != nodes().size(); ++i)
        if (std::exchange(found_[i].asked, false))
            rows_[i].result = node_result::timed_out;
    weigh();
}

void leader_watch::cancel(std::uint32_t generation)
{
    if (generation == generation_)
        abort(boost::asio::error::operation_aborted);
}

void leader_watch::abort(boost::system::error_code ec)
{
    if (phase_ == phase::asking)
        finish(ec);
}

void leader_watch::report(core::leader_verdict const& said)
{
    result_ = {
        .term = said.term, .revision = said.revision, .confirmed = said.confirmed, .vacant = said.vacant};
    if (!said.vacant)
        result_.value = std::move(found_[said.witness].value);
    finish({});
}

void leader_watch::finish(boost::system::error_code ec)
{
    runtime_.loop().cancel(*this);
    phase_ = phase::finished;
    error_ = ec;
    runtime_.loop().enqueue(static_cast<net::task&>(*this));
}

void leader_watch::discard()
{
    phase_ = phase::draining;
    hook.unlink();
    auto const handler = std::move(handler_);
    auto const lock = std::move(lock_);
}

/// Recycles the object first, unless replies are on their way, because the handler may start the next operation. The
/// turn keeps the engine alive.
void leader_watch::run()
{
    if (phase_ != phase::finished)
        return;
    if (std::exception_ptr* const diagnostics = error_ ? handler_.diagnostics() : nullptr)
        *diagnostics = failure(error_);
    end();
    auto const ec = error_;
    auto result = ec ? leader_info() : std::move(result_);
    auto handler = std::move(handler_);
    auto const lock = std::move(lock_);
    ++generation_;
    phase_ = phase::draining;
    recycle_if_drained();
    handler(ec, std::move(result));
}

std::exception_ptr leader_watch::failure(boost::system::error_code ec) const noexcept
{
    return exception_for(ec, [&] {
        if (ec != errc::no_quorum)
            return lock_->explain(ec);
        auto table = to_table(rows_, runtime_.its.settings().names);
        std::string text = title(lock_->name()) + ": " + ec.message() + ": " + to_string(table);
        return error_access::make(ec, std::move(text), std::move(table), {}, lock_->name());
    });
}

void leader_watch::on_drained()
{
    recycle_if_drained();
}

void leader_watch::recycle_if_drained()
{
    if (phase_ != phase::draining || !drained())
        return;
    phase_ = phase::idle;
    home_.recycle(*this);
}

} // namespace redlock::detail
