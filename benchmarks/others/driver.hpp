// SPDX-License-Identifier: BSL-1.0
// The drivers' common line protocol (README.md), for those in C++.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace comparison {

struct node_address {
    std::string host;
    std::uint16_t port = 0;
};

struct task {
    std::vector<node_address> nodes;
    std::string workload = "cycles";
    bool contended = false; ///< all workers on one key; otherwise each on its own
    bool convoy = false;    ///< contended, and each comes again only when all have had their turn
    unsigned workers = 1;
    unsigned permits = 1;
    std::int64_t hold_us = 0;
    std::int64_t pause_low_us = 10'000; ///< between two attempts of a polling client
    std::int64_t pause_high_us = 50'000;
    std::string variant;
    std::string samples; ///< the file they go to
    std::string run;     ///< part of every key, the same for all processes of a run

    [[nodiscard]] std::string key(unsigned worker) const;
    /// Is this a writer of the workload "readers"?
    [[nodiscard]] static bool writes(unsigned worker) { return worker % 10 == 0; }
    /// Four of sixteen names, which a worker of the workload "several" locks.
    [[nodiscard]] std::vector<std::string> names(unsigned worker) const;
};

struct window {
    std::int64_t begins = 0;
    std::int64_t ends = 0;
};

/// Moments on CLOCK_MONOTONIC, in nanoseconds.
struct sample {
    std::int64_t worker;
    std::int64_t asked;
    std::int64_t granted;
    std::int64_t releasing;
    std::int64_t released;
};

[[nodiscard]] std::int64_t now_ns();
[[nodiscard]] task parse(int argc, char** argv); ///< throws std::runtime_error

/// Says "ready" and waits for the window.
[[nodiscard]] window wait_for_start();

class record {
public:
    record(task const& what, window when) : what_{what}, when_{when} { samples_.reserve(1 << 16); }

    void cycle(sample const& one);
    void failure(std::string const& text) { ++failures_[text]; }
    [[nodiscard]] bool over() const { return now_ns() >= when_.ends; }

    /// Writes samples and result, and ends the process, even if workers wait for a lock.
    [[noreturn]] void finish() const;

private:
    static constexpr std::int64_t workers_sampled =
        16; ///< cycles of these are sampled; reading clocks shall not slow
            ///< all of them

    task const& what_;
    window when_;
    std::uint64_t done_ = 0;
    std::vector<sample> samples_;
    std::map<std::string, std::uint64_t> failures_;
};

} // namespace comparison
