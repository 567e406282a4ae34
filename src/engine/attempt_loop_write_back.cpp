#include "engine/attempt_loop.hpp"
#include "engine/engine.hpp"
#include "engine/replies.hpp"

#include <algorithm>
#include <memory>
#include <string>

// What an attempt for one number does beside voting.
namespace redlock::detail {

void attempt_loop::write_back()
{
    auto verdict = core::attempt::step::pending;
    for (unsigned i = 0; i != engine_.size(); ++i) {
        if (!attempt_.to_write_back().contains(i))
            continue;
        net::node& node = engine_.at(i);
        if (node.usable())
            send_write_back(i, form_for(node, lock_->plan->kind, kind::request::write_back));
        else
            verdict = std::max(verdict, attempt_.wrote_back(i, core::vote::failed));
    }
    engine_.loop().schedule_after(*this, lock_->plan->node_timeout);
    follow(verdict);
}

void attempt_loop::send_write_back(unsigned node, redis::script_form form)
{
    net::node& n = engine_.at(node);
    append(n.output(), kind::request::write_back, form);
    kind::append_marker(n.output(), engine_.marker_of(node).text());
    ++outstanding_;
    n.expect(*this, tag(purpose::write_back, form));
}

core::attempt::step attempt_loop::read_write_back(unsigned node, bool may_repeat,
                                                  redis::resp_node const& reply)
{
    using meaning = kind::answer::meaning;
    switch (read_answer(engine_.at(node), lock_->plan->kind, kind::request::write_back, reply).what) {
    case meaning::granted: return attempt_.wrote_back(node, core::vote::granted);
    case meaning::denied: return attempt_.wrote_back(node, core::vote::denied);
    case meaning::unknown_script:
        if (!may_repeat)
            break;
        send_write_back(node, redis::script_form::text);
        return core::attempt::step::pending;
    default: break;
    }
    return attempt_.wrote_back(node, core::vote::failed);
}

} // namespace redlock::detail
