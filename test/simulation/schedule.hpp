#pragma once

#include "model/dice.hpp"
#include "world/network.hpp"
#include "world/process.hpp"
#include "world/timeline.hpp"
#include <redlock/fenced_mutex.hpp>
#include <redlock/lease.hpp>
#include <redlock/mutex.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace redlock::simulation {

using core::duration;
using namespace std::chrono_literals;

/// What a schedule showed.
struct verdict {
    std::string flaw{};  ///< empty: none
    std::string story{}; ///< what happened, where it was asked for
    std::uint64_t events = 0;
    std::uint64_t leases = 0;
    std::uint64_t digest = 0; ///< of all that happened, in order

    friend bool operator==(verdict const&, verdict const&) = default;
};

/// A minute of a few programs that want one lock of a few servers, and of what befalls them: drawn from a seed.
class schedule {
public:
    schedule(std::uint64_t seed, bool with_story);
    ~schedule();

    [[nodiscard]] verdict run();

private:
    /// One operation after the other, for ever.
    struct actor;
    struct program {
        std::unique_ptr<world::process> process;
        std::optional<client> locks;
        std::vector<std::unique_ptr<actor>> actors;
    };

    void start_program(unsigned number);
    void disturb();
    void disturb_node(unsigned node);
    void disturb_program(unsigned program);
    void restart(unsigned node);
    void note(std::string const& what);
    void granted(actor&);
    void check();
    bool step(duration until);
    void run_until(duration when);
    void end();
    [[nodiscard]] std::string time() const;

    model::dice dice_;
    bool with_story_;
    bool fenced_;
    bool quiet_ = false; ///< nothing bad happens any more
    lock_options options_{};
    world::timeline time_;
    std::unique_ptr<world::network> net_;
    std::vector<program> programs_;
    std::vector<std::unique_ptr<program>> gone_;
    std::uint64_t highest_token_ = 0;
    verdict seen_{};
};

} // namespace redlock::simulation
