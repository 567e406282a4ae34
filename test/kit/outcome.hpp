// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <redlock/inspection.hpp>
#include <redlock/lease.hpp>

#include <boost/system/error_code.hpp>
#include <boost/system/system_error.hpp>

#include <exception>
#include <memory>
#include <optional>
#include <utility>

namespace redlock::test {

/// An operation's result, and how often it completed.
struct outcome {
    unsigned completions = 0;
    boost::system::error_code ec{};
    lease granted{};
    inspection seen{};
    std::optional<lease_end> end{}; ///< a lease's, if there is no error

    [[nodiscard]] bool done() const { return completions != 0; }
};
using outcome_ptr = std::shared_ptr<outcome>;

/// A handler. With an `outcome_ptr` the outcome outlives the caller; with a plain pointer nothing is allocated.
template <class Pointer>
struct keeps_outcome {
    Pointer into;

    void operator()(boost::system::error_code ec) const
    {
        ++into->completions;
        into->ec = ec;
    }
    void operator()(boost::system::error_code ec, lease granted) const
    {
        (*this)(ec);
        into->granted = std::move(granted);
    }
    void operator()(boost::system::error_code ec, lease_end how) const
    {
        (*this)(ec);
        if (!ec)
            into->end = how;
    }
    void operator()(boost::system::error_code ec, inspection seen) const
    {
        (*this)(ec);
        into->seen = std::move(seen);
    }
    void operator()(std::exception_ptr failure) const
    {
        boost::system::error_code ec;
        try {
            if (failure)
                std::rethrow_exception(failure);
        } catch (boost::system::system_error const& e) {
            ec = e.code();
        }
        (*this)(ec);
    }
};
template <class Pointer>
keeps_outcome(Pointer) -> keeps_outcome<Pointer>;

} // namespace redlock::test
