#pragma once

#include "model/fake_node.hpp"

#include <cstdint>
#include <optional>

namespace redlock::model {

/// What stands in a node's marker, as src/redis/scripts/mark.lua writes it. Zero: no time, no lineage.
struct marker_text {
    std::uint32_t life = 0;
    std::uint32_t lineage = 0;
    millis since = 0;
    millis placed = 0;

    friend bool operator==(marker_text const&, marker_text const&) = default;
};

/// The marker that a client has seen on a node, and when on the node's clock.
struct marker_sight {
    std::uint32_t lineage = 0;
    millis at = 0;
};

struct mark_call {
    std::uint32_t life = 0;
    std::uint32_t lineage = 0;
    std::optional<millis> certain_for{}; ///< nothing: the user answers for it
    bool absence_is_excused = false;
    marker_sight seen{};
};

/// What stands there after the call: that script, in C++.
[[nodiscard]] marker_text mark(std::optional<marker_text> const& stands, mark_call const&, millis now);

} // namespace redlock::model
