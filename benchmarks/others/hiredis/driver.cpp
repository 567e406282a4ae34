// SPDX-License-Identifier: BSL-1.0
// Redlock by hand over hiredis: all nodes at once, one connection each, decided by the majority. It polls, and has
// neither timeouts nor reconnection nor renewal: the least that can be written.
#include "event_loop.hpp"

#include <sys/random.h>

#include <array>
#include <cstdio>
#include <deque>
#include <exception>
#include <random>
#include <string>

namespace {

using namespace comparison;

constexpr char const* compare_and_delete =
    "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end";

std::string fresh_nonce()
{
    std::array<unsigned char, 16> bytes{};
    if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
        throw std::runtime_error{"getrandom"};
    std::string out;
    for (unsigned const each : bytes) {
        out += "0123456789abcdef"[each >> 4U];
        out += "0123456789abcdef"[each & 15U];
    }
    return out;
}

class contender;

/// One command on its way to all nodes; ends with the last reply.
struct round {
    contender* owner;
    std::size_t outstanding;
    std::size_t yes = 0;
    std::size_t no = 0;
    bool decided = false;
};

struct workshop {
    task const& what;
    event_loop loop;
    std::vector<redisAsyncContext*> nodes;
    std::string script;
    record* seen = nullptr;
    std::deque<contender> all;
    std::size_t turns_had = 0; ///< in this round of a convoy
    std::minstd_rand dice{static_cast<unsigned>(now_ns())};

    explicit workshop(task const& wanted) : what{wanted} {}
    [[nodiscard]] std::size_t majority() const { return nodes.size() / 2 + 1; }
    void start();
    void done(contender& one);
};

class contender {
public:
    contender(workshop& shop, unsigned number) : shop_{shop}, key_{shop.what.key(number)}
    {
        at_.worker = number;
    }

    void start()
    {
        at_.asked = now_ns();
        ask();
    }

private:
    enum class step : std::uint8_t { asking, withdrawing, releasing };

    void ask()
    {
        nonce_ = fresh_nonce();
        step_ = step::asking;
        send({"SET", key_.c_str(), nonce_.c_str(), "NX", "PX", "10000"});
    }

    void remove(step why)
    {
        step_ = why;
        send({"EVALSHA", shop_.script.c_str(), "1", key_.c_str(), nonce_.c_str()});
    }

    template <std::size_t Count>
    void send(char const* const (&words)[Count])
    {
        auto* const all = new round{.owner = this, .outstanding = shop_.nodes.size()};
        for (auto* const node : shop_.nodes)
            redisAsyncCommandArgv(node, &on_reply, all, static_cast<int>(Count),
                                  const_cast<char const**>(words), nullptr);
    }

    static void on_reply(redisAsyncContext*, void* raw, void* of)
    {
        auto* const all = static_cast<round*>(of);
        auto const* const reply = static_cast<redisReply const*>(raw);
        bool const yes = reply != nullptr && (reply->type == REDIS_REPLY_STATUS ||
                                              (reply->type == REDIS_REPLY_INTEGER && reply->integer == 1));
        ++(yes ? all->yes : all->no);
        contender& self = *all->owner;
        std::size_t const majority = self.shop_.majority();
        bool const won = all->yes == majority;
        bool const lost = all->no == self.shop_.nodes.size() - majority + 1;
        bool const first = !all->decided && (won || lost);
        all->decided = all->decided || first;
        if (--all->outstanding == 0)
            delete all;
        if (first)
            self.decided(won);
    }

    void decided(bool won)
    {
        if (step_ == step::asking)
            return won ? granted() : remove(step::withdrawing);
        if (step_ == step::withdrawing) {
            std::uniform_int_distribution<std::int64_t> time{shop_.what.pause_low_us,
                                                             shop_.what.pause_high_us};
            return shop_.loop.after_us(time(shop_.dice), [this] { ask(); });
        }
        at_.released = now_ns();
        if (won)
            shop_.seen->cycle(at_);
        else
            shop_.seen->failure("the lock was no longer there");
        shop_.done(*this);
    }

    void granted()
    {
        at_.granted = now_ns();
        if (shop_.what.hold_us > 0)
            shop_.loop.after_us(shop_.what.hold_us, [this] { release(); });
        else
            release();
    }

    void release()
    {
        at_.releasing = now_ns();
        remove(step::releasing);
    }

    workshop& shop_;
    std::string key_;
    std::string nonce_;
    step step_ = step::asking;
    sample at_{};
};

void workshop::start()
{
    turns_had = 0;
    for (contender& each : all)
        each.start();
}

void workshop::done(contender& one)
{
    if (!what.convoy)
        one.start();
    else if (++turns_had == all.size())
        start();
}

void load_script(workshop& shop)
{
    std::size_t loaded = 0;
    for (auto const& each : shop.what.nodes)
        shop.nodes.push_back(shop.loop.connect(each));
    shop.script.clear();
    struct answer {
        std::string& script;
        std::size_t& loaded;
    } into{shop.script, loaded};
    for (auto* const node : shop.nodes)
        redisAsyncCommand(
            node,
            [](redisAsyncContext*, void* raw, void* of) {
                auto const* const reply = static_cast<redisReply const*>(raw);
                if (reply == nullptr || reply->type != REDIS_REPLY_STRING)
                    throw std::runtime_error{"SCRIPT LOAD"};
                static_cast<answer*>(of)->script = reply->str;
                ++static_cast<answer*>(of)->loaded;
            },
            &into, "SCRIPT LOAD %s", compare_and_delete);
    while (loaded != shop.nodes.size())
        shop.loop.turn();
}

} // namespace

int main(int argc, char** argv)
{
    try {
        task const what = parse(argc, argv);
        workshop shop{what};
        load_script(shop);
        record seen{what, wait_for_start()};
        shop.seen = &seen;
        for (unsigned number = 0; number != what.workers; ++number)
            shop.all.emplace_back(shop, number);
        shop.start();
        while (!seen.over())
            shop.loop.turn();
        seen.finish();
    } catch (std::exception const& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
