// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "component/pair_of_servers.hpp"
#include "kind/kind.hpp"
#include "kit/dice.hpp"
#include "redis/script.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace redlock::test {

/// Sends commands of clients of all kinds to a server, and disturbs it. There are few owners, channels and keys, so
/// that they meet.
/// meet.
class random_talk {
public:
    explicit random_talk(std::uint64_t seed);

    void step();

private:
    using words = pair_of_servers::words;

    void ask_about_lock(unsigned id);
    void ask_fenced(unsigned id);
    void ask_queue(unsigned id);
    void ask_shared(unsigned id);
    void ask_several(unsigned id);
    void ask_leader(unsigned id);
    void ask_permits(unsigned id);
    void ask_for_what_is_given(unsigned id);
    void ask_about_channels(unsigned id);
    void ask_about_keys(unsigned id);
    void make_trouble();
    void write();

    std::string draw(words const& from) { return from[dice_.below(from.size())]; }
    std::string owner();
    /// Behind its nonce.
    std::string position(std::string const& who);
    std::string permit_position(std::string const& who);
    std::string number();
    std::string call(redis::script const& which, words const& keys, words const& arguments);
    void call_marked(unsigned id, redis::script const& which, words const& keys, words arguments);
    std::string mark();
    /// Each has its own, for their clocks differ a little.
    void compare_marked(unsigned id, std::string const& command);

    dice dice_;
    pair_of_servers both_;
    bool troubled_ = false;
    int asked_ = 0;
    std::unique_ptr<kind::commands const> plain_;
    std::unique_ptr<kind::commands const> fenced_;
    std::unique_ptr<kind::commands const> election_;
    words const channels_{"c1", "c2", "a longer one"};
};

} // namespace redlock::test
