#include "engine/undo.hpp"

#include "engine/engine.hpp"
#include "engine/replies.hpp"

#include <utility>

namespace redlock::detail {

void undo::start(pending_release owed, core::node_set where)
{
    owed_ = std::move(owed);
    left_ = 0;
    for (unsigned i = 0; i != engine_.size(); ++i)
        if (where.contains(i))
            send_to(i);
    settle(); // nobody may be reachable
}

void undo::send_to(unsigned node)
{
    net::node& n = engine_.at(node);
    if (n.reachable())
        send(node, form_for(n, *owed_.what.type, kind::request::release));
    else
        leave(node);
}

void undo::leave(unsigned node)
{
    ++left_;
    engine_.owe(node, owed_);
}

void undo::send(unsigned node, redis::script_form form)
{
    net::node& n = engine_.at(node);
    owed_.what.type->append(n.output(), kind::request::release, owed_.what.said(), form);
    ++outstanding_;
    n.expect(*this, static_cast<std::uint32_t>(form));
}

void undo::on_reply(unsigned node, std::uint32_t form, redis::resp_node const& reply)
{
    --outstanding_;
    using meaning = kind::answer::meaning;
    auto const answer = read_answer(engine_.at(node), *owed_.what.type, kind::request::release, reply).what;
    if (answer == meaning::unknown_script && form == static_cast<std::uint32_t>(redis::script_form::hash)) {
        send(node, redis::script_form::text);
        owed_.what.key->changed_here(core::node_set(node));
    } else if (answer != meaning::granted && answer != meaning::denied) {
        ++left_;
        engine_.remark(node, "release", reply);
    }
    settle();
}

/// No node is too young to be told that a key is not wanted.
void undo::on_failure(unsigned node, std::uint32_t, net::failure const& why)
{
    --outstanding_;
    if (why.unsent && engine_.at(node).reachable())
        return send(node, redis::script_form::text);
    leave(node);
    settle();
}

void undo::settle()
{
    if (outstanding_ != 0)
        return;
    owed_ = {};
    engine_.retire(*this);
    engine_.undone(left_ <= engine_.size() - core::majority(engine_.size()));
}

} // namespace redlock::detail
