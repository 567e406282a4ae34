// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "redis/url.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <string_view>
#include <variant>

namespace redlock::test {

using namespace redis;

/// Returns the endpoint of a URL; the test fails if the URL is refused.
inline endpoint good(std::string_view url)
{
    auto const parsed = parse_url(url);
    if (auto const* const error = std::get_if<url_error>(&parsed))
        BOOST_FAIL(error->message);
    return std::get<endpoint>(parsed);
}

/// Why a URL is refused; the test fails if it is not.
inline std::string bad(std::string_view url)
{
    auto const parsed = parse_url(url);
    if (std::holds_alternative<endpoint>(parsed))
        BOOST_FAIL("accepted: " << url);
    return std::get<url_error>(parsed).message;
}

} // namespace redlock::test
