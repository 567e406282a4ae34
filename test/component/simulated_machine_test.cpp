// SPDX-License-Identifier: BSL-1.0
// The simulation's machine shows what this one shows: each test has one body for both.
#include "component/lone_client.hpp"
#include "engine/configuration.hpp"
#include "kit/certificates.hpp"
#include "net/connect.hpp"
#include "net/leaf/this_machine.hpp"
#include "redis/command.hpp"
#include "world/process.hpp"
#include <redlock/testing/world.hpp>

#include <boost/asio/ip/tcp.hpp>
#include <boost/test/unit_test.hpp>

#include <array>
#include <functional>
#include <thread>

namespace redlock::test {

namespace {

enum class way : std::uint8_t { by_number, by_name, by_tls, by_path };
std::vector<way> const all_ways{way::by_number, way::by_name, way::by_tls, way::by_path};

/// A client's machine, and one server that it can come to.
class ground {
public:
    ground() = default;
    ground(ground const&) = delete;
    ground& operator=(ground const&) = delete;
    virtual ~ground() = default;

    virtual asio::io_context& context() = 0;
    virtual net::machine& machine() = 0;
    virtual std::string url(way) = 0;
    /// The URL of a server that closes every connection as soon as it receives anything.
    virtual std::string url_of_curt() = 0;
    virtual std::string url_of_expired() = 0;
    virtual std::string url_of_misnamed() = 0;
    virtual std::string missing_path() = 0;
    virtual void kill() = 0;
    virtual void pause() = 0;
    virtual void resume() = 0;
    virtual void close_connections(way) = 0;
    virtual std::string get(std::string const& key) = 0;
    virtual tls_settings tls() { return {}; }

    /// Runs the events of this moment, or the next one.
    virtual void step() = 0;
    void run_until(std::function<bool()> const& met)
    {
        auto const limit = std::chrono::steady_clock::now() + patience;
        while (!met()) {
            BOOST_REQUIRE(std::chrono::steady_clock::now() < limit);
            step();
        }
    }
};

class here final : public ground {
public:
    asio::io_context& context() override { return context_; }
    net::machine& machine() override { return *net::this_machine(); }
    std::string url(way by) override
    {
        switch (by) {
        case way::by_number: return server_.url();
        case way::by_name: return "redis://localhost:" + std::to_string(server_.port());
        case way::by_tls: return server_.tls_url();
        case way::by_path: return "unix://" + server_.unix_path();
        }
        return {};
    }
    std::string url_of_curt() override
    {
        accept();
        return "rediss://127.0.0.1:" + std::to_string(curt_.local_endpoint().port());
    }
    std::string url_of_expired() override { return with(papers_.expired); }
    std::string url_of_misnamed() override { return with(papers_.misnamed); }
    std::string missing_path() override { return server_.unix_path() + ".not"; }
    void kill() override { server_.kill(); }
    void pause() override { server_.pause(); }
    void resume() override { server_.resume(); }
    void close_connections(way by) override
    {
        by == way::by_tls ? server_.kill() : void(eye_.command({"CLIENT", "KILL", "TYPE", "normal"}));
    }
    std::string get(std::string const& key) override { return eye_.get(key).value_or(""); }
    tls_settings tls() override
    {
        tls_settings trusted;
        trusted.ca_file = papers_.authority.file();
        return trusted;
    }
    void step() override
    {
        context_.restart();
        if (context_.poll() == 0)
            std::this_thread::yield();
    }

private:
    std::string with(tls_files const& papers)
    {
        other_.emplace(redis_server_options{.tls = papers});
        return other_->tls_url();
    }
    void accept()
    {
        curt_.async_accept([this](error_code ec, asio::ip::tcp::socket made) {
            if (ec)
                return;
            auto const kept = std::make_shared<asio::ip::tcp::socket>(std::move(made));
            kept->async_wait(asio::socket_base::wait_read, [this, kept](error_code) {
                kept->read_some(asio::buffer(nowhere_));
                kept->close();
            });
        });
    }

    asio::io_context context_;
    certificates papers_;
    redis_server server_{{.tls = papers_.server}};
    probe eye_{server_.port()};
    std::optional<redis_server> other_;
    asio::ip::tcp::acceptor curt_{context_, {asio::ip::address_v4::loopback(), 0}};
    std::array<char, 4096> nowhere_{};
};

struct in_the_world : ground {
    asio::io_context& context() override { return process.context(); }
    net::machine& machine() override { return process.machine(); }
    std::string url(way by) override
    {
        switch (by) {
        case way::by_number: return net.url(0);
        case way::by_name: return "redis://" + world::network::name(0);
        case way::by_tls:
            return "rediss://" + net.at(0).address.to_string() + ':' +
                   std::to_string(world::network::tls_port);
        case way::by_path: return "unix://" + world::network::path_of(0);
        }
        return {};
    }
    std::string url_of_curt() override
    {
        net.at(0).tls.hangs_up = true;
        return url(way::by_tls);
    }
    std::string url_of_expired() override { return troubled("certificate has expired"); }
    std::string url_of_misnamed() override { return troubled("IP address mismatch"); }
    std::string missing_path() override { return world::network::path_of(1); }
    void kill() override { net.kill(0); }
    void pause() override { net.at(0).stalled_until = time.now() + 1h; }
    void resume() override { net.at(0).stalled_until = {}; }
    void close_connections(way) override { net.close_connections(0, false); }
    std::string get(std::string const& key) override
    {
        auto const all = net.at(0).redis.keys().all();
        auto const at = all.find(key);
        return at == all.end() ? "" : at->second.text;
    }
    void step() override
    {
        if (!process.run())
            (void)time.step();
    }

    std::string troubled(std::string const& trouble)
    {
        net.at(0).tls.trouble = trouble;
        return url(way::by_tls);
    }

    world::timeline time;
    world::network net{time, 1, 1};
    world::process process{net, 0, 1};
};

/// One connection, and its result.
class meeting final : private net::connect_listener, private net::stream_listener {
public:
    meeting(ground& on, std::string const& url, std::chrono::milliseconds timeout = 20s,
            bool insecure = false)
        : on_(on), peer_(peer_at(on, url, timeout, insecure)),
          connector_(std::make_shared<net::connector>(on.context().get_executor(), on.machine(), peer_,
                                                      static_cast<net::connect_listener&>(*this)))
    {
        connector_->start();
        on.run_until([this] { return !told_.empty(); });
    }
    ~meeting()
    {
        if (stream_)
            stream_->close();
    }

    [[nodiscard]] std::string const& told() const { return told_; }
    [[nodiscard]] net::stream& stream() { return *stream_; }
    /// Returns all bytes and events of the stream since the beginning.
    [[nodiscard]] std::string const& heard() const { return heard_; }

    void listen() { stream_->listen(*this); }
    void say(std::vector<std::string_view> const& words)
    {
        redis::append_command(out_, words);
        stream_->flush(out_);
        heard_ += out_.empty() ? "taken, " : "left, ";
    }
    void read() { stream_->start_read(asio::buffer(in_)); }
    void run_until_heard(std::string const& end)
    {
        on_.run_until([&] { return heard_.ends_with(end); });
    }
    [[nodiscard]] bool has_read() const
    {
        return std::ranges::any_of(in_, [](char c) { return c != 0; });
    }
    /// Gives the stream away.
    void finish(std::vector<std::string_view> const& words)
    {
        std::string last;
        redis::append_command(last, words);
        std::exchange(stream_, nullptr)->finish(std::move(last));
    }

private:
    static std::shared_ptr<net::peer const> peer_at(ground& on, std::string const& url,
                                                    std::chrono::milliseconds timeout, bool insecure)
    {
        config settings = settings_for({url});
        if (url.starts_with("rediss"))
            settings.tls = on.tls();
        settings.tls.insecure = insecure;
        settings.reconnect.connect_timeout = timeout;
        return detail::check(settings, on.machine()).peers.front();
    }
    void on_connected(std::shared_ptr<net::stream> made, net::introduction) override
    {
        stream_ = std::move(made);
        told_ = "connected";
    }
    void on_connect_failed(net::failure why) override { told_ = why.detail; }
    void on_read(error_code ec, std::size_t bytes) override
    {
        heard_ += ec ? "read: " + ec.message() : "read " + std::string(in_.data(), bytes);
    }
    void on_writable(error_code ec) override { heard_ += ec ? "writable: " + ec.message() : "writable, "; }

    ground& on_;
    std::shared_ptr<net::peer const> peer_;
    std::shared_ptr<net::connector> connector_;
    std::shared_ptr<net::stream> stream_;
    std::string told_;
    std::string heard_;
    std::string out_;
    std::array<char, 4096> in_{};
};

/// On this machine and in the world.
template <class Body>
void on_both(Body body)
{
    BOOST_TEST_CONTEXT("this machine")
    {
        here real;
        body(real);
    }
    BOOST_TEST_CONTEXT("the world")
    {
        in_the_world simulated;
        body(simulated);
    }
}

/// The same with every stream, to which it listens.
template <class Body>
void on_both_by(std::vector<way> const& ways, Body body)
{
    on_both([&](ground& on) {
        for (way const by : ways)
            BOOST_TEST_CONTEXT(on.url(by))
            {
                meeting one(on, on.url(by));
                one.listen();
                body(on, by, one);
            }
    });
}

std::string told_by(ground& on, std::string const& url, std::chrono::milliseconds timeout = 20s,
                    bool insecure = false)
{
    return meeting(on, url, timeout, insecure).told();
}

} // namespace

BOOST_AUTO_TEST_SUITE(simulated_machine)

BOOST_AUTO_TEST_CASE(simulated_machine_connects_by_every_transport)
{
    on_both([](ground& on) {
        for (way const by : all_ways)
            BOOST_TEST(told_by(on, on.url(by)) == "connected");
    });
}

BOOST_AUTO_TEST_CASE(simulated_machine_without_server_refuses_connection)
{
    on_both([](ground& on) {
        on.kill();
        for (way const by : all_ways)
            BOOST_TEST(told_by(on, on.url(by)) == "Connection refused");
    });
}

BOOST_AUTO_TEST_CASE(simulated_machine_without_unix_socket_reports_no_such_file)
{
    on_both([](ground& on) {
        BOOST_TEST(told_by(on, "unix://" + on.missing_path()) == "No such file or directory");
    });
}

/// Without a name server the system says that the look-up may be repeated.
BOOST_AUTO_TEST_CASE(simulated_machine_reports_unknown_host_name)
{
    on_both([](ground& on) {
        std::string const told = told_by(on, "redis://nobody.invalid");
        BOOST_TEST(told.starts_with("cannot resolve the host name: Host not found"), told);
    });
}

BOOST_AUTO_TEST_CASE(simulated_machine_tells_silent_server_from_silent_handshake)
{
    on_both([](ground& on) {
        on.pause();
        std::string const late = " within the connect timeout";
        for (way const by : {way::by_number, way::by_name, way::by_path})
            BOOST_TEST(told_by(on, on.url(by), 50ms) == "no answer to HELLO" + late);
        BOOST_TEST(told_by(on, on.url(way::by_tls), 50ms) ==
                   "no answer to the TLS handshake (is this a TLS port?)" + late);
    });
}

BOOST_AUTO_TEST_CASE(simulated_machine_reports_invalid_certificate)
{
    on_both([](ground& on) {
        BOOST_TEST(told_by(on, on.url_of_expired()) ==
                   "TLS: certificate verify failed (SSL routines): certificate has expired");
    });
    on_both([](ground& on) {
        auto const url = on.url_of_misnamed();
        BOOST_TEST(told_by(on, url).starts_with(
            "TLS: certificate verify failed (SSL routines): IP address mismatch, wanted 127."));
        BOOST_TEST(told_by(on, url, 20s, true) == "connected");
    });
}

BOOST_AUTO_TEST_CASE(simulated_machine_reports_truncated_tls_handshake)
{
    on_both([](ground& on) { BOOST_TEST(told_by(on, on.url_of_curt()) == "TLS: stream truncated"); });
}

BOOST_AUTO_TEST_CASE(simulated_machine_hints_at_tls_port_spoken_to_without_tls)
{
    on_both([](ground& on) {
        std::string url = on.url(way::by_tls);
        std::string const told = told_by(on, url.replace(0, 6, "redis"));
        BOOST_TEST((told.find("a TLS port") != told.npos), told);
    });
}

/// A stream tells that more can be written only if something was left.
BOOST_AUTO_TEST_CASE(simulated_stream_completes_writes_and_reads_in_real_order)
{
    on_both_by(all_ways, [](ground&, way, meeting& one) {
        one.say({"SET", "a", "1"});
        one.read();
        one.run_until_heard("OK\r\n");
        BOOST_TEST(one.heard() == "taken, read +OK\r\n");
    });
}

BOOST_AUTO_TEST_CASE(simulated_stream_shows_unread_bytes_except_through_tls)
{
    on_both_by(all_ways, [](ground& on, way by, meeting& one) {
        BOOST_TEST(!one.stream().readable());
        one.say({"SET", "a", "1"});
        on.run_until([&] { return one.stream().readable(); });
        std::array<char, 64> seen{};
        std::size_t const plain = by == way::by_tls ? 0 : 5;
        BOOST_TEST(one.stream().peek(asio::buffer(seen)) == plain);
        BOOST_TEST(one.stream().peek(asio::buffer(seen)) == plain);
        BOOST_TEST(!one.stream().hung_up());
    });
}

BOOST_AUTO_TEST_CASE(simulated_stream_reports_unannounced_end_through_tls)
{
    std::vector const ways{way::by_number, way::by_path, way::by_tls}; // on this machine the last one kills
    on_both_by(ways, [](ground& on, way by, meeting& one) {
        one.read();
        on.close_connections(by);
        on.run_until([&] { return one.stream().hung_up() && !one.heard().empty(); });
        BOOST_TEST(one.heard() == (by == way::by_tls ? "read: stream truncated" : "read: End of file"));
    });
}

BOOST_AUTO_TEST_CASE(simulated_stream_sends_last_bytes_before_closing)
{
    on_both_by(all_ways, [](ground& on, way by, meeting& one) {
        std::string const key = "last" + std::to_string(static_cast<int>(by));
        one.say({"SET", "a", "1"}); // the answer is not read any more
        one.finish({"SET", key, "said"});
        on.run_until([&] { return on.get(key) == "said"; });
        BOOST_TEST(one.heard() == "taken, ");
    });
}

/// Then the listener may be destroyed, with the memory that it reads into.
BOOST_AUTO_TEST_CASE(simulated_stream_reads_nothing_after_last_bytes)
{
    std::string const more_than_a_socket_holds(std::size_t{16} << 20U, '.');
    on_both_by(all_ways, [&](ground& on, way, meeting& one) {
        one.read();
        on.pause();
        one.say({"SET", "a", "1"});
        on.step();
        auto const stream = one.stream().weak_from_this();
        one.finish({"SET", "b", more_than_a_socket_holds});
        on.resume(); // it answers, and the rest is still being written
        on.run_until([&] { return stream.expired(); });
        BOOST_TEST(!one.has_read());
    });
}

BOOST_AUTO_TEST_CASE(simulated_stream_reads_nothing_after_interruption)
{
    on_both_by(all_ways, [](ground&, way, meeting& one) {
        one.read();
        one.stream().interrupt();
        one.run_until_heard("Operation canceled");
        one.read();
        one.run_until_heard("Bad file descriptor");
        BOOST_TEST(one.heard() == "read: Operation canceledread: Bad file descriptor");
    });
}

BOOST_AUTO_TEST_SUITE_END()

/// Disturbances that only the simulated world can cause.
BOOST_AUTO_TEST_SUITE(simulated_network)

namespace {

struct one_server_fixture : in_the_world {
    std::string told(way by, std::chrono::milliseconds timeout = 2s)
    {
        return told_by(*this, url(by), timeout);
    }
};

std::string const too_late = "no connection within the connect timeout";
boost::asio::ip::address_v4 const nowhere(world::network::nowhere);

} // namespace

BOOST_FIXTURE_TEST_CASE(unanswered_address_uses_only_its_share_of_connect_timeout, one_server_fixture)
{
    net.names().known[world::network::name(0)] = {nowhere, net.at(0).address};
    BOOST_TEST(told(way::by_name) == "connected");
    BOOST_TEST((time.now() >= 1s && time.now() < 1100ms));
    net.names().known[world::network::name(0)] = {nowhere};
    BOOST_TEST(told(way::by_name) == too_late);
}

BOOST_FIXTURE_TEST_CASE(moved_server_is_refused_until_name_has_new_address, one_server_fixture)
{
    std::string const by_number = net.url(0);
    net.move(0, true);
    BOOST_TEST(told(way::by_name) == "Connection refused");
    net.tell_address(0);
    BOOST_TEST(told(way::by_name) == "connected");
    BOOST_TEST(told_by(*this, by_number) == "Connection refused");
    BOOST_TEST(told(way::by_path) == "connected");
}

BOOST_FIXTURE_TEST_CASE(simulated_names_may_be_refused_slow_or_silent, one_server_fixture)
{
    net.names().trouble = asio::error::host_not_found_try_again;
    BOOST_TEST(told(way::by_name) ==
               "cannot resolve the host name: Host not found (non-authoritative), try again later");
    net.names().trouble = {};
    net.names().silent_until = time.now() + 1s;
    BOOST_TEST(told(way::by_name) == "connected");
    BOOST_TEST((time.now() >= 1s));
    net.names().silent_until = time.now() + 1h;
    BOOST_TEST(told(way::by_name) == too_late);
    BOOST_TEST(told(way::by_name, 1min) ==
               "cannot resolve the host name: Host not found (non-authoritative), try again later");
}

/// A look-up that is under way is not interrupted: one thread looks all names up.
BOOST_FIXTURE_TEST_CASE(hung_name_lookup_delays_next_lookup, one_server_fixture)
{
    net.names().silent_until = 2s;
    BOOST_TEST(told(way::by_name, 1s) == too_late);
    BOOST_TEST(told(way::by_name, 900ms) == too_late);
    BOOST_TEST(told(way::by_name, 900ms) == "connected");
    BOOST_TEST((time.now() >= 2s));
}

BOOST_FIXTURE_TEST_CASE(unix_socket_works_without_network, one_server_fixture)
{
    net.at(0).reachable = false;
    BOOST_TEST(told(way::by_number) == too_late);
    BOOST_TEST(told(way::by_path) == "connected");
}

/// Before TLS 1.3 there was one round trip more.
BOOST_FIXTURE_TEST_CASE(tls_handshake_takes_one_or_two_round_trips, one_server_fixture)
{
    constexpr auto trip = 10ms;
    net.between(0, 0).latency = trip;
    auto const trips = [&](way by) {
        auto const began = time.now();
        BOOST_TEST(told(by) == "connected");
        return (time.now() - began) / (2 * trip);
    };
    auto const plain = trips(way::by_number);
    BOOST_TEST(trips(way::by_tls) == plain + 1);
    net.at(0).tls.two_round_trips = true;
    BOOST_TEST(trips(way::by_tls) == plain + 2);
}

BOOST_FIXTURE_TEST_CASE(tls_handshake_may_be_late, one_server_fixture)
{
    net.at(0).tls.silent_until = 1s;
    BOOST_TEST(told(way::by_tls) == "connected");
    BOOST_TEST((time.now() >= 1s));
}

/// Some connection is always being made: the attempt does not wait for all of them to have failed.
BOOST_AUTO_TEST_CASE(try_acquire_ends_although_connections_are_retried)
{
    asio::io_context context;
    testing::world servers(context);
    config settings = servers.settings();
    for (std::size_t n = 0; n != servers.size(); ++n) {
        servers.cut(n);
        settings.nodes[n] += "?connect_timeout=" + std::to_string(300 + 100 * n) + "ms";
    }
    settings.reconnect.min_delay = settings.reconnect.max_delay = 10ms;
    client locks = servers.make_client(settings);
    mutex lock(locks, "resource", long_lived);
    auto const result = std::make_shared<outcome>();
    lock.try_acquire(keeps_outcome{result});
    servers.run_until([&] { return result->done(); }, 1min);
    BOOST_TEST(result->ec == errc::no_quorum);
    BOOST_TEST((servers.elapsed() < 1s));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace redlock::test
