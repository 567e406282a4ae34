// SPDX-License-Identifier: BSL-1.0
#include "component/simulated_program.hpp"
#include "core/attempt.hpp"
#include "engine/lock_access.hpp"
#include "kind/basics.hpp"
#include "kind/kind.hpp"
#include "kind/queue.hpp"
#include "redis/scripts.hpp"
#include "redis/writer.hpp"
#include <redlock/any_lock.hpp>
#include <redlock/client.hpp>
#include <redlock/lock_options.hpp>

#include <boost/system/error_code.hpp>
#include <boost/test/unit_test.hpp>
#include <openssl/evp.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// A further kind of lock, which no file of the engine knows: an exclusive lock with a second key for its holder's
// label. What it takes is in docs/architecture.md, "Add a kind of lock".

using namespace std::chrono_literals;

namespace redlock::test {

namespace {

constexpr std::string_view label_suffix = ":label";

std::string hex_sha1(std::string_view text)
{
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned size = 0;
    BOOST_REQUIRE(EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(), nullptr) == 1);
    std::string hash;
    for (unsigned i = 0; i != size; ++i) {
        hash += "0123456789abcdef"[digest[i] >> 4U];
        hash += "0123456789abcdef"[digest[i] & 15U];
    }
    return hash;
}

/// A script that is not embedded.
class own_script {
public:
    own_script(std::string_view text, std::size_t index)
        : sha1_(hex_sha1(text)), script_{text, sha1_, redis::most_scripts - 1 - index}
    {}
    own_script(own_script const&) = delete;
    own_script& operator=(own_script const&) = delete;
    ~own_script() = default;

    [[nodiscard]] redis::script const& get() const { return script_; }

private:
    std::string sha1_;
    redis::script script_;
};

/// KEYS: the lock, the label. ARGV: nonce, milliseconds, previous owner, label.
redis::script const& vote()
{
    static own_script const its(R"(
local owner = redis.call('get', KEYS[1])
if owner and owner ~= ARGV[3] then
    return {ok = 'HELD ' .. redis.call('pttl', KEYS[1]) .. ' 0 ' .. owner:sub(1, 8)}
end
redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2])
redis.call('set', KEYS[2], ARGV[1] .. ARGV[4], 'px', ARGV[2])
return 1)",
                                0);
    return its.get();
}

/// KEYS: the lock, the label. ARGV: nonce, milliseconds.
redis::script const& extend()
{
    static own_script const its(R"(
if redis.call('get', KEYS[1]) ~= ARGV[1] then
    return 0
end
redis.call('pexpire', KEYS[2], ARGV[2])
return redis.call('pexpire', KEYS[1], ARGV[2]))",
                                1);
    return its.get();
}

/// KEYS: the lock, the label. ARGV: nonce.
redis::script const& release()
{
    static own_script const its(R"(
if redis.call('get', KEYS[1]) ~= ARGV[1] then
    return 0
end
redis.call('del', KEYS[2])
return redis.call('del', KEYS[1]))",
                                2);
    return its.get();
}

class labelled_commands final : public kind::commands {
public:
    explicit labelled_commands(std::chrono::milliseconds key) : time_(kind::milliseconds(key)) {}

    void append(std::string& out, kind::request what, kind::command_arguments const& args,
                redis::script_form form) const override
    {
        switch (what) {
        case kind::request::vote:
        case kind::request::claim:
            append_head(out, vote(), 4, args, form);
            out += time_;
            redis::append_argument(out, args.previous_owner);
            return redis::append_argument(out, args.terms);
        case kind::request::extend:
            append_head(out, extend(), 2, args, form);
            out += time_;
            return;
        default: return append_without_times(out, what, args, form);
        }
    }

    static std::unique_ptr<kind::commands const> make(std::string_view, kind::lifetimes const& times)
    {
        return std::make_unique<labelled_commands const>(times.key);
    }

    /// The script that serves the queue also deletes the lock's second key, if it begins with the nonce.
    static void append_without_times(std::string& out, kind::request what,
                                     kind::command_arguments const& args, redis::script_form form)
    {
        if (what == kind::request::release)
            return append_head(out, release(), 1, args, form);
        if (what != kind::request::give_back)
            return kind::append_common(out, what, args, form);
        kind::append_call_head(out, redis::scripts::give_back, form, 3, 7);
        for (std::string_view const suffix : {std::string_view(), kind::queue_suffix, label_suffix})
            kind::append_key(out, args.key, suffix);
        kind::append_release_arguments(out, args, what, kind::waiter_kind::exclusive);
        redis::append_argument(out, args.nonce);
    }

private:
    static void append_head(std::string& out, redis::script const& script, std::size_t arguments,
                            kind::command_arguments const& args, redis::script_form form)
    {
        kind::append_call_head(out, script, form, 2, arguments);
        kind::append_key(out, args.key, {});
        kind::append_key(out, args.key, label_suffix);
        redis::append_argument(out, args.nonce);
    }

    std::string time_;
};

kind::lock_kind const& labelled()
{
    static constexpr std::array questions{kind::request::owner, kind::request::time_left};
    static kind::lock_kind const its{
        .agreement = core::agreement::majority,
        .marked = false,
        .scripts = kind::scripts_of({{kind::request::vote, &vote()},
                                     {kind::request::claim, &vote()},
                                     {kind::request::extend, &extend()},
                                     {kind::request::release, &release()},
                                     {kind::request::give_back, &redis::scripts::give_back},
                                     {kind::request::enter, &redis::scripts::enter},
                                     {kind::request::whose, &redis::scripts::whose}}),
        .inspection = questions,
        .make_commands = labelled_commands::make,
        .append = labelled_commands::append_without_times,
        .read = kind::read_common,
        .read_observation = kind::read_common_observation,
    };
    return its;
}

class labelled_mutex : public any_lock {
public:
    labelled_mutex(client& owner, std::string_view name, std::string label, lock_options options = {})
        : any_lock(detail::lock_access::make(owner, name, options, labelled(), std::move(label)))
    {}
};

struct labelled_fixture : simulated_program {
    labelled_fixture() { locks.emplace(program.make_client(settings)); }

    /// Returns where the lease comes.
    static std::shared_ptr<lease> acquire(client& owner, std::string label)
    {
        auto got = std::make_shared<lease>();
        labelled_mutex(owner, "lock", std::move(label), {.ttl = 2s, .slack = 200ms})
            .acquire([got](boost::system::error_code, lease granted) { *got = std::move(granted); });
        return got;
    }
    /// Returns the label of the holder on this node; empty: there is none.
    std::string label(std::size_t node)
    {
        auto const& all = net.at(node).redis.keys().all();
        auto const found = all.find("lock:label");
        return found == all.end() ? std::string() : found->second.text.substr(redis::nonce_length);
    }
    void run_with(world::process& other, core::duration length)
    {
        core::duration const end = time.now() + length;
        do {
            program.run();
            other.run();
        } while (time.step(end));
    }
    /// Returns the positions in the queue of the lock, on all nodes.
    std::vector<std::string> positions()
    {
        std::vector<std::string> found;
        for (std::size_t n = 0; n != net.size(); ++n) {
            auto const& all = net.at(n).redis.keys().all();
            if (auto const queue = all.find("lock:redlock-queue"); queue != all.end())
                for (auto const& one : queue->second.members.within({-1e18, 1e18}))
                    found.push_back(one.name);
        }
        return found;
    }
    [[nodiscard]] bool all_say(std::string_view what)
    {
        return label(0) == what && label(1) == what && label(2) == what;
    }

    std::optional<client> locks{};
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(labelled_kind, labelled_fixture)

BOOST_AUTO_TEST_CASE(label_is_kept_as_long_as_the_lock_is_held)
{
    auto const held = acquire(*locks, "red");
    pass(100ms);
    BOOST_TEST(held->valid());
    BOOST_TEST(all_say("red"));
    pass(10s); // it is renewed with the lock
    BOOST_TEST(held->valid());
    BOOST_TEST(all_say("red"));
    *held = {};
    pass(100ms);
    BOOST_TEST(all_say(""));
}

/// A lease passes only to an operation with the same terms; the other one votes.
// rule W4
BOOST_AUTO_TEST_CASE(lease_passes_within_its_client_only_with_its_label)
{
    auto const first = acquire(*locks, "red");
    pass(100ms);
    auto const second = acquire(*locks, "red");
    auto const third = acquire(*locks, "blue");
    std::string const nonce(first->nonce());
    *first = {};
    pass(100ms);
    BOOST_TEST(second->nonce() == nonce);
    BOOST_TEST(all_say("red"));
    *second = {};
    pass(1s);
    BOOST_TEST(third->valid());
    BOOST_TEST(third->nonce() != nonce);
    BOOST_TEST(all_say("blue"));
}

/// Through the queue: the label of the next owner comes with its claim.
// rule Q4
BOOST_AUTO_TEST_CASE(lock_passes_to_another_client_with_its_own_label)
{
    world::process other(net, 1, 2);
    auto elsewhere = other.make_client(settings);
    auto const first = acquire(*locks, "red");
    run_with(other, 100ms);
    auto const second = acquire(elsewhere, "blue");
    run_with(other, 100ms);
    BOOST_TEST(!second->valid());
    BOOST_TEST(all_say("red"));
    *first = {};
    run_with(other, 100ms);
    BOOST_TEST(second->valid());
    BOOST_TEST(all_say("blue"));
    *second = {};
    run_with(other, 100ms);
    BOOST_TEST(all_say(""));
}

/// A position says nothing of labels: the client's next waiter takes it over.
// rule W1
BOOST_AUTO_TEST_CASE(next_waiter_keeps_position_with_another_label)
{
    auto const holder = acquire(*locks, "red");
    pass(100ms);
    world::process other(net, 1, 2);
    auto elsewhere = other.make_client(settings);
    labelled_mutex(elsewhere, "lock", "green", {.ttl = 2s, .slack = 200ms})
        .acquire_for(500ms, [](boost::system::error_code, lease) {});
    auto const next = acquire(elsewhere, "blue");
    run_with(other, 400ms);
    auto const entered = positions();
    BOOST_TEST(entered.size() == 1U);
    run_with(other, 400ms);
    BOOST_TEST(positions() == entered);
    *holder = {};
    run_with(other, 100ms);
    BOOST_TEST(next->valid());
    BOOST_TEST(all_say("blue"));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace redlock::test
