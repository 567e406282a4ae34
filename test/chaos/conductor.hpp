#pragma once

#include "chaos/journal.hpp"
#include "chaos/judge.hpp"
#include "chaos/plan.hpp"
#include "simulation/clocks.hpp"
#include "support/certificates.hpp"
#include "support/child_process.hpp"
#include "support/fault_proxy.hpp"
#include "support/redis_server.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace redlock::chaos {

/// Starts servers and programs, lets happen to them what was drawn, waits until all have come to rest, and judges.
class conductor {
public:
    /// \param self this program's path: each client is a process of it
    conductor(std::uint64_t seed, milliseconds length, std::string self);

    void run();

    [[nodiscard]] verdict const& result() const { return result_; }
    /// Otherwise C1 and C2, which are this machine's to keep, did not hold, and the run shows nothing.
    [[nodiscard]] bool clock_was_right() const
    {
        return most_date_ - least_date_ <= all_.smallest_slack() / 4;
    }
    /// On one line.
    [[nodiscard]] std::string figures() const;
    /// All that happened, in order.
    [[nodiscard]] std::string story() const;

private:
    struct node {
        std::unique_ptr<test::redis_server> server{};
        std::array<std::unique_ptr<test::fault_proxy>, 2> ways{};
        simulation::step_budget steps{};
        milliseconds ahead{};
        nanoseconds started{}; ///< again
        bool answers = true;
    };
    struct program {
        unsigned client = 0;
        test::child_process process{};
    };

    void start_node(unsigned number);
    void start_program(unsigned place);
    void wait_for_meetings();
    void befall();
    void come_to_rest();
    void end_programs();
    void check_keys();

    enum class stage : std::uint8_t { begins, is_half_over, ends };
    void befall(fault const&, stage);
    void begin(fault const&);
    void end(fault const&);
    void begin_on_way(fault const&, test::fault_proxy&);
    void begin_at_server(fault const&, node&);
    void begin_at_program(fault const&, program&);
    void end_at_server(fault const&, node&);
    void flush_data(fault const&);
    void step_clock(fault const&, node&);
    void restart(node&, bool without_data);
    void command(node&, std::vector<std::string> const& words);

    /// \returns whether it came true
    template <class Condition>
    bool wait_for(milliseconds longest, Condition holds);
    void watch_clock();
    void note(std::string what);
    void flaw(std::string const& what);

    cast all_;
    milliseconds length_;
    std::string self_;
    test::temporary_directory directory_{"redlock-chaos"};
    journal journal_;
    std::vector<node> nodes_;
    test::redis_server guarded_; ///< what the locks guard; nothing befalls it
    std::vector<program> programs_;
    std::vector<program> leaving_;
    unsigned clients_ = 0;
    std::map<misfortune, unsigned> befell_;
    std::vector<std::pair<nanoseconds, std::string>> notes_;
    milliseconds least_date_, most_date_; ///< this machine's date without the time that passed
    nanoseconds began_ = now();
    verdict result_;
};

} // namespace redlock::chaos
