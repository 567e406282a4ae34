// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "failing_new.hpp"
#include "kit/outcome.hpp"
#include "kit/redis_server.hpp"
#include <redlock/redlock.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

namespace redlock::test {

namespace asio = boost::asio;
using boost::system::error_code;
using namespace std::chrono_literals;

/// The state of one operation. It allocates nothing.
struct begun_operation : outcome {
    bool begun = false;   ///< its initiating function has returned
    bool refused = false; ///< it threw for lack of memory

    [[nodiscard]] bool settled() const { return refused || done(); }

    /// Begins it, or notes that there was no memory for that.
    template <class Begin>
    void begin(Begin initiate)
    {
        try {
            initiate(keeps_outcome{static_cast<outcome*>(this)});
            begun = true;
        } catch (std::bad_alloc const&) {
            refused = true;
        }
    }
};

/// Servers for all cases of this program.
class installation : public server_group {
public:
    using server_group::server_group;

    [[nodiscard]] config settings() const;
    /// Keys that no clock will remove.
    [[nodiscard]] std::size_t immortal_keys();
    void forget_everything();
    void kill_connections() { command({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"}); }
};

/// Returns the installation with this many servers.
installation& installed(std::size_t nodes);

/// One run of a scenario: its work while memory fails, and the checks afterwards.
class scenario {
public:
    explicit scenario(installation& on) : servers(on) {}
    scenario(scenario const&) = delete;
    scenario& operator=(scenario const&) = delete;
    virtual ~scenario() = default;

    /// With memory enough.
    virtual void prepare() {}
    /// Without. Begins operations.
    virtual void act() = 0;
    /// With memory again: replaces a refused operation for which something would wait permanently.
    virtual void mend() {}
    /// Is what act() began over?
    [[nodiscard]] virtual bool done() const = 0;
    /// Checked after a run in which no allocation failed.
    [[nodiscard]] virtual bool succeeded() const { return true; }

    /// May std::bad_alloc leave the context?
    [[nodiscard]] virtual bool may_throw() const { return false; }
    /// Lets go of what it got.
    virtual void retire() {}

    /// Runs the context until the condition holds, also when something is thrown out of it for lack of memory.
    template <class Condition>
    bool run_until(Condition holds, std::chrono::steady_clock::duration most = 60s)
    {
        auto const end = std::chrono::steady_clock::now() + most;
        while (!holds()) {
            if (std::chrono::steady_clock::now() > end)
                return false;
            run_a_little();
        }
        return true;
    }
    void run_a_little();

    [[nodiscard]] mutex lock(lock_options options = some_lease()) { return {*locks, "lock", options}; }
    /// A slow machine must not make it give up a node.
    [[nodiscard]] static lock_options some_lease() { return {.ttl = 1s, .node_timeout = 800ms}; }
    void take(client&, lease& into);

    /// Two watched leases of this name may not be valid at once, unless they have different permits.
    void watch(lease const& one) { watched.push_back(&one); }

    installation& servers;
    asio::io_context context{1};
    std::optional<client> locks;
    std::vector<lease const*> watched;
    unsigned thrown = 0; ///< out of the context
    bool two_at_once = false;
};

using make_scenario = std::unique_ptr<scenario> (*)(installation&);
/// Runs the scenario again and again until nothing fails any more. In each run another allocation fails: alone and several in
/// a row, begun in a handler of the client's executor and outside, with one node and with three. In the first way each one
/// of act() fails. Otherwise one in eleven does, another one in each way; or all in all ways, if MEMORY_THOROUGH is 1.
void sweep(make_scenario);
/// The same with single failures alone: after two in a row Asio's own coroutines end the program (std::terminate).
void sweep_once(make_scenario);

template <class Which>
void sweep()
{
    sweep([](installation& on) -> std::unique_ptr<scenario> { return std::make_unique<Which>(on); });
}

template <class Which>
void sweep_once()
{
    sweep_once([](installation& on) -> std::unique_ptr<scenario> { return std::make_unique<Which>(on); });
}

} // namespace redlock::test
