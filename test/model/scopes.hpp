// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "model/small_world.hpp"

#include <array>

namespace redlock::model {

/// The scopes of the exhaustive search. Each is small enough to be finished, and has a part that the other ones leave
/// out.
namespace scopes {

inline constexpr scope renewal{.name = "plain: extension", .horizon = 4, .rounds = {1, 0}, .strays = 0};
inline constexpr scope restart{
    .name = "plain: a restart, a stray message", .horizon = 4, .rounds = {0, 0}, .strays = 1, .restarts = 1};
inline constexpr scope retry{.name = "plain: a second attempt, a stray message",
                             .horizon = 4,
                             .attempts = {2, 1},
                             .rounds = {0, 0},
                             .strays = 1};
inline constexpr scope duplicate{
    .name = "plain: extension, a duplicate", .horizon = 4, .rounds = {1, 0}, .strays = 0, .duplicates = 1};
inline constexpr scope suspect{.name = "plain: tolerated suspect, a clock step",
                               .tolerate_suspect = true,
                               .slack = 1,
                               .quarantine = 3,
                               .horizon = 5,
                               .rounds = {1, 0},
                               .strays = 1,
                               .steps = 1};
inline constexpr scope counters{.name = "fenced: no clocks, two stray messages",
                                .fenced = true,
                                .timeless = true,
                                .rounds = {0, 0},
                                .strays = 2};
inline constexpr scope counters_duplicate{.name = "fenced: no clocks, a stray message, a duplicate",
                                          .fenced = true,
                                          .timeless = true,
                                          .rounds = {0, 0},
                                          .strays = 1,
                                          .duplicates = 1};
inline constexpr scope counters_extension{
    .name = "fenced: no clocks, extension", .fenced = true, .timeless = true, .rounds = {1, 0}, .strays = 0};
inline constexpr scope counters_retry{.name = "fenced: no clocks, a second attempt",
                                      .fenced = true,
                                      .timeless = true,
                                      .attempts = {1, 2},
                                      .rounds = {0, 0},
                                      .strays = 0};
inline constexpr scope fenced_restart{.name = "fenced: extension, a restart",
                                      .fenced = true,
                                      .clocks = true,
                                      .horizon = 3,
                                      .rounds = {1, 0},
                                      .strays = 0,
                                      .restarts = 1};
inline constexpr scope fenced_suspect{.name = "fenced: tolerated suspect, a clock step",
                                      .fenced = true,
                                      .tolerate_suspect = true,
                                      .clocks = true,
                                      .slack = 1,
                                      .quarantine = 3,
                                      .horizon = 5,
                                      .rounds = {1, 0},
                                      .strays = 0,
                                      .steps = 1};

// Situations that take many steps to come about: the search begins in the middle of them.
using does = action::kind;

/// A holds nodes 1 and 2; its vote on node 3 is still under way.
inline constexpr std::array late_vote{action{does::start, 0}, action{does::delay, 0, 2},
                                      action{does::execute, 0, 0}, action{does::execute, 0, 1}};
inline constexpr scope own_late_vote{.name = "plain: own late vote in the grace period",
                                     .tolerate_suspect = true,
                                     .slack = 1,
                                     .quarantine = 3,
                                     .horizon = 3,
                                     .rounds = {1, 0},
                                     .strays = 1,
                                     .steps = 1,
                                     .situation = late_vote};
inline constexpr scope forgotten_vote{.name = "fenced: own late vote under a larger token",
                                      .fenced = true,
                                      .timeless = true,
                                      .rounds = {1, 0},
                                      .strays = 1,
                                      .situation = late_vote};

/// A holds nodes 2 and 3, and B has node 1, which restarts then.
inline constexpr std::array amnesia{action{does::start, 0},      action{does::lose, 0, 0},
                                    action{does::execute, 0, 1}, action{does::execute, 0, 2},
                                    action{does::tick},          action{does::start, 1},
                                    action{does::execute, 1, 0}, action{does::restart, 0, 0}};
inline constexpr scope stale_grant{.name = "fenced: a stale grant of a node that restarted",
                                   .fenced = true,
                                   .clocks = true,
                                   .horizon = 3,
                                   .rounds = {1, 0},
                                   .strays = 3,
                                   .restarts = 1,
                                   .situation = amnesia};

/// A holds all nodes and has sent a round of extensions.
inline constexpr std::array renewing{action{does::start, 0},      action{does::execute, 0, 0},
                                     action{does::execute, 0, 1}, action{does::execute, 0, 2},
                                     action{does::tick},          action{does::begin_round, 0}};
inline constexpr scope slow_extension{.name = "plain: slow answers to an extension",
                                      .ttl = 3,
                                      .quarantine = 3,
                                      .horizon = 5,
                                      .rounds = {1, 0},
                                      .strays = 2,
                                      .situation = renewing};

/// The nodes' counters differ, so the first grants need a raise.
inline constexpr scope raising{.name = "fenced: counters differ, a stray message",
                               .fenced = true,
                               .timeless = true,
                               .rounds = {0, 0},
                               .strays = 1,
                               .counters = {5, 1, 1}};
/// A raises node 2, which is slow.
inline constexpr std::array slow_raise{action{does::start, 0}, action{does::lose, 0, 2},
                                       action{does::execute, 0, 0}, action{does::execute, 0, 1},
                                       action{does::delay, 0, 1}};
inline constexpr scope late_raise{.name = "fenced: a late raise",
                                  .fenced = true,
                                  .timeless = true,
                                  .attempts = {1, 2},
                                  .rounds = {0, 0},
                                  .strays = 2,
                                  .duplicates = 1,
                                  .counters = {5, 1, 1},
                                  .situation = slow_raise};

inline constexpr std::array all{&renewal,
                                &restart,
                                &retry,
                                &duplicate,
                                &suspect,
                                &counters,
                                &counters_duplicate,
                                &counters_extension,
                                &counters_retry,
                                &fenced_restart,
                                &fenced_suspect,
                                &own_late_vote,
                                &forgotten_vote,
                                &stale_grant,
                                &slow_extension,
                                &raising,
                                &late_raise};

} // namespace scopes
} // namespace redlock::model
