#include "model/seen_states.hpp"
#include "model/waiting_steps.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

// Breadth first, as in search.cpp.

namespace redlock::model {

static_assert(std::is_trivially_copyable_v<waiting_world> && sizeof(waiting_world) % 8 == 0 &&
              std::has_unique_object_representations_v<waiting_world>);

namespace {

class through_all {
public:
    explicit through_all(waiting_scope const& s) : scope_(s), steps_(s) {}

    waiting_result run()
    {
        auto const began = std::chrono::steady_clock::now();
        waiting_world first;
        steps_.begin(first);
        meet(first, seen_states::root, {});
        while (!next_.empty() && result_.flaw == waiting_world::flaw::none &&
               seen_.size() < scope_.most_states) {
            std::vector<waiting_world> now;
            std::swap(now, next_);
            ++result_.depth;
            expand(now);
        }
        result_.complete = next_.empty();
        result_.states = seen_.size();
        result_.took =
            std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - began);
        return result_;
    }

private:
    void expand(std::vector<waiting_world> const& now)
    {
        std::vector<waiting_action> actions;
        for (waiting_world const& w : now) {
            actions.clear();
            steps_.possible(w, actions);
            for (waiting_action const a : actions) {
                waiting_world after = w;
                steps_.take(after, a);
                meet(after, looked_at_, a);
                if (result_.flaw != waiting_world::flaw::none)
                    return;
            }
            ++looked_at_;
        }
    }

    void meet(waiting_world const& w, std::uint32_t from, waiting_action a)
    {
        auto const print = fingerprint_of(reinterpret_cast<std::byte const*>(&w), sizeof w);
        if (!seen_.insert(print, {from, std::bit_cast<std::uint32_t>(a)}))
            return;
        next_.push_back(w);
        if (w.broken == waiting_world::flaw::none)
            return;
        result_.flaw = w.broken;
        result_.trace = trace(seen_.size() - 1);
    }

    [[nodiscard]] std::string trace(std::size_t last) const
    {
        std::vector<waiting_action> way;
        for (std::size_t at = last; seen_.how(at).from != seen_states::root; at = seen_.how(at).from)
            way.push_back(std::bit_cast<waiting_action>(seen_.how(at).action));
        std::reverse(way.begin(), way.end());
        std::string text;
        waiting_world w;
        steps_.begin(w);
        for (waiting_action const a : way) {
            text += steps_.tell(w, a) + '\n';
            steps_.take(w, a);
        }
        return text + "=> " + name(w.broken) + '\n';
    }

    waiting_scope const& scope_;
    waiting_steps steps_;
    seen_states seen_;
    std::vector<waiting_world> next_;
    waiting_result result_;
    std::uint32_t looked_at_ = 0;
};

} // namespace

waiting_result search(waiting_scope const& s)
{
    return through_all(s).run();
}

} // namespace redlock::model
