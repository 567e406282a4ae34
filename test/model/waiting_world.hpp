#pragma once

#include "model/waiter.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace redlock::model {

/// What the search through all orders of events of those who wait goes through.
struct waiting_scope {
    char const* name;
    unsigned nodes = 3;
    std::array<std::uint8_t, 2> wishes{2, 1}; ///< how often each client wants the lock
    bool stranger = false;                    ///< a holder that has died: its keys expire at any moment
    bool at_once = true;                      ///< who comes may ask all nodes at once
    std::uint8_t silences = 0;                ///< how often a node that was asked first is silent
    std::uint8_t drops = 0;                   ///< connections that break
    std::uint8_t losses = 0;                  ///< words that are lost, and nothing tells so
    std::uint8_t lapses = 0;                  ///< of servers, which forget whom to tell, and say so
    std::uint8_t timers = 1;                  ///< long ones that fire before anything else happens
    std::uint64_t most_states = 1'000'000;
};

/// One state: two clients, some nodes, what is under way between them. Each client's time counts from now on, and passes
/// only when its timer fires: so messages take any time, and come in any order but that of one connection.
struct waiting_world {
    enum class flaw : std::uint8_t {
        none,
        two_holders,
        no_timer,
        left_lying,
        asked_without_pause,
    };
    enum class doing : std::uint8_t { idle, voting, waiting, pausing, holding };
    static constexpr std::size_t line_length = 10;
    struct line {
        std::array<std::uint8_t, line_length> requests{};
        std::array<std::uint8_t, line_length> replies{};
        std::uint8_t up = 1;
        std::uint8_t owes = 0; ///< a release, for when it is up again
        std::uint8_t tracks = 0;
        std::uint8_t unused = 0;
    };
    struct client {
        waiter::packed wait;
        std::int32_t armed = -1; ///< when its timer fires; -1: none
        std::array<std::uint8_t, 3> answers{};
        doing now = doing::idle;
        std::uint8_t attempt = 0;
        std::uint8_t wishes = 0;
        std::uint8_t vain = 0; ///< attempts without a pause, since something happened
        std::uint8_t unused = 0;
    };
    struct node {
        std::uint8_t owner = 0; ///< a client, plus one; stranger: 3
        std::uint8_t tells = 0; ///< a bit for each client
    };
    std::array<client, 2> clients{};
    std::array<std::array<line, 3>, 2> lines{};
    std::array<node, 3> nodes{};
    std::uint8_t silences = 0;
    std::uint8_t drops = 0;
    std::uint8_t losses = 0;
    std::uint8_t lapses = 0;
    std::uint8_t timers = 0;
    std::uint8_t unused = 0;
    flaw broken = flaw::none;
    std::array<std::uint8_t, 3> filler{};
};

struct waiting_result {
    std::uint64_t states = 0;
    unsigned depth = 0;
    bool complete = false;
    waiting_world::flaw flaw = waiting_world::flaw::none;
    std::string trace; ///< the shortest way to it
    std::chrono::milliseconds took{};
};

waiting_result search(waiting_scope const&);
char const* name(waiting_world::flaw);

namespace waiting_scopes {

inline constexpr waiting_scope one_node{
    .name = "waiting: one node", .nodes = 1, .wishes = {3, 3}, .lapses = 1};
inline constexpr waiting_scope two_nodes{.name = "waiting: two nodes", .nodes = 2};
inline constexpr waiting_scope in_turn{
    .name = "waiting: three nodes, all in turn", .wishes = {2, 2}, .at_once = false, .timers = 0};
inline constexpr waiting_scope three_nodes{.name = "waiting: three nodes", .wishes = {1, 1}};
inline constexpr waiting_scope died{
    .name = "waiting: a holder died", .nodes = 2, .wishes = {1, 1}, .stranger = true};
inline constexpr waiting_scope drops{
    .name = "waiting: connections break", .nodes = 2, .wishes = {1, 1}, .drops = 2};
inline constexpr waiting_scope silent{
    .name = "waiting: the first is silent", .wishes = {1, 1}, .at_once = false, .silences = 1, .timers = 0};
inline constexpr waiting_scope lost{
    .name = "waiting: a word is lost", .nodes = 2, .wishes = {1, 1}, .losses = 2, .timers = 2};
inline constexpr std::array all{&one_node, &two_nodes, &in_turn, &three_nodes, &died, &drops, &silent, &lost};

} // namespace waiting_scopes
} // namespace redlock::model
