// SPDX-License-Identifier: BSL-1.0
#include "raw_client.hpp"

#include "meter.hpp"
#include "raw_traffic.hpp"
#include "redis/scripts.hpp"
#include "sockets.hpp"

#include <sys/epoll.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::bench {

namespace {

constexpr std::string_view release_script =
    "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end";
constexpr std::size_t sha_length = 40;
constexpr std::string_view fence_suffix = ":redlock-fence";
constexpr std::size_t proposal_length = 13;

std::string bulk(std::string_view text)
{
    return '$' + std::to_string(text.size()) + "\r\n" + std::string{text} + "\r\n";
}

std::string vote_command(std::string_view key, std::string_view nonce)
{
    return "*6\r\n" + bulk("SET") + bulk(key) + bulk(nonce) + bulk("NX") + bulk("PX") + bulk("10000");
}

/// The library's command, without a previous owner and without a marker.
std::string fenced_vote_command(std::string_view key, std::string_view nonce)
{
    std::string const proposal(proposal_length, '1');
    return "*14\r\n" + bulk("EVALSHA") + bulk(redis::scripts::vote.sha1) + bulk("4") + bulk(key) + bulk(key) +
           bulk(std::string{key} + std::string{fence_suffix}) + bulk("redlock-marker") + bulk("x") +
           bulk(nonce) + bulk("11000") + bulk("") + bulk("86400000") + bulk(proposal) + bulk("");
}

std::string release_command(std::string_view key, std::string_view nonce, std::string_view sha)
{
    return "*5\r\n" + bulk("EVALSHA") + bulk(sha) + bulk("1") + bulk(key) + bulk(nonce);
}

// Sizes known to the compiler: appending a command is a handful of vector moves.
constexpr std::size_t vote_size =
    4 + 9 + (5 + resource_name_length + 2) + (5 + nonce_length + 2) + 8 + 8 + 11;
constexpr std::size_t release_size =
    4 + 13 + (5 + sha_length + 2) + 7 + (5 + resource_name_length + 2) + (5 + nonce_length + 2);

constexpr std::size_t fenced_vote_size = 5 + 13 + (5 + sha_length + 2) + 7 +
                                         2 * (5 + resource_name_length + 2) +
                                         (5 + resource_name_length + fence_suffix.size() + 2) + 21 + 7 +
                                         (5 + nonce_length + 2) + 11 + 6 + 14 + (5 + proposal_length + 2) + 6;

enum class vote_kind : std::uint8_t { plain, fenced };

template <vote_kind Kind>
struct slot {
    static constexpr std::size_t size = Kind == vote_kind::fenced ? fenced_vote_size : vote_size;
    std::array<char, size> vote;
    std::array<char, release_size> release;
    std::uint32_t phase = 0; // even: voting, odd: releasing; a reply to an earlier phase is a straggler
    std::uint32_t grants = 0;
    std::uint32_t refusals = 0;
    bool denied = false;
    meter::clock::time_point started;
};

struct node {
    explicit node(int connected) : socket{connected} {}

    static constexpr std::size_t capacity = 1U << 18;

    descriptor socket;
    std::unique_ptr<char[]> in{new char[capacity]};
    std::size_t have = 0;
    std::size_t sent = 0;       // bytes of the traffic
    std::uint64_t answered = 0; // commands of the traffic
    bool waits_for_space = false;
};

template <vote_kind Kind>
class raw_client {
    using slot = bench::slot<Kind>;

public:
    explicit raw_client(setup const& what) : what_{what}, meter_{what}, slots_(what.concurrency)
    {
        std::string sha;
        for (auto const port : what.ports) {
            nodes_.emplace_back(what.way == door::unix_socket
                                    ? connect_unix(unix_socket_in(what.directory, port))
                                    : connect_loopback(port));
            sha = load_script(nodes_.back().socket.get(), release_script);
            if constexpr (Kind == vote_kind::fenced)
                load_script(nodes_.back().socket.get(), redis::scripts::vote.text);
        }
        for (auto& each : nodes_)
            watch(each, EPOLL_CTL_ADD, EPOLLIN);
        quorum_ = static_cast<std::uint32_t>(nodes_.size() / 2 + 1);
        spare_ = static_cast<std::uint32_t>(nodes_.size()) - quorum_;
        for (unsigned index = 0; index < slots_.size(); ++index)
            format(slots_[index], resource_name(what.run_number, index), sha);
    }

    result run()
    {
        auto const start = meter::clock::now();
        auto const warm = start + std::chrono::duration_cast<meter::clock::duration>(what_.warm_up);
        meter::clock::time_point over = meter::clock::time_point::max();
        running_ = slots_.size();
        for (std::uint32_t index = 0; index < slots_.size(); ++index)
            vote(slots_[index], index);
        flush();
        bool measuring = false;
        while (running_ != 0 || !drained()) {
            turn();
            auto const now = meter::clock::now();
            if (!measuring && !stopping_ && now >= warm) {
                meter_.open();
                over = meter::clock::now() + std::chrono::duration_cast<meter::clock::duration>(what_.window);
                measuring = true;
            } else if (measuring && now >= over) {
                meter_.close();
                measuring = false;
                stopping_ = true;
            }
        }
        return meter_.summary();
    }

private:
    static std::string load_script(int fd, std::string_view text)
    {
        auto const command = "*3\r\n" + bulk("SCRIPT") + bulk("LOAD") + bulk(text);
        if (::send(fd, command.data(), command.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(command.size()))
            throw std::runtime_error{"SCRIPT LOAD was not sent"};
        std::string reply(5 + sha_length + 2, '\0');
        if (::recv(fd, reply.data(), reply.size(), MSG_WAITALL) != static_cast<ssize_t>(reply.size()))
            throw std::runtime_error{"SCRIPT LOAD was not answered"};
        return reply.substr(5, sha_length);
    }

    static void format(slot& into, std::string_view key, std::string_view sha)
    {
        auto const nonce = std::string(nonce_length - key.size(), 'f') + std::string{key};
        auto const vote =
            Kind == vote_kind::fenced ? fenced_vote_command(key, nonce) : vote_command(key, nonce);
        auto const release = release_command(key, nonce, sha);
        if (vote.size() != slot::size || release.size() != release_size)
            throw std::logic_error{"the raw client's commands are not of the expected size"};
        std::memcpy(into.vote.data(), vote.data(), slot::size);
        std::memcpy(into.release.data(), release.data(), release_size);
    }

    void watch(node& which, int operation, std::uint32_t for_what)
    {
        epoll_event event{};
        event.events = for_what;
        event.data.ptr = &which;
        if (::epoll_ctl(poller_.get(), operation, which.socket.get(), &event) != 0)
            throw std::runtime_error{"epoll_ctl"};
    }

    [[nodiscard]] std::uint64_t answered_by_all() const
    {
        auto least = nodes_.front().answered;
        for (auto const& each : nodes_)
            least = each.answered < least ? each.answered : least;
        return least;
    }

    [[nodiscard]] bool drained() const { return answered_by_all() == traffic_.asked(); }

    void vote(slot& which, std::uint32_t index)
    {
        if (meter::tells_latency(index))
            which.started = meter::clock::now();
        which.denied = false;
        traffic_.append(which.vote, {index, which.phase}, answered_floor_);
    }

    void next_phase(slot& which, std::uint32_t index, bool won)
    {
        ++which.phase;
        which.grants = which.refusals = 0;
        which.denied |= !won;
        if ((which.phase & 1U) != 0) {
            traffic_.append(which.release, {index, which.phase}, answered_floor_);
            return;
        }
        meter_.count(!which.denied);
        if (meter::tells_latency(index))
            meter_.record(meter::clock::now() - which.started);
        if (stopping_)
            --running_;
        else
            vote(which, index);
    }

    void on_reply(awaited reply, bool granted)
    {
        slot& which = slots_[reply.slot];
        if (which.phase != reply.phase)
            return;
        if (granted) {
            if (++which.grants == quorum_)
                next_phase(which, reply.slot, true);
        } else if (++which.refusals > spare_) {
            next_phase(which, reply.slot, false);
        }
    }

    void read(node& from)
    {
        auto const size = ::read(from.socket.get(), from.in.get() + from.have, node::capacity - from.have);
        if (size <= 0) {
            if (size < 0 && (errno == EAGAIN || errno == EINTR))
                return;
            throw std::runtime_error{"a node closed the connection"};
        }
        char const* at = from.in.get();
        char const* const end = at + from.have + size;
        while (at != end) {
            // Only scalar replies and errors occur, all but fences and errors of known sizes.
            std::size_t length = *at == ':' ? 4 : 5;
            if (*at == '-' || (Kind == vote_kind::fenced && *at == ':')) {
                auto const* const stop =
                    static_cast<char const*>(std::memchr(at, '\n', static_cast<std::size_t>(end - at)));
                length = stop == nullptr ? node::capacity : static_cast<std::size_t>(stop - at) + 1;
            }
            if (static_cast<std::size_t>(end - at) < length)
                break;
            on_reply(traffic_.expected(from.answered++), *at == '+' || (*at == ':' && at[1] != '0'));
            at += length;
        }
        from.have = static_cast<std::size_t>(end - at);
        if (from.have != 0)
            std::memmove(from.in.get(), at, from.have);
    }

    void flush()
    {
        auto sent_to_all = std::numeric_limits<std::size_t>::max();
        for (auto& each : nodes_) {
            send(each);
            sent_to_all = each.sent < sent_to_all ? each.sent : sent_to_all;
        }
        if (traffic_.discard(sent_to_all))
            for (auto& each : nodes_)
                each.sent -= sent_to_all;
    }

    void send(node& to)
    {
        auto const bytes = traffic_.unsent(to.sent);
        if (bytes.empty())
            return;
        auto const size = ::send(to.socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (size < 0 && errno != EAGAIN && errno != EINTR)
            throw std::runtime_error{"a node closed the connection"};
        to.sent += size > 0 ? static_cast<std::size_t>(size) : 0;
        bool const full = size < static_cast<ssize_t>(bytes.size());
        if (full != to.waits_for_space)
            watch(to, EPOLL_CTL_MOD, full ? EPOLLIN | EPOLLOUT : EPOLLIN);
        to.waits_for_space = full;
    }

    void turn()
    {
        std::array<epoll_event, 16> events;
        int const ready = ::epoll_wait(poller_.get(), events.data(), static_cast<int>(events.size()), -1);
        answered_floor_ = answered_by_all();
        for (int index = 0; index < ready; ++index) {
            auto const& event = events[static_cast<std::size_t>(index)];
            if ((event.events & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0)
                read(*static_cast<node*>(event.data.ptr));
        }
        flush();
    }

    setup const& what_;
    meter meter_;
    descriptor poller_{::epoll_create1(EPOLL_CLOEXEC)};
    std::vector<node> nodes_;
    std::vector<slot> slots_;
    traffic traffic_;
    std::uint64_t answered_floor_ = 0; // never above the truth: what lies below it may be overwritten
    std::size_t running_ = 0;
    std::uint32_t quorum_ = 0;
    std::uint32_t spare_ = 0;
    bool stopping_ = false;
};

} // namespace

result run_raw(setup const& what)
{
    return raw_client<vote_kind::plain>{what}.run();
}

result run_raw_fenced(setup const& what)
{
    return raw_client<vote_kind::fenced>{what}.run();
}

} // namespace redlock::bench
