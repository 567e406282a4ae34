// SPDX-License-Identifier: BSL-1.0
#include "engine/in_words.hpp"
#include "engine/log_line.hpp"
#include "engine/words.hpp"
#include "net/leaf/this_machine.hpp"
#include "net/machine.hpp"
#include <redlock/error.hpp>
#include <redlock/log.hpp>
#include <redlock/node_outcome.hpp>

#include <chrono>
#include <cstddef>
#include <ios>
#include <map>
#include <mutex>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace redlock {
namespace {

using detail::in_words;
using detail::log_line;

/// Others may have it beside this client, and often do not.
std::string_view holders(bool held_here)
{
    return held_here ? " is held by this client" : " is held by others";
}

/// Formats events as lines. Knows from earlier events how many repetitions a line has to mention.
class event_log final : public observer {
public:
    event_log(log_sink sink, log_level most) : sink_(std::move(sink)), most_(most) {}

    void on_node(node_event const& e) noexcept override
    {
        guarded([&] {
            write(level_of(e), [&](log_line& line) {
                line << e.node << ' ' << to_string(e.state) << (e.master.empty() ? "" : ", master ")
                     << e.master;
                line.because(e.detail);
            });
        });
    }

    void on_wait(wait_event const& e) noexcept override
    {
        guarded([&] {
            write(log_level::info, waits_, [&](log_line& line) {
                if (e.in_queue) {
                    line.quoted(e.resource) << holders(e.held_here) << "; this operation is "
                                            << detail::position_in_words(e.before);
                    return;
                }
                line.quoted(e.resource) << (e.held_here ? " is held by this client; " : ": ");
                if (e.held_here && e.before == 0)
                    line << "this operation is next (a holder that waits for its own lock waits permanently)";
                else
                    line << detail::count(e.before, "operation") << " of this client before this one";
            });
        });
    }

    void on_vote(vote_event const& e) noexcept override
    {
        log_level const level = level_of(e);
        if (level > most_)
            return;
        guarded([&] {
            auto const words = [&](log_line& line) {
                line << e.node << (e.extension ? " renewing " : " voting for ");
                bool const gone = e.extension && e.result == node_result::held_by_other; // or another's
                line.quoted(e.resource) << ": " << (gone ? "does not hold its key" : to_string(e.result));
                if (e.round_trip != e.round_trip.zero())
                    line << " in " << in_words(e.round_trip);
                line.because(e.detail);
            };
            level == log_level::debug ? write(level, words) : write(level, refusals_, words);
        });
    }

    void on_attempt(attempt_event const& e) noexcept override
    {
        // The nodes' own lines tell why they are missing.
        bool const news = e.result == errc::contended && e.attempt == 1;
        if (!news && most_ < log_level::debug)
            return;
        guarded([&] {
            auto const words = [&](log_line& line) {
                line.quoted(e.resource) << (e.result == errc::contended ? holders(e.held_here) : ": attempt");
                if (e.result != errc::contended)
                    line << (e.result ? " failed: " + e.result.message() : " succeeded");
                line << " (attempt " << e.attempt << ", granted by " << e.granted << " of "
                     << detail::count(e.node_count, "node") << ')';
            };
            news ? write(log_level::info, waits_, words) : write(log_level::debug, words);
        });
    }

    void on_acquire(acquire_event const& e) noexcept override
    {
        log_level const level = level_of(e);
        if (level > most_)
            return;
        guarded([&] {
            auto const words = [&](log_line& line) {
                line.quoted(e.resource)
                    << (e.result ? " not acquired: " + e.result.message() : " acquired") << " after "
                    << in_words(e.waited) << " and " << detail::count(e.attempts, "attempt");
                if (e.last_failure && e.last_failure != e.result)
                    line << "; last: " << e.last_failure.message();
            };
            level == log_level::debug ? write(level, words) : write(level, failures_, words);
        });
    }

    void on_lease(lease_event const& e) noexcept override
    {
        guarded([&] {
            write(level_of(e), [&](log_line& line) {
                line.quoted(e.resource) << ' ' << to_string(e.what);
                if (e.what == lease_event::kind::lost)
                    line << " (" << to_string(e.cause) << ')';
                line << ": held " << (e.shared ? "by a reader " : "") << "for " << in_words(e.held) << ", on "
                     << e.votes << " of " << detail::count(e.node_count, "node");
                if (e.remaining > e.remaining.zero())
                    line << ", valid for " << in_words(e.remaining);
                if (auto const explanation = e.detail.find(": ", detail::title(e.resource).size());
                    explanation != e.detail.npos) // behind the lock's name
                    line << e.detail.substr(explanation);
            });
        });
    }

    void on_linger(linger_event const& e) noexcept override
    {
        guarded([&] {
            write(log_level::warning, lingering_, [&](log_line& line) {
                line << e.node << " may keep the key of ";
                line.quoted(e.resource)
                    << " for " << in_words(e.remaining) << ": it did not confirm that the key is deleted";
            });
        });
    }

    void on_release(release_event const& e) noexcept override
    {
        if (!e.result && most_ < log_level::debug)
            return;
        guarded([&] {
            auto const words = [&](log_line& line) {
                line << "release of ";
                line.quoted(e.resource)
                    << (e.result ? " failed: " + e.result.message() : " confirmed") << " (" << e.answered
                    << " of " << detail::count(e.node_count, "node") << " answered)";
            };
            e.result ? write(log_level::info, releases_, words) : write(log_level::debug, words);
        });
    }

    void on_warning(warning_event const& e) noexcept override
    {
        guarded([&] {
            write(log_level::warning, [&](log_line& line) {
                if (!e.resource.empty())
                    line.quoted(e.resource) << ' ';
                line << e.node << (e.node.empty() ? "" : " ") << e.words;
            });
        });
    }

private:
    /// The sink's exceptions, and a lack of memory for a line, must not affect a holder.
    template <class Work>
    void guarded(Work const& work) noexcept
    {
        try {
            std::scoped_lock const guard(lock_);
            work();
        } catch (...) {
        }
    }

    template <class Words>
    void write(log_level level, Words const& words)
    {
        if (level > most_)
            return;
        log_line line;
        words(line);
        sink_(level, std::move(line).take());
    }

    template <class Words>
    void write(log_level level, detail::rate_limit& limit, Words const& words)
    {
        if (level > most_ || !limit.pass(machine_->read_clocks()))
            return;
        write(level, [&](log_line& line) {
            words(line);
            if (auto const withheld = limit.withheld(); withheld != 0)
                line << "; " << detail::count(withheld, "similar line") << " suppressed";
        });
    }

    /// A node that is down is tried again and again.
    log_level level_of(node_event const& e)
    {
        using enum node_state;
        if (e.state == connecting || e.state == idle)
            return log_level::debug;
        auto& [state, detail, master] = nodes_[std::string(e.node)];
        // A quarantine's text changes with the time.
        bool const news =
            state != e.state || master != e.master || (e.state != quarantined && detail != e.detail);
        state = e.state;
        detail = e.detail;
        master = e.master;
        if (!news)
            return log_level::debug;
        return e.state == ready && e.detail.empty() ? log_level::info : log_level::warning;
    }

    /// A node that may not vote has events of its own: this one answered.
    static log_level level_of(vote_event const& e)
    {
        bool const gone = e.extension && e.result == node_result::held_by_other;
        bool const refused = e.result == node_result::refused && e.round_trip != e.round_trip.zero();
        return gone || refused ? log_level::warning : log_level::debug;
    }

    /// Contention is normal. Missing nodes are a fault.
    static log_level level_of(acquire_event const& e)
    {
        bool const outage =
            e.result == errc::no_quorum || e.result == errc::too_slow || e.last_failure == errc::no_quorum;
        return e.result && outage ? log_level::warning : log_level::debug;
    }

    log_level level_of(lease_event const& e)
    {
        using enum lease_event::kind;
        if (e.what == renewal_failed)
            return is_first_failure(e.resource) ? log_level::warning : log_level::debug;
        if (e.what == suspect || e.what == stalled)
            return log_level::warning;
        auto const known = in_danger_.find(e.resource);
        bool const was_in_danger = known != in_danger_.end();
        if (was_in_danger)
            in_danger_.erase(known);
        if (e.what == lost)
            return log_level::error;
        return e.what == renewed && was_in_danger ? log_level::info : log_level::debug;
    }

    bool is_first_failure(std::string_view resource)
    {
        constexpr std::size_t most_in_danger = 1024; // beyond it a failure is no warning
        return in_danger_.size() < most_in_danger && in_danger_.emplace(resource).second;
    }

    log_sink const sink_;
    log_level const most_;
    std::shared_ptr<net::machine> const machine_ = net::this_machine();
    std::mutex lock_;
    struct told {
        node_state state;
        std::string detail;
        std::string master;
    };
    std::map<std::string, told> nodes_;
    std::set<std::string, std::less<>> in_danger_; ///< locks whose last renewal failed
    detail::rate_limit waits_;
    detail::rate_limit refusals_;
    detail::rate_limit failures_;
    detail::rate_limit lingering_;
    detail::rate_limit releases_;
};

} // namespace

std::string_view to_string(log_level level) noexcept
{
    switch (level) {
    case log_level::error: return "error";
    case log_level::warning: return "warning";
    case log_level::info: return "info";
    case log_level::debug: return "debug";
    }
    return "unknown";
}

std::shared_ptr<observer> log_to(log_sink sink, log_options options)
{
    return std::make_shared<event_log>(std::move(sink), options.level);
}

std::shared_ptr<observer> log_to(std::ostream& out, log_options options)
{
    auto const write = [&out, options](log_level level, std::string_view words) {
        std::string line;
        if (options.timestamps)
            line = detail::iso_8601(std::chrono::system_clock::now()) + ' ';
        line.append("redlock ").append(to_string(level)).append(": ").append(words).append(1, '\n');
        out.write(line.data(), static_cast<std::streamsize>(line.size())).flush();
    };
    return log_to(log_sink(write), options);
}

} // namespace redlock
