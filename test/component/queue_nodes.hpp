// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "redis/script.hpp"

#include <string>
#include <vector>

namespace redlock::test {

using words = std::vector<std::string>;

/// A server on which scripts of the queue run.
class script_node {
public:
    script_node() = default;
    script_node(script_node const&) = delete;
    script_node& operator=(script_node const&) = delete;
    virtual ~script_node() = default;

    /// Runs a command as a user whose rights may be missing. The reply is in readable form, as a probe's.
    virtual std::string run(words const& command) = 0;
    /// Runs a command as a user who may do everything.
    virtual std::string administer(words const& command) = 0;
    virtual void listen(std::string const& channel) = 0;
    virtual void hang_up(std::string const& channel) = 0;
    /// Returns what was said on the channel since the last call.
    virtual words heard(std::string const& channel) = 0;
    virtual void fill(bool full) = 0;
    virtual void forbid(std::string const& command) = 0;
    virtual void forbid_channels() = 0;
    virtual void forbid_key(std::string const& key) = 0;
    /// Deletes all data, ends all listeners, and gives the user all rights.
    virtual void reset() = 0;
};

/// The arguments of a vote for permits.
struct permit_words {
    unsigned count = 1;
    unsigned limit = 1;
    unsigned start = 0;
    std::string exact{};
    std::string before{};
};

/// Two real servers and two simulated ones. On the second of each the scripts have no fast paths. All four are told the same,
/// and must answer the same. Numbers of more than four digits count as equal: they are times, or depend on them. In an answer
/// they are "#", and a nonce is one letter.
class queue_nodes {
public:
    queue_nodes();
    queue_nodes(queue_nodes const&) = delete;
    queue_nodes& operator=(queue_nodes const&) = delete;

    /// Leaves those nodes alone on which the scripts have their fast paths, or have none.
    void keep(bool fast);

    static std::string nonce(char who) { return std::string(32, who); }
    /// \returns the text of a position. The waiter's channel is its letter.
    static std::string position(char who, char kind, unsigned count = 1, unsigned limit = 1,
                                std::string const& window = "0050000");
    /// A polling waiter's, as the client writes it.
    static std::string polling(char who, char kind);

    std::string run(redis::script const&, words const& keys, words const& arguments);
    std::string administer(words const& command);
    void listen(char channel);
    void hang_up(char channel);
    /// Returns what the waiter was told since the last call. Its own nonce is "ME".
    std::string heard(char who);
    void fill(bool full);
    void forbid(std::string const& command);
    void forbid_channels();
    void forbid_key(std::string const& key);
    /// Deletes all data, ends all listeners, and gives all rights.
    void reset();

    std::string enter(char who, char kind, unsigned count = 1, unsigned limit = 1,
                      std::string const& where = "");
    std::string poll(char who, char kind);
    std::string vote(char who, char kind, char previous_owner, permit_words const& = {});
    std::string vote(char who, char kind) { return vote(who, kind, '\0'); }
    std::string vote(char who, permit_words const& some) { return vote(who, 'p', '\0', some); }
    std::string give_back(char who, char kind, std::string const& word = "take",
                          std::string const& place = "", std::string const& some = "");
    std::string leave(char who, char kind, unsigned count = 1, unsigned limit = 1);
    std::string renew(char who, char kind, std::string const& some = "");
    /// A plain lock's vote.
    std::string set(char who);

    /// The reader's time ends; the key does not expire.
    void end_reader(char who);
    void end_permit(std::string const& number);
    /// The permit ends ten seconds earlier.
    void end_sooner(std::string const& number);
    /// Returns those of these permits that end when the field `next` says.
    std::string ends_first(words const& permits);

    /// Returns what stands under a key, without times.
    std::string state(std::string const& key);
    std::string state(); ///< the lock, its queue and its fence
    /// Returns how many milliseconds are left.
    long long left(std::string const& key);

    static words const lock_and_queue;
    static words const fenced;

private:
    struct lane {
        script_node* node;
        bool fast;
    };
    template <class Ask>
    std::string everywhere(std::string const& what, Ask ask);

    std::vector<lane> lanes_;
    std::string earlier_;
};

} // namespace redlock::test
