// SPDX-License-Identifier: BSL-1.0
// Four failures, run for the guide's page "Failure stories": a holder that crashes, a server that crashes, a majority
// that crashes, a holder that is paused between asking `valid()` and writing. Every participant is a process, every
// server a redis-server.
// Run: guide_stories. Each line is "milliseconds, who, what, text", with tabs between; scripts/stories draws them.
#include "fenced_register.hpp"
#include "guide_participant.hpp"
#include "local_redis.hpp"
#include <redlock/redlock.hpp>

#include <boost/asio.hpp>

#include <functional>
#include <map>
#include <sstream>

using namespace story_telling;

struct line {
    long long at = 0;
    std::string who, what, text;
};

/// One story: three servers, participants, a resource that checks tokens, and the messages.
class story {
public:
    story(std::string id, std::string title)
    {
        story_began = steady::now();
        std::cout << "story\t" << id << '\t' << title << std::endl;
    }
    ~story()
    {
        for (auto const& [name, pid] : processes_) {
            ::kill(pid, SIGKILL);
            ::waitpid(pid, nullptr, 0);
        }
    }
    story(story const&) = delete;
    story& operator=(story const&) = delete;

    void run(std::function<asio::awaitable<void>(story&)> plot)
    {
        auto end = asio::co_spawn(context_, plot(*this), asio::use_future);
        while (end.wait_for(0s) != std::future_status::ready)
            context_.run_one();
        end.get();
        std::cout << now_in_ms() << "\t-\tend\t-" << std::endl;
    }

    void start(role const& does)
    {
        int ends[2];
        if (::pipe(ends) != 0)
            throw std::runtime_error("no pipe");
        pid_t const parent = ::getpid();
        pid_t const pid = ::fork();
        if (pid == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (::getppid() != parent)
                ::_exit(126);
            auto self = std::make_shared<participant>(does, ends[1], servers_.urls);
            self->run(self, servers_.urls);
            ::_exit(0);
        }
        ::close(ends[1]);
        processes_[does.name] = pid;
        asio::co_spawn(context_, listen(does.name, asio::posix::stream_descriptor(context_, ends[0])),
                       asio::detached);
    }

    void kill_server(std::size_t number)
    {
        servers_.own[number - 1]->kill();
        say({now_in_ms(), "server " + std::to_string(number), "down", "SIGKILL"});
    }
    void restart_server(std::size_t number)
    {
        servers_.own[number - 1]->start();
        say({now_in_ms(), "server " + std::to_string(number), "up", "is back, without its data"});
    }
    void signal(std::string const& who, int number, std::string const& what, std::string const& text)
    {
        ::kill(processes_.at(who), number);
        say({now_in_ms(), who, what, text});
    }

    /// When it was told first, if it was.
    [[nodiscard]] std::optional<line> told(std::string const& who, std::string const& what) const
    {
        for (line const& each : told_)
            if (each.who == who && each.what == what)
                return each;
        return {};
    }
    /// Waits for the message without a limit: the caller has one.
    asio::awaitable<line> until(std::string who, std::string what)
    {
        while (!told(who, what))
            co_await sleep(5ms);
        co_return *told(who, what);
    }
    /// The end of the validity that this participant was told last.
    [[nodiscard]] long long valid_until(std::string const& who) const { return valid_until_.at(who); }

private:
    asio::awaitable<void> listen(std::string who, asio::posix::stream_descriptor pipe)
    {
        std::string buffer;
        for (;;) {
            boost::system::error_code ec;
            auto const size = co_await asio::async_read_until(pipe, asio::dynamic_buffer(buffer), '\n',
                                                              asio::redirect_error(asio::use_awaitable, ec));
            if (ec)
                co_return;
            std::istringstream words(buffer.substr(0, size - 1));
            buffer.erase(0, size);
            line said;
            said.who = who;
            std::string at;
            std::getline(words, at, '\t');
            std::getline(words, said.what, '\t');
            std::getline(words, said.text);
            said.at = std::stoll(at);
            hear(said);
        }
    }

    void hear(line said)
    {
        if (said.what == "until")
            valid_until_[said.who] = std::stoll(said.text);
        if (said.what == "quarantined" || said.what == "votes") {
            said.who = std::exchange(said.text, said.what == "votes" ? "votes again" : "may not vote yet");
            if (told(said.who, said.what))
                return; // by another participant
        }
        if (said.what == "write") {
            bool const taken = resource_.write(std::stoull(said.text), 1);
            said.what = taken ? "written" : "refused";
            said.text = "writes with token " + said.text +
                        (taken ? ": taken" : ": refused, the resource has seen a larger one");
        }
        say(said);
    }

    void say(line const& said)
    {
        told_.push_back(said);
        std::cout << said.at << '\t' << said.who << '\t' << said.what << '\t' << said.text << std::endl;
    }

    asio::io_context context_;
    example::nodes servers_{3};
    fenced_register<int> resource_;
    std::map<std::string, pid_t> processes_;
    std::map<std::string, long long> valid_until_;
    std::vector<line> told_;
};

asio::awaitable<void> holder_crashes(story& tale)
{
    tale.start({.name = "alice", .holds_for = 1min});
    co_await tale.until("alice", "holds");
    tale.start({.name = "bob"});
    co_await tale.until("bob", "waits");
    co_await sleep(600ms);
    tale.signal("alice", SIGKILL, "dead", "SIGKILL");
    co_await tale.until("bob", "over");
}

asio::awaitable<void> server_crashes(story& tale)
{
    tale.start({.name = "alice", .holds_for = 3200ms});
    co_await tale.until("alice", "holds");
    co_await sleep(200ms);
    tale.kill_server(3);
    co_await sleep(500ms);
    tale.restart_server(3);
    co_await tale.until("server 3", "votes");
    co_await tale.until("alice", "over");
}

asio::awaitable<void> majority_crashes(story& tale)
{
    tale.start({.name = "alice", .holds_for = 1min});
    co_await tale.until("alice", "holds");
    tale.start({.name = "bob"});
    co_await tale.until("bob", "waits");
    co_await sleep(200ms);
    tale.kill_server(2);
    tale.kill_server(3);
    co_await tale.until("alice", "over");
    tale.restart_server(2);
    tale.restart_server(3);
    co_await tale.until("bob", "over");
}

asio::awaitable<void> holder_is_paused(story& tale)
{
    tale.start({.name = "alice", .is_paused = true});
    co_await tale.until("alice", "holds");
    tale.start({.name = "bob"});
    co_await tale.until("bob", "over");
    co_await sleep(200ms);
    tale.signal("alice", SIGCONT, "resumed", "SIGCONT");
    co_await tale.until("alice", "over");
}

int main()
{
    example::promises promises;
    auto const succeeds = [&](story& tale) {
        promises.keep(tale.told("bob", "holds")->at >= tale.valid_until("alice"),
                      "bob's lease began when alice's validity was over");
    };
    {
        story tale("holder-crashes", "The holder's process is killed");
        tale.run(holder_crashes);
        succeeds(tale);
    }
    {
        story tale("server-crashes", "One server of three is killed, and comes back empty");
        tale.run(server_crashes);
        promises.keep(tale.told("alice", "over")->text == "releases the lock",
                      "alice held the lock throughout");
    }
    {
        story tale("majority-crashes", "Two servers of three are killed, and come back empty");
        tale.run(majority_crashes);
        succeeds(tale);
    }
    {
        story tale("holder-is-paused", "The holder's process is stopped between valid() and its write");
        tale.run(holder_is_paused);
        succeeds(tale);
        promises.keep(tale.told("alice", "refused").has_value(), "the late write was refused");
    }
    return promises.exit_code();
}
