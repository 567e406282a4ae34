// Tables T6 to T9: one key, many contenders in one or several processes.
#include "library.hpp"
#include "options.hpp"
#include "processes.hpp"
#include "sockets.hpp"
#include <redlock/redlock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
#include <new>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace redlock::bench {

namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using clock = std::chrono::steady_clock; // CLOCK_MONOTONIC, the same in all processes

enum class manner : std::uint8_t { waiting, polling };

struct contest {
    std::size_t nodes = 3;
    unsigned processes = 1;
    unsigned contenders = 16; ///< in all processes together
    std::chrono::microseconds hold = 1ms;
    std::chrono::duration<double> window = 3s;
    manner how = manner::waiting;
};

/// What all processes of a contest see.
struct board {
    static constexpr std::size_t most = 1 << 20;

    std::atomic<std::int64_t> released_at{0}; ///< of the last release that began
    std::atomic<std::uint64_t> tenures{0};
    std::atomic<unsigned> last{0}; ///< process that had it
    std::atomic<std::size_t> again{
        0}; ///< leases, of those measured, that went to the process that had just had it
    std::atomic<unsigned> inside{0};
    std::atomic<unsigned> overlaps{0};
    std::atomic<unsigned> ready{0};
    std::atomic<bool> go{false};
    std::atomic<bool> measuring{false};
    std::atomic<bool> stop{false};
    std::atomic<std::size_t> samples{0};
    std::uint32_t hand_off_ns[most] = {};
    std::uint32_t tenures_waited[most] = {};
    std::uint32_t waited_us[most] = {};
};

std::int64_t now_ns()
{
    return std::chrono::duration_cast<std::chrono::nanoseconds>(clock::now().time_since_epoch()).count();
}

/// Pages that forked processes share.
class shared_board {
public:
    shared_board()
        : memory_(::mmap(nullptr, sizeof(board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
    {
        if (memory_ == MAP_FAILED)
            throw std::runtime_error{"mmap"};
        ::new (memory_) board;
    }
    shared_board(shared_board const&) = delete;
    shared_board& operator=(shared_board const&) = delete;
    ~shared_board() { ::munmap(memory_, sizeof(board)); }

    board& operator*() const { return *static_cast<board*>(memory_); }
    board* operator->() const { return static_cast<board*>(memory_); }

private:
    void* memory_;
};

/// Of one contender: when it asked, and how many leases there had been by then.
struct request {
    std::int64_t asked;
    std::uint64_t before;
};

void note(board& seen, request const& mine, unsigned process)
{
    std::int64_t const released = seen.released_at.load();
    bool const again = seen.last.exchange(process) == process;
    if (!seen.measuring.load())
        return;
    seen.again += again ? 1U : 0U;
    std::size_t const at = seen.samples++;
    if (at >= board::most)
        return;
    seen.hand_off_ns[at] =
        static_cast<std::uint32_t>(std::min<std::int64_t>(now_ns() - released, UINT32_MAX));
    seen.tenures_waited[at] = static_cast<std::uint32_t>(seen.tenures.load() - mine.before);
    seen.waited_us[at] = static_cast<std::uint32_t>((now_ns() - mine.asked) / 1000);
}

asio::awaitable<void> contend(client& locks, contest const& what, board& seen, unsigned process,
                              unsigned seed)
{
    lock_options options;
    options.barging = what.how == manner::polling;
    mutex seat(locks, "contested", options);
    asio::steady_timer work(co_await asio::this_coro::executor);
    std::minstd_rand dice(seed);
    request mine{now_ns(), seen.tenures.load()};
    while (!seen.stop.load()) {
        boost::system::error_code ec;
        lease held;
        if (what.how == manner::waiting)
            held = co_await seat.acquire(asio::use_awaitable);
        else
            held = co_await seat.try_acquire(asio::redirect_error(asio::use_awaitable, ec));
        if (ec) { // as an application polls: a random pause of up to 20 ms
            work.expires_after(std::chrono::microseconds{dice() % 20'000});
            co_await work.async_wait(asio::use_awaitable);
            continue;
        }
        note(seen, mine, process);
        ++seen.tenures;
        seen.overlaps += seen.inside++ == 0 ? 0U : 1U;
        if (what.hold > 0us) {
            work.expires_after(what.hold);
            co_await work.async_wait(asio::use_awaitable);
        }
        --seen.inside;
        seen.released_at = now_ns();
        co_await held.release(asio::as_tuple(asio::use_awaitable));
        mine = {now_ns(), seen.tenures.load()};
    }
}

void compete(std::vector<std::uint16_t> const& ports, contest const& what, unsigned process, board& seen)
{
    asio::io_context context;
    client locks(context.get_executor(), settings_for(ports));
    unsigned const mine = std::max(1U, what.contenders / what.processes);
    ++seen.ready;
    while (!seen.go.load())
        std::this_thread::sleep_for(1ms);
    for (unsigned i = 0; i != mine; ++i)
        asio::co_spawn(context, contend(locks, what, seen, process, process * 1000 + i + 1), asio::detached);
    context.run();
}

/// Of one server so far, those inside scripts included.
std::uint64_t commands(std::uint16_t port)
{
    constexpr std::string_view question = "INFO stats\r\n";
    constexpr std::string_view field = "total_commands_processed:";
    descriptor const server{connect_loopback(port)};
    if (::write(server.get(), question.data(), question.size()) != static_cast<ssize_t>(question.size()))
        throw std::runtime_error{"INFO"};
    std::string told;
    for (char chunk[4096]; told.find("\r\n", told.find(field)) == told.npos;) {
        auto const bytes = ::read(server.get(), chunk, sizeof chunk);
        if (bytes <= 0)
            throw std::runtime_error{"INFO"};
        told.append(chunk, static_cast<std::size_t>(bytes));
    }
    return std::stoull(told.substr(told.find(field) + field.size()));
}

std::uint64_t commands(std::vector<std::uint16_t> const& ports)
{
    std::uint64_t sum = 0;
    for (auto const port : ports)
        sum += commands(port);
    return sum;
}

struct outcome {
    double per_second = 0;
    double commands_each = 0;
    unsigned overlaps = 0;
    std::vector<double> hand_off_us;
    std::vector<double> waited;
    std::vector<double> waited_ms;
    double again = 0; ///< share of leases that went to the process that had just had it
};

double at(std::vector<double> const& sorted, double share)
{
    if (sorted.empty())
        return 0;
    return sorted[std::min(sorted.size() - 1,
                           static_cast<std::size_t>(share * static_cast<double>(sorted.size())))];
}

outcome run(contest const& what, placement const& cpus)
{
    redis_fleet const fleet{what.nodes, cpus.server_cpu};
    std::vector<std::uint16_t> const ports{fleet.ports().begin(), fleet.ports().end()};
    shared_board seen;
    std::vector<std::unique_ptr<child>> all;
    for (unsigned i = 0; i != what.processes; ++i)
        all.push_back(std::make_unique<child>(cpus.client_cpu, [&, i] { compete(ports, what, i, *seen); }));
    while (seen->ready.load() != what.processes)
        std::this_thread::sleep_for(1ms);
    seen->go = true;
    std::this_thread::sleep_for(what.window / 4);
    auto const commands_before = commands(ports);
    auto const tenures_before = seen->tenures.load();
    auto const began = clock::now();
    seen->measuring = true;
    std::this_thread::sleep_for(what.window);
    seen->measuring = false;
    std::chrono::duration<double> const took = clock::now() - began;
    auto const tenures = static_cast<double>(seen->tenures.load() - tenures_before);
    auto const sent = static_cast<double>(commands(ports) - commands_before);
    seen->stop = true;
    for (auto const& one : all)
        (void)one->wait_for(10s);

    outcome told{tenures / took.count(), sent / std::max(1.0, tenures), seen->overlaps.load(), {}, {}, {}, 0};
    std::size_t const samples = std::min(seen->samples.load(), board::most);
    for (std::size_t i = 0; i != samples; ++i) {
        told.hand_off_us.push_back(seen->hand_off_ns[i] / 1000.0);
        told.waited.push_back(seen->tenures_waited[i]);
        told.waited_ms.push_back(seen->waited_us[i] / 1000.0);
    }
    std::ranges::sort(told.hand_off_us);
    std::ranges::sort(told.waited);
    std::ranges::sort(told.waited_ms);
    told.again = static_cast<double>(seen->again.load()) / std::max(1.0, static_cast<double>(samples));
    return told;
}

/// One quorum round of an idle client: what the hand-offs are counted in.
double round_us(std::size_t nodes, placement const& cpus)
{
    redis_fleet const fleet{nodes, cpus.server_cpu};
    std::vector<std::uint16_t> const ports{fleet.ports().begin(), fleet.ports().end()};
    return measure_in_child(cpus.client_cpu, 30s, [&] {
        asio::io_context context;
        client locks(context.get_executor(), settings_for(ports));
        std::vector<double> rounds;
        asio::co_spawn(
            context,
            [&]() -> asio::awaitable<void> {
                for (int i = 0; i != 2000; ++i) {
                    mutex seat(locks, "round" + std::to_string(i % 50));
                    auto const began = clock::now();
                    lease held = co_await seat.acquire(asio::use_awaitable);
                    rounds.push_back(std::chrono::duration<double, std::micro>(clock::now() - began).count());
                    co_await held.release(asio::use_awaitable);
                }
            },
            asio::detached);
        context.run();
        std::ranges::sort(rounds);
        return at(rounds, 0.5);
    });
}

char const* name(manner how)
{
    return how == manner::waiting ? "waiting" : "polling";
}

void print(contest const& what, outcome const& told, double round, std::FILE* json)
{
    double const p50 = at(told.hand_off_us, 0.5);
    std::printf("%-8s %5zu %9u %10u %7.1f %9.0f %9.1f %9.1f %9.1f %7.2f %8.1f %7.0f %7.0f %7.0f %7.1f %7.1f "
                "%7.1f %7.0f%s\n",
                name(what.how), what.nodes, what.processes, what.contenders,
                static_cast<double>(what.hold.count()) / 1000.0, told.per_second, p50,
                at(told.hand_off_us, 0.99), at(told.hand_off_us, 0.999), p50 / round, told.commands_each,
                at(told.waited, 0.5), at(told.waited, 0.99), at(told.waited, 1.0), at(told.waited_ms, 0.5),
                at(told.waited_ms, 0.99), at(told.waited_ms, 1.0), 100 * told.again,
                told.overlaps == 0 ? "" : "  OVERLAPS");
    std::fflush(stdout);
    if (json == nullptr)
        return;
    std::fprintf(
        json,
        R"({"how":"%s","nodes":%zu,"processes":%u,"contenders":%u,"hold_us":%lld,"leases_per_second":%.1f,)"
        R"("p50_us":%.2f,"p99_us":%.2f,"p999_us":%.2f,"round_us":%.2f,"commands":%.3f,)"
        R"("before_p50":%.0f,"before_p99":%.0f,"before_most":%.0f,"waited_ms_p50":%.3f,)"
        R"("waited_ms_p99":%.3f,"waited_ms_most":%.3f,"same_process_again":%.4f,"overlaps":%u})"
        "\n",
        name(what.how), what.nodes, what.processes, what.contenders,
        static_cast<long long>(what.hold.count()), told.per_second, p50, at(told.hand_off_us, 0.99),
        at(told.hand_off_us, 0.999), round, told.commands_each, at(told.waited, 0.5), at(told.waited, 0.99),
        at(told.waited, 1.0), at(told.waited_ms, 0.5), at(told.waited_ms, 0.99), at(told.waited_ms, 1.0),
        told.again, told.overlaps);
}

void print_head(std::size_t nodes, double round)
{
    std::printf("\nN = %zu, one quorum round %.1f us\n", nodes, round);
    std::printf("%-8s %5s %9s %10s %7s %9s %9s %9s %9s %7s %8s %7s %7s %7s %7s %7s %7s %7s\n", "", "nodes",
                "processes", "contenders", "hold ms", "leases/s", "p50 us", "p99 us", "p99.9 us", "rounds",
                "commands", "before", "p99", "most", "wait ms", "p99", "most", "again %");
}

std::vector<contest> contests()
{
    return {{.processes = 1, .contenders = 16},
            {.processes = 1, .contenders = 256},
            {.processes = 1, .contenders = 256, .hold = std::chrono::microseconds{0}},
            {.processes = 2, .contenders = 2},
            {.processes = 4, .contenders = 4},
            {.processes = 4, .contenders = 16},
            {.processes = 4, .contenders = 64},
            {.processes = 4, .contenders = 64, .hold = std::chrono::microseconds{0}},
            {.processes = 16, .contenders = 16},
            {.processes = 16, .contenders = 256},
            {.processes = 4, .contenders = 16, .how = manner::polling},
            {.processes = 16, .contenders = 256, .how = manner::polling}};
}

} // namespace

} // namespace redlock::bench

int main(int argc, char** argv)
{
    using namespace redlock::bench;
    return run_with_few_options(argc, argv, [](bool quick, std::FILE* json) {
        auto const cpus = choose_cpus();
        for (std::size_t const nodes : {3U, 1U, 5U}) {
            double const round = round_us(nodes, cpus);
            print_head(nodes, round);
            for (contest what : contests()) {
                what.nodes = nodes;
                if (quick)
                    what.window = std::chrono::seconds{1};
                print(what, run(what, cpus), round, json);
            }
            if (quick)
                break;
        }
        return true;
    });
}
