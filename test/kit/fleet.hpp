// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "kit/dice.hpp"
#include "kit/fleet_row.hpp"
#include <redlock/redlock.hpp>

#include <boost/system/error_code.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::test {

/// How the clients of a fleet use one name, or two.
struct fleet_load {
    enum class kind : std::uint8_t { mutex, election, shared_mutex, semaphore, several_names };

    std::string_view name;
    kind of;
    unsigned permits = 1;
    unsigned special = 0; ///< per cent of the operations: readers', or requests for five permits
    bool bounded = true;  ///< whether the number of waiters bounds the wait
};

/// The first load is the reference for the other ones.
inline constexpr std::array fleet_loads{
    fleet_load{.name = "mutex", .of = fleet_load::kind::mutex},
    fleet_load{.name = "election", .of = fleet_load::kind::election},
    fleet_load{.name = "all write", .of = fleet_load::kind::shared_mutex},
    fleet_load{.name = "half write", .of = fleet_load::kind::shared_mutex, .special = 50},
    fleet_load{.name = "90 % read", .of = fleet_load::kind::shared_mutex, .special = 90},
    fleet_load{.name = "98 % read", .of = fleet_load::kind::shared_mutex, .special = 98},
    fleet_load{.name = "1 permit", .of = fleet_load::kind::semaphore},
    fleet_load{.name = "10 permits", .of = fleet_load::kind::semaphore, .permits = 10, .special = 10},
    fleet_load{.name = "two names", .of = fleet_load::kind::several_names}};

/// Many clients with one operation each: they acquire, hold for 5 ms, release, and pause for 5 ms on average.
class fleet {
public:
    using duration = std::chrono::nanoseconds;
    struct clock {
        std::function<duration()> now;
        std::function<void(duration, std::function<void()>)> after;
    };

    fleet(fleet_load const& load, clock its) : load_(load), clock_(std::move(its)) {}

    /// The client comes after a pause.
    void add(client locks)
    {
        members_.push_back(std::make_unique<member>(*this, std::move(locks), members_.size()));
    }
    /// From now on leases are counted.
    void count()
    {
        waits_ = {};
        counting_since_ = clock_.now();
    }
    /// Waits and leases per second. The longest wait may be one that has not ended.
    [[nodiscard]] fleet_row row()
    {
        auto all = waits_;
        fleet_row told;
        for (bool const special : {false, true}) {
            auto& waits = all.at(special ? 1 : 0);
            std::ranges::sort(waits);
            auto const quantile = [&](std::size_t share) {
                return waits.empty() ? 0 : waits[std::min(waits.size() - 1, waits.size() * share / 100)];
            };
            told.at(special, fleet_row::rate) =
                static_cast<double>(waits.size()) / (ms_since(counting_since_) / 1000);
            told.at(special, fleet_row::p50) = quantile(50);
            told.at(special, fleet_row::p99) = quantile(99);
            double& longest = told.at(special, fleet_row::longest) = quantile(100);
            for (auto const& one : members_)
                if (one->waits_as(special))
                    longest = std::max(longest, ms_since(one->asked()));
        }
        return told;
    }
    [[nodiscard]] std::size_t leases() const { return waits_[0].size() + waits_[1].size(); }
    [[nodiscard]] unsigned failures() const { return failures_; }
    /// Leases that began while the permits that they need were taken.
    [[nodiscard]] unsigned overlaps() const { return overlaps_; }

    static constexpr duration hold = std::chrono::milliseconds{5};
    static constexpr unsigned several_permits = 5;

private:
    static constexpr duration mean_pause = std::chrono::milliseconds{5};
    static constexpr unsigned all_of_it = 1U << 16U; ///< the share of a writer in a lock for readers

    class member {
    public:
        member(fleet& its, client locks, std::size_t number)
            : fleet_(its), client_(std::move(locks)), dice_(number + 1)
        {
            using kind = fleet_load::kind;
            switch (its.load_.of) {
            case kind::mutex: locks_.push_back(mutex(client_, "fleet")); break;
            case kind::election: election_.emplace(client_, "fleet"); break;
            case kind::shared_mutex: {
                shared_mutex const one(client_, "fleet");
                locks_ = {one, one.shared()};
                break;
            }
            case kind::semaphore: {
                semaphore const pool(client_, "fleet", its.load_.permits);
                locks_ = {pool, pool.taking(std::min(several_permits, its.load_.permits))};
                break;
            }
            case kind::several_names: locks_.push_back(multi_mutex(client_, {"fleet 1", "fleet 2"})); break;
            }
            pause();
        }

        [[nodiscard]] bool waits_as(bool special) const { return waits_ && special_ == special; }
        [[nodiscard]] duration asked() const { return asked_; }

    private:
        using error_code = boost::system::error_code;

        void pause()
        {
            double const chance = static_cast<double>(dice_.below(1U << 30U) + 1) / (1U << 30U);
            auto const length = std::chrono::duration<double, std::nano>(mean_pause) * -std::log(chance);
            fleet_.clock_.after(std::chrono::duration_cast<duration>(length), [this] { come(); });
        }
        void come()
        {
            special_ = dice_.below(100) < fleet_.load_.special;
            asked_ = fleet_.clock_.now();
            waits_ = true;
            if (election_)
                election_->campaign("here", [this](error_code ec, leadership won) {
                    office_ = std::move(won);
                    go_on(ec);
                });
            else
                locks_.at(special_ ? 1 : 0).acquire([this](error_code ec, lease got) {
                    held_ = std::move(got);
                    go_on(ec);
                });
        }
        void go_on(error_code ec)
        {
            waits_ = false;
            if (ec) {
                ++fleet_.failures_;
                return pause();
            }
            fleet_.enter(special_, asked_);
            fleet_.clock_.after(hold, [this] { leave(); });
        }
        void leave()
        {
            fleet_.inside_ -= fleet_.share(special_);
            if (election_)
                office_.resign([this](error_code) { pause(); });
            else
                held_.release([this](error_code) { pause(); });
        }

        fleet& fleet_;
        client client_;
        dice dice_;
        std::vector<any_lock> locks_; ///< ordinary, and special
        std::optional<election> election_;
        bool special_ = false;
        bool waits_ = false;
        duration asked_{};
        lease held_;
        leadership office_;
    };

    /// How much of the capacity a lease takes.
    [[nodiscard]] unsigned share(bool special) const
    {
        if (load_.of == fleet_load::kind::shared_mutex)
            return special ? 1 : all_of_it;
        return special ? several_permits : 1;
    }
    void enter(bool special, duration asked)
    {
        inside_ += share(special);
        unsigned const whole = load_.of == fleet_load::kind::shared_mutex ? all_of_it : load_.permits;
        overlaps_ += inside_ > whole ? 1U : 0U;
        waits_.at(special ? 1 : 0).push_back(ms_since(asked));
    }
    [[nodiscard]] double ms_since(duration then) const
    {
        return std::chrono::duration<double, std::milli>(clock_.now() - then).count();
    }

    fleet_load load_;
    clock clock_;
    std::vector<std::unique_ptr<member>> members_;
    std::array<std::vector<double>, 2> waits_;
    duration counting_since_{};
    unsigned inside_ = 0;
    unsigned overlaps_ = 0;
    unsigned failures_ = 0;
};

} // namespace redlock::test
