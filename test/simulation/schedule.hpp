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
        unsigned host = 0;
        std::unique_ptr<world::process> process{};
        std::optional<client> locks{};
        std::vector<std::unique_ptr<actor>> actors{};

        [[nodiscard]] std::string name() const { return "program " + std::to_string(host); }
    };

    [[nodiscard]] std::unique_ptr<program> new_program();
    [[nodiscard]] lock_options draw_options();
    void disturb();
    void disturb_node(unsigned node);
    void disturb_program(std::unique_ptr<program>&);
    void restart(unsigned node);
    void note(std::string const& what);
    void flaw(std::string const& what);
    void granted(actor&);
    void check();
    void check_told(program const&, actor&);
    bool step(duration until);
    void run_until(duration when);
    void check_progress();
    void end();
    [[nodiscard]] std::string time() const;

    model::dice dice_;
    bool with_story_;
    enum class kinds : std::uint8_t { plain, fenced, mixed } kinds_;
    bool quiet_ = false; ///< nothing bad happens any more
    std::chrono::milliseconds longest_ttl_;
    world::timeline time_;
    std::unique_ptr<world::network> net_;
    std::vector<std::unique_ptr<program>> programs_;
    std::vector<std::unique_ptr<program>> gone_; ///< killed
    unsigned hosts_ = 0;
    std::uint64_t highest_token_ = 0;
    verdict seen_{};
};

} // namespace redlock::simulation
