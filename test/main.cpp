// SPDX-License-Identifier: BSL-1.0
// Boost.Test itself, compiled once for all suites.
#define BOOST_TEST_MODULE redlock
#include <boost/test/included/unit_test.hpp>
