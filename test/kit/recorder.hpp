// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <redlock/observer.hpp>

#include <boost/system/error_code.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace redlock::test {

/// Keeps what a client reports, in order. Views end with the call, so their texts are copied.
class recorder final : public observer {
public:
    using error_code = boost::system::error_code;

    struct node_change {
        std::string node;
        node_state state;
        std::string detail;
        std::string resource;
        std::optional<std::chrono::nanoseconds> remaining;
    };
    struct vote {
        std::string node;
        bool extension;
        node_result result;
        bool timed;
        std::string resource{};

        /// Compares votes without their locks.
        bool operator==(vote const& other) const
        {
            return node == other.node && extension == other.extension && result == other.result &&
                   timed == other.timed;
        }
    };
    struct end {
        std::string resource;
        error_code result;
        unsigned count;
        bool operator==(end const&) const = default;
    };
    struct warning {
        warning_event::kind what;
        std::string node;
        std::string resource;
        std::string words;
        std::chrono::nanoseconds remaining;
    };

    void on_node(node_event const& e) noexcept override
    {
        nodes.push_back(
            {std::string(e.node), e.state, std::string(e.detail), std::string(e.resource), e.remaining});
    }
    void on_vote(vote_event const& e) noexcept override
    {
        votes.push_back({std::string(e.node), e.extension, e.result, e.round_trip > e.round_trip.zero(),
                         std::string(e.resource)});
        if (!e.detail.empty())
            errors.emplace_back(e.error, e.detail);
    }
    void on_attempt(attempt_event const& e) noexcept override
    {
        attempts.push_back(e.result);
        validities.push_back(e.validity);
    }
    void on_acquire(acquire_event const& e) noexcept override
    {
        ends.push_back({std::string(e.resource), e.result, e.attempts});
        last_failures.push_back(e.last_failure);
    }
    void on_lease(lease_event const& e) noexcept override
    {
        leases.push_back(e);
        lease_details.emplace_back(e.detail);
    }
    void on_linger(linger_event const& e) noexcept override
    {
        lingering.emplace_back(std::string(e.node), e.remaining);
    }
    void on_release(release_event const& e) noexcept override
    {
        releases.push_back({std::string(e.resource), e.result, e.answered});
    }
    void on_warning(warning_event const& e) noexcept override
    {
        warnings.push_back(
            {e.what, std::string(e.node), std::string(e.resource), std::string(e.words), e.remaining});
    }

    [[nodiscard]] std::ptrdiff_t count(node_state s) const
    {
        return std::ranges::count(nodes, s, &node_change::state);
    }
    [[nodiscard]] std::ptrdiff_t count(error_code attempt) const
    {
        return std::ranges::count(attempts, attempt);
    }
    [[nodiscard]] std::ptrdiff_t count(lease_event::kind what) const
    {
        return std::ranges::count(leases, what, &lease_event::what);
    }
    [[nodiscard]] std::ptrdiff_t count(vote const& wanted) const { return std::ranges::count(votes, wanted); }

    std::vector<node_change> nodes;
    std::vector<vote> votes;
    std::vector<std::pair<server_error, std::string>> errors; ///< the votes' errors and texts
    std::vector<error_code> attempts;
    std::vector<std::chrono::nanoseconds> validities; ///< the attempts' validities
    std::vector<end> ends;                            ///< ends of acquires, with their attempts
    std::vector<error_code> last_failures;            ///< errors of the ends
    std::vector<end> releases;                        ///< with the nodes that answered
    std::vector<lease_event> leases;                  ///< their views are invalid
    std::vector<std::string> lease_details;
    std::vector<std::pair<std::string, std::chrono::nanoseconds>> lingering;
    std::vector<warning> warnings;
};

} // namespace redlock::test
