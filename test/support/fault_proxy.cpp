#include "support/fault_proxy.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

#include <array>
#include <condition_variable>
#include <deque>
#include <future>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>

namespace redlock::test {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using clock = std::chrono::steady_clock;

/// Without it the receiver's kernel joins the bytes again before the receiver has read the first.
constexpr std::chrono::microseconds dribble_gap{100};

enum class mode { pass, hold, delay, drop, dribble, cut };

constexpr std::size_t index(direction way)
{
    return static_cast<std::size_t>(way);
}

/// What the test ordered for one direction.
struct orders {
    mode how = mode::pass;
    clock::duration by{};
    bool duplicate = false;
    std::optional<std::string> replacement{};
};

/// What the proxy's thread tells the test's.
struct figures {
    std::array<std::uint64_t, 2> bytes{};
    std::array<std::uint64_t, 2> forwarded{};
    std::array<std::uint64_t, 2> held{};
    std::size_t open = 0;
    std::size_t accepted = 0;
};

class board {
public:
    explicit board(clock::duration patience) : patience_(patience) {}

    clock::duration patience() const noexcept { return patience_; }

    template <class Change>
    void write(Change change)
    {
        {
            std::lock_guard const lock(mutex_);
            change(figures_);
        }
        changed_.notify_all();
    }

    figures read() const
    {
        std::lock_guard const lock(mutex_);
        return figures_;
    }

    template <class Condition>
    void wait(char const* what, Condition condition) const
    {
        std::unique_lock lock(mutex_);
        if (changed_.wait_for(lock, patience_, [&] { return condition(figures_); }))
            return;
        throw std::runtime_error(std::string("fault_proxy: waited in vain: ") + what);
    }

private:
    mutable std::mutex mutex_;
    mutable std::condition_variable changed_;
    figures figures_;
    clock::duration patience_;
};

struct chunk {
    enum class kind { data, fin, reset };
    kind what = kind::data;
    std::string bytes{};
    clock::time_point due{};
    bool dribble = false;
};

class session;

/// One direction of one connection: reads a chunk, lets the orders judge it, writes what is ready.
class pipe {
public:
    pipe(session& owner, direction way, tcp::socket& from, tcp::socket& to, orders& wanted, board& news)
        : owner_(owner), way_(way), from_(from), to_(to), wanted_(wanted), news_(news),
          due_(from.get_executor()), gap_(from.get_executor())
    {}

    void read();
    void judge_again();
    void flush();
    /// From now on bytes are read and forgotten.
    void swallow();
    void stop();
    bool source_ended() const noexcept { return source_ended_; }
    bool finished() const noexcept { return finished_; }

private:
    bool deaf() const { return wanted_.how == mode::cut && !swallowing_; }
    void on_readable();
    void on_end(error_code ec);
    void arrived(std::string bytes);
    void judge(chunk part);
    void keep(chunk part, clock::time_point due);
    chunk next_waiting();
    void lose_waiting();
    void arm();
    void write();
    void write_bytes();
    void on_written(error_code ec, std::size_t count);

    session& owner_;
    direction way_;
    tcp::socket& from_;
    tcp::socket& to_;
    orders& wanted_;
    board& news_;
    asio::steady_timer due_;
    asio::steady_timer gap_;
    std::deque<chunk> waiting_;
    std::deque<chunk> ready_;
    chunk current_;
    std::size_t written_ = 0;
    bool reading_ = false;
    bool writing_ = false;
    bool swallowing_ = false;
    bool source_ended_ = false;
    bool finished_ = false;
};

using session_ptr = std::shared_ptr<session>;
using session_set = std::set<session_ptr>;

class session : public std::enable_shared_from_this<session> {
public:
    session(tcp::socket accepted, std::array<orders, 2>& wanted, board& news, session_set& all)
        : client_(std::move(accepted)), server_(client_.get_executor()), news_(news), all_(all),
          up_(*this, direction::to_server, client_, server_, wanted[0], news),
          down_(*this, direction::to_client, server_, client_, wanted[1], news)
    {
        client_.non_blocking(true);
        client_.set_option(tcp::no_delay(true));
    }

    void start(std::uint16_t server_port);
    void swallow();
    void reset();
    void close();
    void close_orderly();
    void finished_one();
    pipe& towards(direction way) { return way == direction::to_server ? up_ : down_; }

private:
    void leave();

    tcp::socket client_;
    tcp::socket server_;
    board& news_;
    session_set& all_;
    pipe up_;
    pipe down_;
};

void pipe::read()
{
    if (reading_ || source_ended_ || deaf() || !from_.is_open())
        return;
    reading_ = true;
    from_.async_wait(tcp::socket::wait_read, [this, alive = owner_.shared_from_this()](error_code ec) {
        reading_ = false;
        if (ec != asio::error::operation_aborted && from_.is_open() && !deaf())
            on_readable();
    });
}

void pipe::on_readable()
{
    std::array<char, 16384> buffer;
    error_code ec;
    auto const count = from_.read_some(asio::buffer(buffer), ec);
    if (ec == asio::error::would_block)
        return read();
    if (ec)
        return on_end(ec);
    // Counted before it goes on, so that whoever has seen a byte finds it counted.
    news_.write([&](figures& now) { now.bytes[index(way_)] += count; });
    if (!swallowing_)
        arrived(std::string(buffer.data(), count));
    read();
}

void pipe::on_end(error_code ec)
{
    source_ended_ = true;
    if (!swallowing_) {
        judge({ec == asio::error::eof ? chunk::kind::fin : chunk::kind::reset});
    } else if (way_ == direction::to_server) {
        owner_.close();
    }
}

void pipe::arrived(std::string bytes)
{
    if (auto const other = std::exchange(wanted_.replacement, std::nullopt))
        bytes = *other;
    if (std::exchange(wanted_.duplicate, false))
        judge({chunk::kind::data, bytes});
    judge({chunk::kind::data, std::move(bytes)});
}

void pipe::judge(chunk part)
{
    switch (wanted_.how) {
    case mode::hold:
    case mode::cut: return keep(std::move(part), clock::time_point::max());
    case mode::delay: return keep(std::move(part), clock::now() + wanted_.by);
    case mode::drop:
        if (part.what == chunk::kind::data)
            return;
        break;
    case mode::dribble: part.dribble = true; break;
    case mode::pass: break;
    }
    ready_.push_back(std::move(part));
    write();
}

void pipe::keep(chunk part, clock::time_point due)
{
    part.due = due;
    auto const size = part.bytes.size();
    waiting_.push_back(std::move(part));
    news_.write([&](figures& now) { now.held[index(way_)] += size; });
    arm();
}

chunk pipe::next_waiting()
{
    auto part = std::move(waiting_.front());
    waiting_.pop_front();
    news_.write([&](figures& now) { now.held[index(way_)] -= part.bytes.size(); });
    return part;
}

void pipe::lose_waiting()
{
    while (!waiting_.empty())
        next_waiting();
}

void pipe::arm()
{
    if (waiting_.empty() || waiting_.front().due == clock::time_point::max())
        return;
    due_.expires_at(waiting_.front().due);
    due_.async_wait([this, alive = owner_.shared_from_this()](error_code ec) {
        if (ec)
            return;
        while (!waiting_.empty() && waiting_.front().due <= clock::now())
            ready_.push_back(next_waiting());
        write();
        arm();
    });
}

void pipe::judge_again()
{
    if (!swallowing_) {
        // Judging may end the session, and with it what waits.
        for (auto rest = waiting_.size(); rest > 0 && !waiting_.empty(); --rest)
            judge(next_waiting());
    }
    read();
}

void pipe::flush()
{
    while (!waiting_.empty())
        ready_.push_back(next_waiting());
    write();
}

void pipe::swallow()
{
    swallowing_ = true;
    lose_waiting();
    ready_.clear();
    read();
}

void pipe::stop()
{
    finished_ = true;
    lose_waiting();
    ready_.clear();
    due_.cancel();
    gap_.cancel();
}

void pipe::write()
{
    if (writing_ || finished_ || ready_.empty())
        return;
    current_ = std::move(ready_.front());
    ready_.pop_front();
    written_ = 0;
    if (current_.what == chunk::kind::reset)
        return owner_.reset();
    if (current_.what == chunk::kind::data)
        return write_bytes();
    error_code ignored;
    to_.shutdown(tcp::socket::shutdown_send, ignored);
    finished_ = true;
    owner_.finished_one();
}

void pipe::write_bytes()
{
    writing_ = true;
    auto const rest = asio::buffer(current_.bytes) + written_;
    asio::async_write(to_, asio::buffer(rest, current_.dribble ? 1 : rest.size()),
                      [this, alive = owner_.shared_from_this()](error_code ec, std::size_t count) {
                          on_written(ec, count);
                      });
}

void pipe::on_written(error_code ec, std::size_t count)
{
    writing_ = false;
    if (finished_)
        return;
    news_.write([&](figures& now) { now.forwarded[index(way_)] += count; });
    if (ec) {
        // The receiver is gone. What it sent before, and how it left, is the other pipe's to tell.
        finished_ = true;
        return owner_.finished_one();
    }
    written_ += count;
    if (written_ == current_.bytes.size() || swallowing_)
        return write();
    writing_ = true;
    gap_.expires_after(dribble_gap);
    gap_.async_wait([this, alive = owner_.shared_from_this()](error_code failed) {
        writing_ = false;
        if (!failed && !finished_ && !swallowing_)
            write_bytes();
    });
}

void session::start(std::uint16_t server_port)
{
    server_.open(tcp::v4());
    server_.non_blocking(true);
    server_.set_option(tcp::no_delay(true));
    server_.async_connect({asio::ip::address_v4::loopback(), server_port},
                          [this, alive = shared_from_this()](error_code ec) {
                              if (ec == asio::error::operation_aborted || !client_.is_open())
                                  return;
                              if (ec)
                                  return reset();
                              up_.read();
                              down_.read();
                          });
}

void session::swallow()
{
    up_.swallow();
    down_.swallow();
    if (up_.source_ended())
        close();
}

void session::reset()
{
    error_code ignored;
    client_.set_option(asio::socket_base::linger(true, 0), ignored);
    server_.set_option(asio::socket_base::linger(true, 0), ignored);
    close();
}

void session::close()
{
    leave();
    up_.stop();
    down_.stop();
    error_code ignored;
    client_.close(ignored);
    server_.close(ignored);
}

/// Closing a socket with unread bytes sends RST, so both are ended first and read to the client's end.
void session::close_orderly()
{
    leave();
    error_code ignored;
    client_.shutdown(tcp::socket::shutdown_send, ignored);
    server_.shutdown(tcp::socket::shutdown_send, ignored);
    swallow();
}

void session::finished_one()
{
    if (up_.finished() && down_.finished())
        close();
}

void session::leave()
{
    if (all_.erase(shared_from_this()) == 0)
        return;
    news_.write([](figures& now) { --now.open; });
}

} // namespace

class fault_proxy::impl {
public:
    impl(std::uint16_t server_port, clock::duration patience)
        : news_(patience), reserved_(context_), acceptor_(context_), server_port_(server_port)
    {
        // Bound but never listening: keeps the port ours while refuse() has nobody listen on it.
        reserved_.open(tcp::v4());
        reserved_.set_option(asio::socket_base::reuse_address(true));
        reserved_.bind({asio::ip::address_v4::loopback(), 0});
        here_ = reserved_.local_endpoint();
        listen();
        thread_ = std::thread([this] { context_.run(); });
    }

    ~impl()
    {
        context_.stop();
        thread_.join();
    }

    impl(impl const&) = delete;
    impl& operator=(impl const&) = delete;

    std::uint16_t port() const noexcept { return here_.port(); }
    board const& news() const noexcept { return news_; }

    /// Carries out `act(*this)` on the proxy's thread and returns when it is done.
    template <class Act>
    void order(Act act)
    {
        auto const task = std::make_shared<std::packaged_task<void()>>([this, act] { act(*this); });
        auto done = task->get_future();
        asio::post(context_, [task] { (*task)(); });
        if (done.wait_for(news_.patience()) != std::future_status::ready)
            throw std::runtime_error("fault_proxy: hangs");
        done.get();
    }

    void set(direction way, mode how, clock::duration by = {})
    {
        orders_[index(way)].how = how;
        orders_[index(way)].by = by;
        each([way](session& one) { one.towards(way).judge_again(); });
    }

    orders& wanted(direction way) { return orders_[index(way)]; }

    template <class Act>
    void each(Act act)
    {
        // A copy, because a session may leave the set while it is acted on.
        for (auto const& one : session_set(sessions_))
            act(*one);
    }

    void listen()
    {
        swallowing_ = false;
        if (acceptor_.is_open())
            return;
        acceptor_.open(tcp::v4());
        acceptor_.set_option(asio::socket_base::reuse_address(true));
        acceptor_.bind(here_);
        acceptor_.listen();
        accept_next();
    }

    void refuse() { acceptor_.close(); }

    void black_hole()
    {
        listen();
        swallowing_ = true;
        each([](session& one) { one.swallow(); });
    }

    void redirect(std::uint16_t server_port) { server_port_ = server_port; }

private:
    void accept_next()
    {
        acceptor_.async_accept([this](error_code ec, tcp::socket accepted) {
            if (!acceptor_.is_open() || ec == asio::error::operation_aborted)
                return;
            if (!ec)
                begin(std::move(accepted));
            accept_next();
        });
    }

    void begin(tcp::socket accepted)
    {
        auto const one = std::make_shared<session>(std::move(accepted), orders_, news_, sessions_);
        sessions_.insert(one);
        news_.write([](figures& now) { ++now.open, ++now.accepted; });
        if (swallowing_) {
            one->swallow();
        } else {
            one->start(server_port_);
        }
    }

    asio::io_context context_{1};
    std::array<orders, 2> orders_{};
    board news_;
    session_set sessions_;
    tcp::socket reserved_;
    tcp::acceptor acceptor_;
    tcp::endpoint here_;
    std::uint16_t server_port_;
    bool swallowing_ = false;
    asio::executor_work_guard<asio::io_context::executor_type> work_ = asio::make_work_guard(context_);
    std::thread thread_;
};

fault_proxy::fault_proxy(std::uint16_t server_port, std::chrono::milliseconds patience)
    : impl_(std::make_unique<impl>(server_port, patience))
{}

fault_proxy::~fault_proxy() = default;

std::uint16_t fault_proxy::port() const noexcept
{
    return impl_->port();
}

std::string fault_proxy::url() const
{
    return "redis://127.0.0.1:" + std::to_string(port());
}

void fault_proxy::pass(direction way)
{
    impl_->order([way](impl& on) { on.set(way, mode::pass); });
}

void fault_proxy::hold(direction way)
{
    impl_->order([way](impl& on) { on.set(way, mode::hold); });
}

void fault_proxy::delay(direction way, std::chrono::milliseconds by)
{
    impl_->order([way, by](impl& on) { on.set(way, mode::delay, by); });
}

void fault_proxy::drop(direction way)
{
    impl_->order([way](impl& on) { on.set(way, mode::drop); });
}

void fault_proxy::dribble(direction way)
{
    impl_->order([way](impl& on) { on.set(way, mode::dribble); });
}

void fault_proxy::cut_one_way(direction way)
{
    impl_->order([way](impl& on) { on.set(way, mode::cut); });
}

void fault_proxy::release()
{
    release(direction::to_server);
    release(direction::to_client);
}

void fault_proxy::flush(direction way)
{
    impl_->order([way](impl& on) { on.each([way](session& one) { one.towards(way).flush(); }); });
}

void fault_proxy::duplicate(direction way)
{
    impl_->order([way](impl& on) { on.wanted(way).duplicate = true; });
}

void fault_proxy::garbage(std::string bytes)
{
    impl_->order(
        [bytes = std::move(bytes)](impl& on) { on.wanted(direction::to_client).replacement = bytes; });
}

void fault_proxy::reset_all()
{
    impl_->order([](impl& on) { on.each([](session& one) { one.reset(); }); });
}

void fault_proxy::close_all()
{
    impl_->order([](impl& on) { on.each([](session& one) { one.close_orderly(); }); });
}

void fault_proxy::refuse()
{
    impl_->order([](impl& on) { on.refuse(); });
}

void fault_proxy::black_hole()
{
    impl_->order([](impl& on) { on.black_hole(); });
}

void fault_proxy::accept()
{
    impl_->order([](impl& on) { on.listen(); });
}

void fault_proxy::redirect(std::uint16_t server_port)
{
    impl_->order([server_port](impl& on) { on.redirect(server_port); });
}

std::uint64_t fault_proxy::bytes(direction way) const
{
    return impl_->news().read().bytes[index(way)];
}

std::uint64_t fault_proxy::forwarded(direction way) const
{
    return impl_->news().read().forwarded[index(way)];
}

std::uint64_t fault_proxy::held(direction way) const
{
    return impl_->news().read().held[index(way)];
}

std::size_t fault_proxy::connections() const
{
    return impl_->news().read().open;
}

std::size_t fault_proxy::accepted() const
{
    return impl_->news().read().accepted;
}

void fault_proxy::wait_for_bytes(direction way, std::uint64_t count) const
{
    impl_->news().wait("bytes", [=](figures const& now) { return now.bytes[index(way)] >= count; });
}

void fault_proxy::wait_forwarded(direction way, std::uint64_t count) const
{
    impl_->news().wait("forwarded", [=](figures const& now) { return now.forwarded[index(way)] >= count; });
}

void fault_proxy::wait_held(direction way, std::uint64_t min_bytes) const
{
    impl_->news().wait("held", [=](figures const& now) { return now.held[index(way)] >= min_bytes; });
}

void fault_proxy::wait_connections(std::size_t exactly) const
{
    impl_->news().wait("connections", [=](figures const& now) { return now.open == exactly; });
}

void fault_proxy::wait_accepted(std::size_t at_least) const
{
    impl_->news().wait("accepted", [=](figures const& now) { return now.accepted >= at_least; });
}

} // namespace redlock::test
