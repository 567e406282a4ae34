#pragma once

#include "model/waiting_world.hpp"

namespace redlock::model {

struct waiting_action {
    enum class kind : std::uint8_t {
        come,
        come_in_turn,
        release,
        release_in_turn,
        execute,
        read,
        timer,
        silence,
        expire,
        drop,
        connect,
        lose_word,
        lapse,
        read_and_pause,
    };
    kind what;
    std::uint8_t client = 0;
    std::uint8_t node = 0;
    std::uint8_t unused = 0;
};

/// How one state follows another: the core's contention in each client, and a server in each node.
class waiting_steps {
public:
    explicit waiting_steps(waiting_scope const&);

    void begin(waiting_world&) const;
    void possible(waiting_world const&, std::vector<waiting_action>&) const;
    void take(waiting_world&, waiting_action) const;
    [[nodiscard]] std::string tell(waiting_world const& before, waiting_action) const;

private:
    struct turn;
    enum class asked : std::uint8_t { none, vote, release, look };
    enum class reply : std::uint8_t { none, granted, refused, held, gone, word };

    void execute(waiting_world&, unsigned c, unsigned n) const;
    void change(waiting_world&, unsigned n, unsigned by) const;
    void drop(waiting_world&, unsigned c, unsigned n) const;
    void check(waiting_world&) const;
    [[nodiscard]] bool quiet(waiting_world const&) const;

    waiting_scope const& scope_;
    waiting_terms terms_;
};

} // namespace redlock::model
