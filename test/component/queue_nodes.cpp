// SPDX-License-Identifier: BSL-1.0
#include "component/queue_nodes.hpp"

#include "component/script_times.hpp"
#include "kind/queue.hpp"
#include "kind/semaphore.hpp"
#include "kit/probe.hpp"
#include "kit/redis_server.hpp"
#include "redis/command.hpp"
#include "redis/error_class.hpp"
#include "redis/scripts.hpp"
#include "world/server.hpp"
#include <redlock/server_error.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::test {

namespace {

class real_node final : public script_node {
public:
    real_node()
    {
        user_.command({"ACL", "SETUSER", "admin", "on", "nopass", "~*", "&*", "+@all"});
        admin_.command({"AUTH", "admin", "any"});
    }

    std::string run(words const& command) override { return user_.command(command); }
    std::string administer(words const& command) override { return admin_.command(command); }
    void listen(std::string const& channel) override
    {
        if (spare_.empty()) {
            spare_.emplace_back(server_.port());
            spare_.back().command({"AUTH", "admin", "any"});
        }
        spare_.back().command({"SUBSCRIBE", channel});
        listeners_.insert_or_assign(channel, std::move(spare_.back()));
        spare_.pop_back();
    }
    void hang_up(std::string const& channel) override
    {
        (void)heard(channel);
        auto const its = listeners_.find(channel);
        its->second.command({"UNSUBSCRIBE", channel});
        spare_.push_back(std::move(its->second));
        listeners_.erase(its);
    }
    words heard(std::string const& channel) override
    {
        probe& its = listeners_.at(channel);
        words all;
        for (std::string said = its.command({"PING", ""}); said != "[pong, ]"; said = its.next())
            all.push_back(said);
        return all;
    }
    void fill(bool full) override { administer({"CONFIG", "SET", "maxmemory", full ? "1" : "0"}); }
    void forbid(std::string const& command) override
    {
        administer({"ACL", "SETUSER", "default", "-" + command});
    }
    void forbid_channels() override { administer({"ACL", "SETUSER", "default", "resetchannels"}); }
    void forbid_key(std::string const& key) override
    {
        administer({"ACL", "SETUSER", "default", "resetkeys"});
        for (std::string const name : {"lock", "queue", "fence", "marker"})
            if (name != key)
                administer({"ACL", "SETUSER", "default", "~" + name});
    }
    void reset() override
    {
        while (!listeners_.empty())
            hang_up(std::string(listeners_.begin()->first));
        fill(false);
        administer({"ACL", "SETUSER", "default", "+@all", "allchannels", "allkeys"});
        administer({"FLUSHALL"});
    }

private:
    redis_server server_;
    probe user_{server_.port()};
    probe admin_{server_.port()};
    std::map<std::string, probe> listeners_;
    std::vector<probe> spare_;
};

/// Takes one reply from the front of the bytes.
std::string readable(std::string_view& bytes)
{
    auto const end = bytes.find("\r\n");
    char const type = bytes.at(0);
    std::string const line(bytes.substr(1, end - 1));
    bytes.remove_prefix(end + 2);
    if (type == '-')
        return '-' + line;
    if (type == ':' || type == '+')
        return line;
    int const count = std::stoi(line);
    if (count < 0)
        return "(nil)";
    if (type == '$') {
        std::string text(bytes.substr(0, static_cast<std::size_t>(count)));
        bytes.remove_prefix(static_cast<std::size_t>(count) + 2);
        return text;
    }
    std::string list;
    for (int i = 0; i != count; ++i)
        list += (list.empty() ? "" : ", ") + readable(bytes);
    return '[' + list + ']';
}

class simulated_node final : public script_node {
public:
    simulated_node() { server_.connect(user); }

    std::string run(words const& command) override { return ask(user, command); }
    std::string administer(words const& command) override
    {
        auto const is = std::exchange(server_.is, {});
        std::string said = ask(user, command);
        server_.is = is;
        return said;
    }
    void listen(std::string const& channel) override
    {
        auto const id = listeners_.emplace(channel, ++last_).first->second;
        server_.connect(id);
        (void)ask(id, {"SUBSCRIBE", channel});
    }
    void hang_up(std::string const& channel) override
    {
        server_.disconnect(listeners_.at(channel));
        listeners_.erase(channel);
    }
    words heard(std::string const& channel) override
    {
        std::string const bytes = server_.take_output(listeners_.at(channel));
        words all;
        for (std::string_view rest = bytes; !rest.empty();)
            all.push_back(readable(rest));
        return all;
    }
    void fill(bool full) override { server_.is.out_of_memory = full; }
    void forbid(std::string const& command) override { server_.is.forbidden.insert(command); }
    void forbid_channels() override { server_.is.forbidden_channels = true; }
    void forbid_key(std::string const& key) override { server_.is.forbidden_key = key; }
    void reset() override
    {
        while (!listeners_.empty())
            hang_up(std::string(listeners_.begin()->first));
        server_.is = {};
        server_.keys().clear();
    }

private:
    static constexpr unsigned user = 1;

    std::string ask(unsigned id, words const& command)
    {
        using namespace std::chrono;
        std::string bytes;
        std::vector<std::string_view> const views(command.begin(), command.end());
        redis::append_command(bytes, views);
        server_.receive(id, bytes,
                        duration_cast<microseconds>(system_clock::now().time_since_epoch()).count());
        std::string const said = server_.take_output(id);
        std::string_view rest = said;
        return readable(rest);
    }

    world::server server_{[](world::server::connection_id) {}};
    std::map<std::string, unsigned> listeners_;
    unsigned last_ = user;
};

/// A nonce is shown as its letter.
std::string without_nonces(std::string_view text)
{
    std::string shown;
    for (std::size_t i = 0; i != text.size(); ++i) {
        shown += text[i];
        if (text[i] >= 'a' && text[i] <= 'z' &&
            text.substr(i, redis::nonce_length) == std::string(redis::nonce_length, text[i]))
            i += redis::nonce_length - 1;
    }
    return shown;
}

std::string without_times(std::string_view text)
{
    constexpr std::size_t longest_number = 4;
    std::string shown;
    std::size_t digits = 0;
    for (std::size_t i = 0; i <= text.size(); ++i) {
        bool const digit = i != text.size() && text[i] >= '0' && text[i] <= '9';
        if (!digit && digits > longest_number)
            shown.replace(shown.size() - digits, digits, "#");
        digits = digit ? digits + 1 : 0;
        if (i != text.size())
            shown += text[i];
    }
    return shown;
}

void replace_all(std::string& text, std::string_view what, std::string_view by)
{
    for (auto at = text.find(what); at != text.npos; at = text.find(what, at + by.size()))
        text.replace(at, what.size(), by);
}

/// The conditions of all fast paths become false.
std::string without_fast_paths(redis::script const& which)
{
    std::string text(which.text);
    for (std::string_view const condition : {"if ARGV[1] == 'x' then", "if not polls and ARGV[4] == '' then",
                                             "if ARGV[1] == 'x' and position == '' and not KEYS[3] then"})
        replace_all(text, condition, "if false then");
    bool const has_fast_path =
        which.index != redis::scripts::renew.index && which.index != redis::scripts::multi_vote.index;
    BOOST_REQUIRE((text != which.text) == has_fast_path);
    return text;
}

std::vector<std::unique_ptr<script_node>>& all_nodes()
{
    static auto nodes = [] {
        std::vector<std::unique_ptr<script_node>> made;
        for (int i = 0; i != 2; ++i) {
            made.push_back(std::make_unique<real_node>());
            made.push_back(std::make_unique<simulated_node>());
        }
        return made;
    }();
    return nodes;
}

} // namespace

words const queue_nodes::lock_and_queue{"lock", "queue"};
words const queue_nodes::fenced{"lock", "queue", "fence", "marker"};

queue_nodes::queue_nodes()
{
    for (auto const& node : all_nodes()) {
        lanes_.push_back({node.get(), lanes_.size() < 2});
        node->reset();
    }
}

void queue_nodes::keep(bool fast)
{
    lanes_.clear();
    for (std::size_t i = 0; i != 2; ++i)
        lanes_.push_back({all_nodes()[fast ? i : i + 2].get(), fast});
}

template <class Ask>
std::string queue_nodes::everywhere(std::string const& what, Ask ask)
{
    std::string first;
    for (lane const& each : lanes_) {
        std::string const said = without_nonces(without_times(ask(each)));
        if (&each == &lanes_.front())
            first = said;
        BOOST_TEST_REQUIRE(said == first, earlier_ << "then " << what << "\n the first server says " << first
                                                   << "\n number " << &each - lanes_.data()
                                                   << (each.fast ? "" : " without fast paths") << " says "
                                                   << said);
    }
    earlier_ += what + " -> " + first + '\n';
    return first;
}

std::string queue_nodes::run(redis::script const& which, words const& keys, words const& arguments)
{
    words command{"EVAL", "", std::to_string(keys.size())};
    command.insert(command.end(), keys.begin(), keys.end());
    command.insert(command.end(), arguments.begin(), arguments.end());
    std::string what;
    for (std::string const& each : arguments)
        what += each + ", ";
    return everywhere(what, [&](lane const& each) {
        command[1] = each.fast ? std::string(which.text) : without_fast_paths(which);
        std::string said = each.node->run(command);
        // Versions differ in the words about rights, and in what they add to errors.
        if (said.starts_with('-') && redis::classify(said.substr(1)) == server_error::noperm)
            return std::string("-NOPERM");
        return said.starts_with('-') ? said.substr(0, said.find(" script: ")) : said;
    });
}

std::string queue_nodes::administer(words const& command)
{
    return everywhere(command[0], [&](lane const& each) { return each.node->administer(command); });
}

void queue_nodes::listen(char who)
{
    for (lane const& each : lanes_)
        each.node->listen(std::string(1, who));
}

void queue_nodes::hang_up(char who)
{
    for (lane const& each : lanes_)
        each.node->hang_up(std::string(1, who));
}

std::string queue_nodes::heard(char who)
{
    std::string const start = std::string("[message, ") + who + ", ";
    return everywhere(std::string("heard by ") + who, [&](lane const& each) {
        std::string all;
        for (std::string const& said : each.node->heard(std::string(1, who)))
            all += (all.empty() ? "" : ", ") + said.substr(start.size(), said.size() - start.size() - 1);
        replace_all(all, nonce(who), "ME");
        return all;
    });
}

void queue_nodes::fill(bool full)
{
    for (lane const& each : lanes_)
        each.node->fill(full);
}

void queue_nodes::forbid(std::string const& command)
{
    earlier_ += command + " is forbidden\n";
    for (lane const& each : lanes_)
        each.node->forbid(command);
}

void queue_nodes::forbid_channels()
{
    earlier_ += "channels are forbidden\n";
    for (lane const& each : lanes_)
        each.node->forbid_channels();
}

void queue_nodes::forbid_key(std::string const& key)
{
    for (lane const& each : lanes_)
        each.node->forbid_key(key);
}

void queue_nodes::reset()
{
    earlier_.clear();
    for (lane const& each : lanes_)
        each.node->reset();
}

std::string queue_nodes::position(char who, char kind, unsigned count, unsigned limit,
                                  std::string const& window)
{
    auto const narrow = [](unsigned number) { return static_cast<std::uint16_t>(number); };
    std::string text = redlock::kind::position(
        nonce(who), static_cast<redlock::kind::waiter_kind>(kind), std::chrono::milliseconds(1),
        redlock::kind::terms_of({.limit = narrow(limit), .count = narrow(count)}), std::string(1, who));
    return text.replace(redis::nonce_length + 1, window.size(), window);
}

std::string queue_nodes::polling(char who, char kind)
{
    return position(who, kind).substr(0, 48);
}

std::string queue_nodes::enter(char who, char kind, unsigned count, unsigned limit, std::string const& where)
{
    return run(redis::scripts::enter, lock_and_queue,
               {position(who, kind, count, limit), "60000", "4096", where});
}

std::string queue_nodes::poll(char who, char kind)
{
    return run(redis::scripts::enter, lock_and_queue, {polling(who, kind), "60000", "4096", ""});
}

std::string queue_nodes::vote(char who, char kind, char previous_owner, permit_words const& some)
{
    return run(redis::scripts::vote, lock_and_queue,
               {std::string(1, kind), nonce(who), lock_time,
                previous_owner == '\0' ? "" : nonce(previous_owner), std::to_string(some.count),
                std::to_string(some.limit), std::to_string(some.start), some.exact, some.before});
}

std::string queue_nodes::give_back(char who, char kind, std::string const& word, std::string const& place,
                                   std::string const& some)
{
    return run(redis::scripts::give_back, lock_and_queue,
               {std::string(1, kind), nonce(who), place, word, "17", some, ""});
}

std::string queue_nodes::leave(char who, char kind, unsigned count, unsigned limit)
{
    return give_back(who, kind, "take", position(who, kind, count, limit));
}

std::string queue_nodes::renew(char who, char kind, std::string const& some)
{
    return run(redis::scripts::renew, lock_and_queue, {std::string(1, kind), nonce(who), lock_time, some});
}

std::string queue_nodes::set(char who)
{
    return administer({"SET", "lock", nonce(who), "NX", "PX", lock_time});
}

void queue_nodes::end_reader(char who)
{
    administer({"ZADD", "lock", "XX", "1", nonce(who)});
}

void queue_nodes::end_permit(std::string const& number)
{
    for (lane const& each : lanes_) {
        std::string const value = each.node->administer({"HGET", "lock", number});
        each.node->administer(
            {"HSET", "lock", number, value.substr(0, redis::nonce_length) + "1", "next", "1"});
    }
}

void queue_nodes::end_sooner(std::string const& number)
{
    for (lane const& each : lanes_) {
        std::string const value = each.node->administer({"HGET", "lock", number});
        long long const end = std::stoll(value.substr(redis::nonce_length)) - 10'000;
        long long const next = std::stoll(each.node->administer({"HGET", "lock", "next"}));
        each.node->administer({"HSET", "lock", number,
                               value.substr(0, redis::nonce_length) + std::to_string(end), "next",
                               std::to_string(std::min(end, next))});
    }
}

std::string queue_nodes::ends_first(words const& permits)
{
    return everywhere("the permits that end first", [&](lane const& each) {
        std::string const next = each.node->administer({"HGET", "lock", "next"});
        std::string found;
        for (std::string const& number : permits)
            if (each.node->administer({"HGET", "lock", number}).substr(redis::nonce_length) == next)
                found.append(found.empty() ? "" : " ").append(number);
        return found;
    });
}

std::string queue_nodes::state(std::string const& key)
{
    static std::string const look =
        "local type = redis.call('type', KEYS[1]).ok local all "
        "if type == 'none' then return {type, ''} "
        "elseif type == 'zset' then all = redis.call('zrange', KEYS[1], 0, -1) "
        "elseif type == 'hash' then all = redis.call('hgetall', KEYS[1]) "
        "else all = redis.call('get', KEYS[1]) end "
        "return {type, redis.call('pttl', KEYS[1]) == -1 and ' for ever' or '', all}";
    return everywhere("what is " + key, [&](lane const& each) {
        std::string const said = each.node->administer({"EVAL", look, "1", key});
        auto const type = said.find(", ");
        auto const expires = said.find(", ", type + 2);
        if (expires == said.npos)
            return said.substr(1, type - 1);
        return said.substr(1, type - 1) + ' ' + said.substr(expires + 2, said.size() - expires - 3) +
               said.substr(type + 2, expires - type - 2);
    });
}

std::string queue_nodes::state()
{
    return state("lock") + "; " + state("queue") + "; " + state("fence");
}

long long queue_nodes::left(std::string const& key)
{
    long long least = std::stoll(lanes_[0].node->administer({"PTTL", key}));
    long long most = least;
    for (lane const& each : lanes_) {
        long long const its = std::stoll(each.node->administer({"PTTL", key}));
        least = std::min(least, its);
        most = std::max(most, its);
    }
    BOOST_TEST(most - least < 10'000);
    return least;
}

} // namespace redlock::test
