// SPDX-License-Identifier: BSL-1.0
// Boost.Test itself, compiled once for all suites.
#define BOOST_TEST_MODULE redlock
#include <boost/test/included/unit_test.hpp>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace {

/// Writes how many cases have ended to a file of the program's name and process in $REDLOCK_TEST_PROGRESS, which
/// scripts/test shows.
class progress final : public boost::unit_test::test_observer {
public:
    progress()
    {
        if (where_ != nullptr)
            boost::unit_test::framework::register_observer(*this);
    }

    void test_start(boost::unit_test::counter_t cases, boost::unit_test::test_unit_id) override
    {
        std::filesystem::path const program = boost::unit_test::framework::master_test_suite().argv[0];
        file_ = where_ / program.filename();
        file_ += '.' + std::to_string(getpid());
        cases_ = cases;
    }

    void test_unit_finish(boost::unit_test::test_unit const& unit, unsigned long) override
    {
        if (unit.p_type == boost::unit_test::TUT_CASE)
            std::ofstream(file_) << ++ended_ << " of " << cases_ << '\n';
    }

    void test_finish() override
    {
        std::error_code ignored;
        std::filesystem::remove(file_, ignored);
    }

private:
    char const* where_ = std::getenv("REDLOCK_TEST_PROGRESS");
    std::filesystem::path file_;
    boost::unit_test::counter_t cases_ = 0;
    unsigned ended_ = 0;
};

progress const shown;

} // namespace
